"""Exact GP regression: evidence, moments, and function draws by Matheron's rule."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_well
from gpssm._core._gaussian import LOG_2PI
from gpssm._core._linalg import Factor, factorise
from gpssm._core._params import Positive, val
from gpssm.kernels import PriorDraw, cross_covariance, diagonal, draw_prior
from gpssm.kernels._abstract import AbstractKernel
from gpssm.predict.autoregression._free_run import AbstractGPRegression, AbstractRegressionDraw

NOISE_FLOOR = 1e-6
"""Smallest noise variance, in units of scaled outputs: the kernel matrix must stay invertible."""
JITTER = 1e-10


BUCKET = 64
"""Tables are filled up to a multiple of this many rows, so that tables of similar size share compiled code."""


class Points(NamedTuple):
    """Regressors and the values of one output. Rows with `valid` zero are there to fill up and count for nothing."""

    z: Float[Array, "N Q"]
    y: Float[Array, " N"]
    valid: Float[Array, " N"]


def filled_up(values: Float[np.ndarray, "N *C"]) -> Float[np.ndarray, "M *C"]:
    """The rows followed by zeros up to a round number of rows."""
    missing = -len(values) % BUCKET
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]))])


class Prior(eqx.Module):
    """GP(0, kernel) observed with noise."""

    kernel: AbstractKernel
    noise: Positive

    def noise_variance(self) -> Float[Array, ""]:
        """Variance of the noise."""
        return val(self.noise) + NOISE_FLOOR

    def factor(self, z: Float[Array, "N Q"], valid: Float[Array, " N"]) -> Factor:
        """Factor of the covariance of the measured values; rows that are not valid are independent and of unit
        variance."""
        matrix = cross_covariance(self.kernel, z, z) * valid[:, None] * valid[None, :]
        return factorise(matrix + jnp.diag(jnp.where(valid > 0.0, self.noise_variance(), 1.0)), JITTER)


def log_evidence(prior: Prior, points: Points) -> Float[Array, ""]:
    """log N(y | 0, K + noise I) of the valid rows."""
    factor = prior.factor(points.z, points.valid)
    whitened = factor.inverse @ (points.y * points.valid)
    return -0.5 * (jnp.sum(whitened**2) + factor.log_det() + jnp.sum(points.valid) * LOG_2PI)


class ExactGP(AbstractGPRegression):
    """One exact GP for each output, all observed at the same points."""

    priors: tuple[Prior, ...]
    z: Float[Array, "N Q"]
    valid: Float[Array, " N"]
    targets: tuple[Float[Array, " N"], ...]
    inverses: tuple[Float[Array, "N N"], ...]
    """L^-1 of K + noise I = L L'."""
    weights: tuple[Float[Array, " N"], ...]
    """(K + noise I)^-1 y."""

    @classmethod
    def condition(
        cls,
        priors: tuple[Prior, ...],
        z: Float[Array, "N Q"],
        valid: Float[Array, " N"],
        targets: tuple[Float[Array, " N"], ...],
    ) -> "ExactGP":
        """The posterior given the values at the valid points."""
        inverses = tuple(_inverse(prior, z, valid) for prior in priors)
        weights = tuple(inv.T @ (inv @ (valid * y)) for inv, y in zip(inverses, targets, strict=True))
        return cls(priors, z, valid, targets, inverses, weights)

    def moments(self, z: Float[Array, " Q"]) -> tuple[Float[Array, " O"], Float[Array, " O"]]:
        """Mean and variance of each output's function."""
        means, variances = [], []
        for prior, inverse, weights in zip(self.priors, self.inverses, self.weights, strict=True):
            row = self.valid * cross_covariance(prior.kernel, z[None], self.z)[0]
            means.append(row @ weights)
            unexplained = diagonal(prior.kernel, z[None])[0] - jnp.sum((inverse @ row) ** 2)
            variances.append(jnp.maximum(unexplained, 0.0))
        return jnp.stack(means), jnp.stack(variances)

    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the noise."""
        return jnp.stack([prior.noise_variance() for prior in self.priors])

    def draw(self, *, num_features: int, key: PRNGKeyArray) -> "ExactDraw":
        """A prior draw plus the correction that makes it agree with the data: f(z) + k(z, Z) (K + noise I)^-1 (y - f(Z)
        - e)."""
        functions, weights, dtype = [], [], self.z.dtype
        parts = zip(self.priors, self.targets, self.inverses, jr.split(key, len(self.priors)), strict=True)
        for prior, y, inverse, output_key in parts:
            prior_key, noise_key = jr.split(output_key)
            function = draw_prior(prior.kernel, self.z.shape[1], num_features=num_features, dtype=dtype, key=prior_key)
            if function is None:
                raise ValueError(
                    f"{type(prior.kernel).__name__} has no known random features to draw functions with: "
                    "use IndependentSteps() or MeanOnly() to propagate"
                )
            noise = jnp.sqrt(prior.noise_variance()) * jr.normal(noise_key, y.shape, dtype)
            functions.append(function)
            left = self.valid * (y - jax.vmap(function)(self.z) - noise)
            weights.append(inverse.T @ (inverse @ left))
        return ExactDraw(self.priors, self.z, tuple(functions), tuple(weights))


class ExactDraw(AbstractRegressionDraw):
    """A function for each output that passes near the data."""

    priors: tuple[Prior, ...]
    z: Float[Array, "N Q"]
    functions: tuple[PriorDraw, ...]
    weights: tuple[Float[Array, " N"], ...]

    def __call__(self, z: Float[Array, " Q"], *, key: PRNGKeyArray) -> Float[Array, " O"]:
        """Its value; nothing is left to chance."""
        values = [
            function(z) + cross_covariance(prior.kernel, z[None], self.z)[0] @ weights
            for prior, function, weights in zip(self.priors, self.functions, self.weights, strict=True)
        ]
        return jnp.stack(values)


@compile_well
def _inverse(prior: Prior, z: Float[Array, "N Q"], valid: Float[Array, " N"]) -> Float[Array, "N N"]:
    return prior.factor(z, valid).inverse
