"""A linear regression on the last samples, in NumPy: an ARX answers without waiting for a compiler."""

from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._stability import stabilise
from gpssm.predict._base import Request
from gpssm.predict._propagate import AbstractPropagation, IndependentSteps, MeanOnly, Pathwise
from gpssm.predict.autoregression._lags import Lags
from gpssm.predict.autoregression._regression import AbstractRegression

ROWS = 16_384
"""Samples times windows that are run at once."""


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

    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the noise."""
        return self.noise

    def mean_weights(self) -> Float[np.ndarray, "R O"]:
        """The most likely coefficients, pulled back where they would explode."""
        return self._calmed(np.asarray(self.weights))

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "N R O"]:
        """Coefficients from their posterior, pulled back one by one."""
        weights, chol, noise = (np.asarray(part) for part in (self.weights, self.chol, self.noise))
        return self._calmed(weights + chol @ rng.standard_normal((count, *weights.shape)) * np.sqrt(noise))

    def variance(self, rows: Float[np.ndarray, "*B R"]) -> Float[np.ndarray, "*B O"]:
        """Of the function at points, each with the one of the offset behind it; noise is not included."""
        return np.sum((rows @ np.asarray(self.chol)) ** 2, axis=-1, keepdims=True) * np.asarray(self.noise)

    def trajectories(
        self,
        lags: Lags,
        outputs: Float[np.ndarray, "W K O"],
        inputs: Float[np.ndarray, "W M P"],
        controls: Float[np.ndarray, "W S P"],
        request: Request,
    ) -> tuple[Float[np.ndarray, "N W S O"], Float[np.ndarray, "N W S O"]]:
        """Step by step, as many samples at once as the processor's cache has room for. Which random numbers a sample
        gets depends on how many samples and windows there are."""
        rng, size = request.generator(), max(1, ROWS // len(controls))
        sizes = [min(size, request.count - done) for done in range(0, request.count, size)]
        # What explodes is said by whoever looks at the numbers.
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = [self._block(lags, outputs, inputs, controls, request.propagation, n, rng) for n in sizes]
        signals, measured = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return signals, measured

    def _block(
        self,
        lags: Lags,
        outputs: Float[np.ndarray, "W K O"],
        inputs: Float[np.ndarray, "W M P"],
        controls: Float[np.ndarray, "W S P"],
        propagation: AbstractPropagation,
        count: int,
        rng: np.random.Generator,
    ) -> tuple[Float[np.ndarray, "N W S O"], Float[np.ndarray, "N W S O"]]:
        match propagation:
            case Pathwise():
                weights = self.draw(count, rng)
            case IndependentSteps() | MeanOnly():
                weights = self.mean_weights()
            case _:
                raise TypeError(f"{type(propagation).__name__} is not a known way to propagate an autoregression")
        starts, steps = controls.shape[:2]
        deviation = np.sqrt(np.asarray(self.noise)) * (not isinstance(propagation, MeanOnly))
        signals = np.empty((count, starts, steps, len(deviation)))
        measured = np.empty_like(signals)
        past = np.broadcast_to(outputs, (count, *outputs.shape))
        for t in range(steps):
            held = np.concatenate([controls[:, t, None], inputs], axis=1)[:, : lags.inputs]
            known = np.concatenate([held.reshape(starts, -1), np.ones((starts, 1))], axis=1)
            known = np.broadcast_to(known, (count, *known.shape))
            rows = np.concatenate([past.reshape(count, starts, -1), known], axis=2)
            signal = rows @ weights
            if isinstance(propagation, IndependentSteps):
                signal = signal + np.sqrt(self.variance(rows)) * rng.standard_normal(signal.shape)
            signals[:, :, t] = signal + past[:, :, 0] if lags.increment else signal
            measured[:, :, t] = signals[:, :, t] + deviation * rng.standard_normal(signal.shape)
            past = np.concatenate([measured[:, :, t, None], past], axis=2)[:, :, : lags.outputs]
            inputs = held[:, : inputs.shape[1]]
        return signals, measured

    def _calmed(self, weights: Float[np.ndarray, "*B R O"]) -> Float[np.ndarray, "*B R O"]:
        if self.max_radius is None:
            return weights
        *batch, _, outputs = weights.shape
        rows = self.output_lags * outputs
        recurrence = weights[..., :rows, :].reshape(*batch, self.output_lags, outputs, outputs)
        calm = np.swapaxes(stabilise(np.swapaxes(recurrence, -1, -2), self.max_radius), -1, -2)
        return np.concatenate([calm.reshape(*batch, rows, outputs), weights[..., rows:, :]], axis=-2)
