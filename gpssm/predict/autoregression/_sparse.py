"""A sparse GP as the regression of an autoregression."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.models.transition import AbstractDynamics, AbstractFunctionDraw, AbstractMean
from gpssm.predict.autoregression._free_run import AbstractGPRegression, AbstractRegressionDraw


class NoMean(AbstractMean):
    """Zero, whatever the point."""

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """Zeros."""
        return jnp.zeros_like(x)


class SparseRegression(AbstractGPRegression):
    """A conditioned sparse GP. The newest outputs, which lead every regressor, are its state; all else its controls."""

    measure: ClassVar[str] = "lower bound of the log-evidence"
    dynamics: AbstractDynamics

    def moments(self, z: Float[Array, " Q"]) -> tuple[Float[Array, " O"], Float[Array, " O"]]:
        """Mean and variance."""
        return self.dynamics.moments(*_split(z, self.noise_variance().shape[0]))

    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the noise."""
        return self.dynamics.noise_variance()

    def draw(self, *, num_features: int, key: PRNGKeyArray) -> "SparseRegressionDraw":
        """By pathwise conditioning."""
        function = self.dynamics.draw(num_features=num_features, key=key)
        return SparseRegressionDraw(function, self.noise_variance().shape[0])


class SparseRegressionDraw(AbstractRegressionDraw):
    """A draw of the sparse GP."""

    function: AbstractFunctionDraw
    outputs: int = eqx.field(static=True)

    def __call__(self, z: Float[Array, " Q"], *, key: PRNGKeyArray) -> Float[Array, " O"]:
        """Its value."""
        return self.function(*_split(z, self.outputs), key=key)


def _split(z: Float[Array, " Q"], outputs: int) -> tuple[Float[Array, " O"], Float[Array, " R"]]:
    return z[:outputs], z[outputs:]
