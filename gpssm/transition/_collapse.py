"""The closed-form optimum of q(u) given the states, and the bound with it put back: the collapsed bound.

In whitened coordinates q(v) = N(m, S), B the projected inputs, r the residuals, w the weights, s^2 the process noise:
precision I + P with P = B w B' / s^2, shift c = B w r / s^2, optimum m = (I + P)^-1 c, S = (I + P)^-1.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._gaussian import LOG_2PI
from gpssm._linalg import factorise, rounding_jitter


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

    @classmethod
    def optimum(
        cls,
        features: Float[Array, "M N"],
        residuals: Float[Array, " N"],
        weights: Float[Array, " N"],
        noise: Float[Array, ""],
    ) -> "NaturalParameters":
        """The closed-form optimum."""
        weighted = features * (weights / noise)[None, :]
        eye = jnp.eye(features.shape[0], dtype=features.dtype)
        return cls(eye + weighted @ features.T, weighted @ residuals)

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
    optimum: NaturalParameters,
    *,
    unexplained: Float[Array, " N"],
    squares: Float[Array, " N"],
    weights: Float[Array, " N"],
    noise: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Expected log transition density and KL of one dimension with q(v) at its optimum. `squares` is E[residual^2] a
    row."""
    factor = factorise(optimum.precision, rounding_jitter(noise.dtype))
    half = factor.inverse @ optimum.shift
    mean = factor.inverse.T @ half
    trace = jnp.sum(factor.inverse**2)
    size = optimum.shift.shape[0]
    kl = 0.5 * (trace + jnp.sum(mean**2) - size + factor.log_det())
    fit = 0.5 * (jnp.sum(half**2) - factor.log_det())
    scale = 0.5 / noise
    data = -scale * jnp.sum(weights * (squares + unexplained)) - 0.5 * jnp.sum(weights) * (LOG_2PI + jnp.log(noise))
    return fit + data + kl, kl
