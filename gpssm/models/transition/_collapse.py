"""The closed-form optimum of q(u) given the states, and the bound with it put back: the collapsed bound.

In whitened coordinates q(v) = N(m, S), B the projected inputs, r the residuals, w the weights, s^2 the process noise:
precision I + P with P = B w B' / s^2, shift c = B w r / s^2, optimum m = (I + P)^-1 c, S = (I + P)^-1. Everything
that depends on the data is a sum over transitions.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from gpssm._core._gaussian import LOG_2PI
from gpssm._core._linalg import factorise, rounding_jitter, weighted_gram

Dimension = int | Int[Array, ""]
"""Which state; a number of the program itself where many states share one."""


class Statistics(eqx.Module):
    """Sums over transitions; where transitions are spread over devices, these are what has to be added up."""

    grams: Float[Array, "F M M"]
    """B w B' for each basis: one, or one for each state dimension."""
    shifts: Float[Array, "D M"]
    """B w r."""
    misfits: Float[Array, " D"]
    """Sum of w E[residual^2], with what the inducing values leave unexplained."""
    weight: Float[Array, ""]
    """Number of transitions."""

    @classmethod
    def of(
        cls,
        projected: list[tuple[Float[Array, "M N"], Float[Array, " N"]]],
        residuals: Float[Array, "N D"],
        variances: Float[Array, "N D"],
        weights: Float[Array, " N"],
    ) -> "Statistics":
        """From projected inputs and unexplained variances for each basis, residuals and variances of the next
        states."""
        weighted = weights[:, None] * residuals
        shifts, misfits = [], []
        for d in range(residuals.shape[1]):
            basis = d % len(projected)
            shifts.append(projected[basis][0] @ weighted[:, d])
            misfits.append(jnp.sum(weights * (residuals[:, d] ** 2 + variances[:, d] + projected[basis][1])))
        grams = [weighted_gram(features, weights) for features, _ in projected]
        return cls(jnp.stack(grams), jnp.stack(shifts), jnp.stack(misfits), jnp.sum(weights))

    def optimum(self, dimension: Dimension, noise: Float[Array, ""]) -> "NaturalParameters":
        """The closed-form optimum of one state dimension."""
        gram = self.grams[dimension % self.grams.shape[0]]
        eye = jnp.eye(gram.shape[0], dtype=gram.dtype)
        return NaturalParameters(eye + gram / noise, self.shifts[dimension] / noise)


class NaturalParameters(eqx.Module):
    """q(v) of one state dimension by precision and shift; a step of natural gradient is a convex combination of
    these."""

    precision: Float[Array, "M M"]
    shift: Float[Array, " M"]

    @classmethod
    def from_moments(cls, mean: Float[Array, " M"], chol: Float[Array, "M M"]) -> "NaturalParameters":
        """Natural parameters of N(mean, chol chol')."""
        covariance = chol @ chol.T
        factor = factorise(covariance, rounding_jitter(chol.dtype))
        precision = factor.inverse.T @ factor.inverse
        return cls(precision, precision @ mean)

    def moments(self) -> tuple[Float[Array, " M"], Float[Array, "M M"]]:
        """Mean and Cholesky factor of the covariance."""
        factor = factorise(self.precision, rounding_jitter(self.precision.dtype))
        covariance = factor.inverse.T @ factor.inverse
        return covariance @ self.shift, factorise(covariance, rounding_jitter(covariance.dtype)).chol

    def towards(self, target: "NaturalParameters", rate: float) -> "NaturalParameters":
        """A natural-gradient step of the given size; the bound is quadratic in v, so that size one lands on the
        optimum."""
        return NaturalParameters(
            (1.0 - rate) * self.precision + rate * target.precision, (1.0 - rate) * self.shift + rate * target.shift
        )


def collapsed_terms(
    statistics: Statistics, dimension: Dimension, noise: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Expected log transition density and KL of one dimension with q(v) at its optimum."""
    optimum = statistics.optimum(dimension, noise)
    factor = factorise(optimum.precision, rounding_jitter(noise.dtype))
    half = factor.inverse @ optimum.shift
    mean = factor.inverse.T @ half
    trace = jnp.sum(factor.inverse**2)
    size = optimum.shift.shape[0]
    kl = 0.5 * (trace + jnp.sum(mean**2) - size + factor.log_det())
    fit = 0.5 * (jnp.sum(half**2) - factor.log_det())
    data = -0.5 * (statistics.misfits[dimension] / noise + statistics.weight * (LOG_2PI + jnp.log(noise)))
    return fit + data + kl, kl
