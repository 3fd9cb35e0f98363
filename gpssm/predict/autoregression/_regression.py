"""What an autoregression needs of a regression: moments at a point, and functions drawn from its posterior."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._stability import stabilise
from gpssm.models.transition import AbstractDynamics, AbstractFunctionDraw, AbstractMean


class AbstractRegressionDraw(eqx.Module):
    """One drawn function."""

    @abstractmethod
    def __call__(self, z: Float[Array, " Q"], *, key: PRNGKeyArray) -> Float[Array, " O"]:
        """Its value. The key serves only what the draw cannot hold consistent."""


class AbstractRegression(eqx.Module):
    """Several outputs as functions of one point, learnt with independent noise."""

    measure: ClassVar[str] = "log-evidence"
    """What the number is that says how likely the training data are."""

    @abstractmethod
    def moments(self, z: Float[Array, " Q"]) -> tuple[Float[Array, " O"], Float[Array, " O"]]:
        """Mean and variance of the function, noise not included."""

    @abstractmethod
    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the noise."""

    @abstractmethod
    def draw(self, *, num_features: int, key: PRNGKeyArray) -> AbstractRegressionDraw:
        """A function from the posterior, to be followed along a whole trajectory."""


class NoMean(AbstractMean):
    """Zero, whatever the point."""

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """Zeros."""
        return jnp.zeros_like(x)


class SparseRegression(AbstractRegression):
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


class LinearRegression(AbstractRegression):
    """coefficients' z + offset, with Gaussian uncertainty about both: the same covariance, times the noise, for every
    output."""

    # Coefficients are not integrated out: the number does not charge for having fitted them.
    measure: ClassVar[str] = "plug-in log-likelihood"
    weights: Float[Array, "R O"]
    """R rows: first those of the lagged outputs, newest first, then those of the inputs, and the offset last."""
    chol: Float[Array, "R R"]
    noise: Float[Array, " O"]
    output_lags: int = eqx.field(static=True)
    max_radius: float | None = eqx.field(static=True, default=None)
    """Largest spectral radius of the recurrence; None: any."""

    def moments(self, z: Float[Array, " Q"]) -> tuple[Float[Array, " O"], Float[Array, " O"]]:
        """Mean and variance."""
        row = jnp.append(z, jnp.ones((), z.dtype))
        return row @ self._calmed(self.weights), jnp.sum((row @ self.chol) ** 2) * self.noise

    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the noise."""
        return self.noise

    def draw(self, *, num_features: int, key: PRNGKeyArray) -> "LinearRegressionDraw":
        """Coefficients from their posterior."""
        normal = jr.normal(key, self.weights.shape, self.weights.dtype)
        drawn = self.weights + self.chol @ normal * jnp.sqrt(self.noise)[None, :]
        return LinearRegressionDraw(self._calmed(drawn))

    def _calmed(self, weights: Float[Array, "R O"]) -> Float[Array, "R O"]:
        if self.max_radius is None:
            return weights
        outputs = weights.shape[1]
        rows = self.output_lags * outputs
        recurrence = jnp.swapaxes(weights[:rows].reshape(self.output_lags, outputs, outputs), 1, 2)
        calm = jnp.swapaxes(stabilise(recurrence, self.max_radius), 1, 2)
        return jnp.concatenate([calm.reshape(rows, outputs), weights[rows:]])


class LinearRegressionDraw(AbstractRegressionDraw):
    """One set of coefficients."""

    weights: Float[Array, "R O"]

    def __call__(self, z: Float[Array, " Q"], *, key: PRNGKeyArray) -> Float[Array, " O"]:
        """Their prediction."""
        return jnp.append(z, jnp.ones((), z.dtype)) @ self.weights
