"""Posteriors over a state trajectory."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm._core._gaussian import LOG_2PI, affine_chain, covariance_chain, masked_sum, matmul, matvec, transpose
from gpssm._core._linalg import small_cholesky


class AbstractStatePosterior(eqx.Module):
    """A distribution over the states of one episode."""

    @abstractmethod
    def marginals(self) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
        """Mean and Cholesky factor of the covariance of each state."""

    @abstractmethod
    def sample(self, num: int, *, key: PRNGKeyArray) -> Float[Array, "K T D"]:
        """Whole trajectories."""


class GaussMarkov(AbstractStatePosterior):
    """x[0] ~ N(m[0], L[0] L[0]'), x[t] | x[t-1] ~ N(m[t] + A[t] (x[t-1] - m[t-1]), L[t] L[t]').

    The centred form: the means are the marginal means, whatever the gains, which makes it easy to optimise. It holds
    the exact posterior of a linear-Gaussian model. The first gain is not used.
    """

    means: Float[Array, "*B T D"]
    gains: Float[Array, "*B T D D"]
    chols: Float[Array, "*B T D D"]

    @classmethod
    def without_offsets(
        cls, initial_mean: Float[Array, " D"], gains: Float[Array, "T D D"], chols: Float[Array, "T D D"]
    ) -> "GaussMarkov":
        """The paper's family, x[t] | x[t-1] ~ N(A[t] x[t-1], L[t] L[t]'): its means follow from the first one."""
        steps = jnp.zeros(gains.shape[:2], gains.dtype).at[0].set(initial_mean)
        return cls(affine_chain(gains, steps), gains, chols)

    def noises(self) -> Float[Array, "T D D"]:
        """L[t] L[t]', the covariance of a state given the one before."""
        return matmul(self.chols, transpose(self.chols))

    def covariances(self) -> Float[Array, "T D D"]:
        """Marginal covariances."""
        return covariance_chain(self.gains, self.noises())

    def marginals(self) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
        """Mean and Cholesky factor of the covariance of each state."""
        return self.means, small_cholesky(self.covariances())

    def entropy(self, *, where: Bool[Array, " T"]) -> Float[Array, ""]:
        """H = (n D / 2) log(2 pi e) + sum of log det L over the n states that count."""
        log_dets = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(self.chols, axis1=1, axis2=2))), axis=-1)
        return masked_sum(log_dets + 0.5 * self.means.shape[-1] * (LOG_2PI + 1.0), where)

    def sample(self, num: int, *, key: PRNGKeyArray) -> Float[Array, "K T D"]:
        """Trajectories drawn along the chain, so that neighbours keep their correlation."""
        return self.trajectories(jr.normal(key, (num, *self.means.shape), self.means.dtype))

    def trajectories(self, noise: Float[Array, "K T D"]) -> Float[Array, "K T D"]:
        """The trajectories that standard normal noise is turned into."""
        steps = matvec(jnp.broadcast_to(self.chols, (noise.shape[0], *self.chols.shape)), noise)
        return self.means[None] + jax.vmap(affine_chain, in_axes=(None, 0))(self.gains, steps)

    def next_given(self, x: Float[Array, "K T D"]) -> tuple[Float[Array, "K S D"], Float[Array, "S D"]]:
        """Mean of x[t+1] given x[t] for t = 0..T-2, and its variance (which does not depend on x[t])."""
        deviation = (x - self.means[None])[:, :-1]
        gains = jnp.broadcast_to(self.gains[1:], (x.shape[0], *self.gains[1:].shape))
        spread = jnp.sum(self.chols[1:] ** 2, axis=-1)
        return self.means[None, 1:] + matvec(gains, deviation), spread
