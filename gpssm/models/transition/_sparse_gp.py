"""D independent sparse GPs on what the mean function leaves of the next state."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from gpssm._core._alike import for_each
from gpssm._core._params import LowerTriangular, Positive, val
from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.kernels._abstract import AbstractKernel
from gpssm.models.transition._base import AbstractTransition, Transitions
from gpssm.models.transition._basis import Basis
from gpssm.models.transition._collapse import NaturalParameters, Statistics, collapsed_terms
from gpssm.models.transition._mean import AbstractMean, IdentityMean
from gpssm.models.transition._sparse_dynamics import SparseDynamics


class SparseGP(AbstractTransition):
    """next_d = mean_d(x, u) + g_d(x, u) + noise_d, with g_d a GP summarised by q(u_d) = N(mean, chol chol') at
    inducing inputs.

    With `whitened` the stored q is over v = L^-1 u; otherwise over u, the values of g at the inducing inputs.
    """

    kernels: tuple[AbstractKernel, ...]
    """One for each state dimension, or a single one that all share (then the kernel matrix is factorised once)."""
    inducing: Float[Array, "M Q"] | Float[Array, "D M Q"]
    """Inducing inputs in (state, control) space, shared or one set for each dimension."""
    q_mean: Float[Array, "D M"]
    q_chol: LowerTriangular
    noise: Positive
    mean: AbstractMean
    whitened: bool = eqx.field(static=True)

    @classmethod
    def create(
        cls,
        kernel: AbstractKernel | Sequence[AbstractKernel],
        inducing: Float[Array, "M Q"] | Float[Array, "D M Q"],
        *,
        state_dim: int,
        noise: ArrayLike = 0.1,
        tied_noise: bool = False,
        mean: AbstractMean | None = None,
        whitened: bool = True,
        key: PRNGKeyArray | None = None,
    ) -> "SparseGP":
        """A transition whose q(u) is close to the prior; `key` adds the small random mean that breaks the symmetry.

        Exactly at the prior, kernel parameters and inducing inputs would have zero gradient.
        """
        kernels = (kernel,) if isinstance(kernel, AbstractKernel) else tuple(kernel)
        inducing = jnp.asarray(inducing)
        size = inducing.shape[-2]
        q_mean = jnp.zeros((state_dim, size)) if key is None else 0.1 * jr.normal(key, (state_dim, size))
        q_chol = jnp.broadcast_to(0.5 * jnp.eye(size), (state_dim, size, size))
        start = cls(
            kernels=kernels,
            inducing=inducing,
            q_mean=q_mean,
            q_chol=LowerTriangular.of(q_chol),
            noise=Positive.of(jnp.full(1 if tied_noise else state_dim, noise)),
            mean=IdentityMean() if mean is None else mean,
            whitened=whitened,
        )
        if whitened:
            return start
        bases = start.bases()
        factors = jnp.stack([bases[d % len(bases)].factor.chol for d in range(state_dim)])
        values = (jnp.einsum("dij,dj->di", factors, q_mean), LowerTriangular.of(factors @ q_chol))
        return eqx.tree_at(lambda t: (t.q_mean, t.q_chol), start, values)

    def __check_init__(self) -> None:
        """Counts of kernels, inducing sets and noises must fit the state dimension."""
        dims = self.q_mean.shape[0]
        if len(self.kernels) not in (1, dims):
            raise ValueError(f"got {len(self.kernels)} kernels for {dims} state dimensions: give one, or one for each")
        if self.inducing.ndim == 3 and self.inducing.shape[0] != dims:
            raise ValueError(f"got {self.inducing.shape[0]} sets of inducing inputs for {dims} state dimensions")

    @property
    def state_dim(self) -> int:
        """Number of state dimensions."""
        return self.q_mean.shape[0]

    def noise_variance(self) -> Float[Array, " D"]:
        """Process noise variance for each dimension, also where it is tied."""
        return jnp.broadcast_to(val(self.noise), (self.state_dim,))

    def bases(self) -> tuple[Basis, ...]:
        """The factorised kernels: one if kernel and inducing inputs are shared, else one for each dimension."""
        if len(self.kernels) == 1 and self.inducing.ndim == 2:
            return (Basis.of(self.kernels[0], self.inducing),)
        each = [
            (self.kernels[d % len(self.kernels)], self.inducing if self.inducing.ndim == 2 else self.inducing[d])
            for d in range(self.state_dim)
        ]
        return tuple(for_each(lambda pair: Basis.of(*pair), each))

    def condition(self) -> SparseDynamics:
        """Factorise the kernels and put q(u) into whitened coordinates."""
        bases = self.bases()
        q_mean, q_chol = self.q_mean, val(self.q_chol)
        if not self.whitened:
            inverses = [bases[d % len(bases)].factor.inverse for d in range(self.state_dim)]
            q_mean = jnp.stack([inv @ q_mean[d] for d, inv in enumerate(inverses)])
            q_chol = jnp.stack([inv @ q_chol[d] for d, inv in enumerate(inverses)])
        return SparseDynamics(bases, q_mean, q_chol, self.noise_variance(), self.mean)

    def collapsed(
        self, transitions: Transitions, share: AbstractShare = Unsharded()
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """Expected log transition density and KL with q(u) at its closed-form optimum for the transitions of all
        shares, and the jitter that was needed."""
        bases, noise = self.bases(), self.noise_variance()
        statistics = share.total(self._statistics(bases, transitions))
        log_prob, kl = jnp.zeros((), noise.dtype), jnp.zeros((), noise.dtype)
        each = [(d, noise[d]) for d in range(self.state_dim)]
        for term, divergence in for_each(lambda pair: collapsed_terms(statistics, *pair), each):
            log_prob, kl = log_prob + term, kl + divergence
        return log_prob, kl, jnp.max(jnp.stack([basis.factor.jitter for basis in bases]))

    def towards_optimum(
        self, transitions: Transitions, rate: float = 1.0, share: AbstractShare = Unsharded()
    ) -> "SparseGP":
        """q(u) moved by a natural-gradient step towards its optimum for the transitions of all shares; rate one goes
        all the way."""
        now, noise = self.condition(), self.noise_variance()
        statistics = share.total(self._statistics(now.bases, transitions))
        means, chols = [], []
        for d in range(self.state_dim):
            target = statistics.optimum(d, noise[d])
            if rate < 1.0:
                target = NaturalParameters.from_moments(now.q_mean[d], now.q_chol[d]).towards(target, rate)
            mean, chol = target.moments()
            if not self.whitened:
                basis_chol = now.bases[d % len(now.bases)].factor.chol
                mean, chol = basis_chol @ mean, basis_chol @ chol
            means.append(mean)
            chols.append(chol)
        updated = (jnp.stack(means), LowerTriangular.of(jnp.stack(chols)))
        return eqx.tree_at(lambda t: (t.q_mean, t.q_chol), self, updated)

    def _statistics(self, bases: tuple[Basis, ...], transitions: Transitions) -> Statistics:
        points = jnp.concatenate([transitions.states, transitions.controls], axis=-1)
        residuals = transitions.next_means - self.mean(transitions.states, transitions.controls)
        projected = for_each(lambda basis: basis.project(points), bases)
        return Statistics.of(projected, residuals, transitions.next_variances, transitions.weights)
