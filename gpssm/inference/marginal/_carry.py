"""How a Gaussian state is carried through a function: what every Gaussian filter does between two measurements."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._core._gaussian import matmul, transpose
from gpssm.inference._expectation import AbstractQuadrature
from gpssm.inference.marginal._function import GivenFunction


class Carried(NamedTuple):
    """The image f(x) of x ~ N(m, P), as a Gaussian filter sees it."""

    mean: Float[Array, " D"]
    covariance: Float[Array, "D D"]
    """Of f(x) alone: no process noise."""
    slope: Float[Array, "D D"]
    """E f(x) (x - m)' P^-1, the statistical Jacobian."""
    features: tuple[Float[Array, " M"], ...]
    """E k(Z, (x, u)) of each basis: the derivative of the mean by the weights."""


class AbstractCarry(eqx.Module):
    """How the moments of f(x) are taken for a Gaussian x."""

    @abstractmethod
    def __call__(
        self, function: GivenFunction, mean: Float[Array, " D"], chol: Float[Array, "D D"], u: Float[Array, " P"]
    ) -> Carried:
        """The image of N(mean, chol chol')."""


class OnNodes(AbstractCarry):
    """By quadrature: Gauss-Hermite or cubature."""

    rule: AbstractQuadrature

    def __call__(
        self, function: GivenFunction, mean: Float[Array, " D"], chol: Float[Array, "D D"], u: Float[Array, " P"]
    ) -> Carried:
        """Weighted sums over the nodes."""
        dims = mean.shape[0]
        nodes, weights = (jnp.asarray(part, mean.dtype) for part in self.rule.nodes(dims))
        values, rows = function(mean[None] + nodes @ chol.T, u)
        centre = weights @ values
        deviations = values - centre[None]
        weighted = (deviations * weights[:, None]).T
        slope = matmul(weighted @ nodes, small_inverse(chol))
        return Carried(centre, weighted @ deviations, slope, tuple(row @ weights for row in rows))


class Tangent(AbstractCarry):
    """By the tangent at the mean, as an extended Kalman filter does. Cheapest; right where states are well known."""

    def __call__(
        self, function: GivenFunction, mean: Float[Array, " D"], chol: Float[Array, "D D"], u: Float[Array, " P"]
    ) -> Carried:
        """First-order moments."""

        def at(x: Float[Array, " D"]) -> tuple[Array, tuple[Array, ...]]:
            values, rows = function(x[None], u)
            return values[0], tuple(row[:, 0] for row in rows)

        (value, features), slope = at(mean), jax.jacfwd(lambda x: at(x)[0])(mean)
        moved = matmul(slope, chol)
        return Carried(value, matmul(moved, transpose(moved)), slope, features)


def small_inverse(chol: Float[Array, "D D"]) -> Float[Array, "D D"]:
    """Inverse of a state-sized lower-triangular matrix, written out row by row: elementwise, so any batch is safe."""
    size, rows = chol.shape[-1], []
    eye = jnp.eye(size, dtype=chol.dtype)
    for i in range(size):
        row = eye[i]
        for j, done in enumerate(rows):
            row = row - chol[i, j] * done
        rows.append(row / chol[i, i])
    return jnp.stack(rows)
