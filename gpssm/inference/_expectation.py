"""How expectations over a state are taken: on paths drawn along the chain, or on quadrature nodes of its marginal."""

from abc import abstractmethod
from itertools import product

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._gaussian import matvec
from gpssm._core._linalg import small_cholesky
from gpssm.models._posterior import GaussMarkov


class AbstractExpectation(eqx.Module):
    """A rule that replaces E over x[t] by a weighted sum."""

    @abstractmethod
    def states(
        self, posterior: GaussMarkov, covariances: Float[Array, "T D D"], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, "K T D"], Float[Array, " K"]]:
        """K versions of the trajectory and their weights, which sum to one."""


class MonteCarlo(AbstractExpectation):
    """Reparameterised paths along the chain: unbiased, for any state dimension. One path is the paper's estimator."""

    num: int = eqx.field(static=True, default=1)
    antithetic: bool = eqx.field(static=True, default=False)
    """Draw half of the paths and mirror them about the mean; takes an even number."""

    def __check_init__(self) -> None:
        """The number of paths must be positive, and even if mirrored."""
        if self.num < 1 or (self.antithetic and self.num % 2):
            raise ValueError(f"num={self.num}: need at least one path, and an even number of antithetic ones")

    def states(
        self, posterior: GaussMarkov, covariances: Float[Array, "T D D"], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, "K T D"], Float[Array, " K"]]:
        """Sampled paths with equal weights."""
        half = self.num // 2 if self.antithetic else self.num
        noise = jr.normal(key, (half, *posterior.means.shape), posterior.means.dtype)
        if self.antithetic:
            noise = jnp.concatenate([noise, -noise])
        return posterior.trajectories(noise), jnp.full(self.num, 1.0 / self.num, posterior.means.dtype)


class AbstractQuadrature(AbstractExpectation):
    """A fixed set of nodes of a standard normal, moved to the marginal of each state. Deterministic: the key that is
    given is not used."""

    @abstractmethod
    def nodes(self, dims: int) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, " K"]]:
        """Nodes of a standard normal in so many dimensions and their weights, which sum to one."""

    def states(
        self, posterior: GaussMarkov, covariances: Float[Array, "T D D"], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, "K T D"], Float[Array, " K"]]:
        """Nodes of the marginals with their weights."""
        nodes, weights = self.nodes(posterior.means.shape[-1])
        dtype, count = posterior.means.dtype, len(weights)
        chols = small_cholesky(covariances)
        noise = jnp.broadcast_to(jnp.asarray(nodes, dtype)[:, None, :], (count, *posterior.means.shape))
        deviations = matvec(jnp.broadcast_to(chols, (count, *chols.shape)), noise)
        return posterior.means[None] + deviations, jnp.asarray(weights, dtype)


class GaussHermite(AbstractQuadrature):
    """Gauss-Hermite nodes in each state dimension: exact for polynomials, for one to three dimensions.

    The number of nodes is `points ** D`.
    """

    points: int = eqx.field(static=True, default=8)

    def nodes(self, dims: int) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, " K"]]:
        """The grid of all combinations."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.points)
        grid = np.array(list(product(nodes, repeat=dims)))
        return grid, np.array([np.prod(w) for w in product(weights / weights.sum(), repeat=dims)])


class Cubature(AbstractQuadrature):
    """The spherical rule of degree three: two nodes on each axis of a state's covariance, 2 D in all.

    Exact for polynomials up to cubic, and cheap in many dimensions; right for posteriors that are narrow next to the
    length-scales.
    """

    def nodes(self, dims: int) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, " K"]]:
        """Two on each axis, with equal weights."""
        axes = dims**0.5 * np.eye(dims)
        return np.concatenate([axes, -axes]), np.full(2 * dims, 0.5 / dims)
