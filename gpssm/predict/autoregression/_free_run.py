"""Regressions by functions of JAX, and their free runs: sampled outputs are fed back, with the noise they were drawn
with."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._buckets import LEAST_STEPS, fill_up, round_count, round_size, side_by_side
from gpssm._core._compile import compile_by_work
from gpssm.predict._base import Request
from gpssm.predict._propagate import AbstractPropagation, IndependentSteps, MeanOnly, Pathwise
from gpssm.predict.autoregression._lags import Lags
from gpssm.predict.autoregression._regression import AbstractRegression

BATCH = 256
"""Trajectories that are run side by side."""


class AbstractRegressionDraw(eqx.Module):
    """One drawn function."""

    @abstractmethod
    def __call__(self, z: Float[Array, " Q"], *, key: PRNGKeyArray) -> Float[Array, " O"]:
        """Its value. The key serves only what the draw cannot hold consistent."""


class AbstractGPRegression(AbstractRegression):
    """A regression with moments at a point, and functions drawn from its posterior."""

    @abstractmethod
    def moments(self, z: Float[Array, " Q"]) -> tuple[Float[Array, " O"], Float[Array, " O"]]:
        """Mean and variance of the function, noise not included."""

    @abstractmethod
    def draw(self, *, num_features: int, key: PRNGKeyArray) -> AbstractRegressionDraw:
        """A function from the posterior, to be followed along a whole trajectory."""

    def trajectories(
        self,
        lags: Lags,
        outputs: Float[np.ndarray, "W K O"],
        inputs: Float[np.ndarray, "W M P"],
        controls: Float[np.ndarray, "W S P"],
        request: Request,
    ) -> tuple[Float[np.ndarray, "N W S O"], Float[np.ndarray, "N W S O"]]:
        """Windows, steps and samples are filled up to round numbers, which share compiled code."""
        count, (starts, steps) = request.count, controls.shape[:2]
        # There are many windows of a few steps, or a single one of many.
        rows = round_size(starts, least=LEAST_STEPS if starts > 1 else 1)
        longest = round_size(steps, least=1 if starts > 1 else LEAST_STEPS)
        ahead = np.zeros((rows, longest, controls.shape[2]))
        ahead[:starts, :steps] = controls
        windows = fill_up(outputs, rows), fill_up(inputs, rows)
        drawn = trajectories(self, lags, windows, ahead, request.propagation, round_count(count), request.key)
        signals, measured = (np.asarray(part)[:count, :starts, :steps] for part in drawn)
        return signals, measured


@compile_by_work(
    lambda regression, lags, windows, controls, propagation, count, key: count * controls.shape[0] * controls.shape[1]
)
def trajectories(
    regression: AbstractGPRegression,
    lags: Lags,
    windows: tuple[Float[Array, "W K O"], Float[Array, "W M P"]],
    controls: Float[Array, "W S P"],
    propagation: AbstractPropagation,
    count: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "N W S O"], Float[Array, "N W S O"]]:
    """Outputs from each window on without, and with, the noise of their own step; one function draw serves all
    windows of a sample."""

    def one(sample_key: PRNGKeyArray) -> tuple[Array, Array]:
        function_key, run_key = jr.split(sample_key)
        follow = _step(regression, propagation, function_key)

        def run(outputs: Array, inputs: Array, row: Array, row_key: PRNGKeyArray) -> tuple[Array, Array]:
            return _follow(follow, _noise(regression, propagation), lags, outputs, inputs, row, row_key)

        return jax.vmap(run)(*windows, controls, jr.split(run_key, controls.shape[0]))

    return lax.map(one, jr.split(key, count), batch_size=side_by_side(count, BATCH))


def _step(regression: AbstractGPRegression, propagation: AbstractPropagation, function_key: PRNGKeyArray):
    match propagation:
        case Pathwise():
            function = regression.draw(num_features=propagation.num_features, key=function_key)
            return lambda z, key: function(z, key=key)
        case IndependentSteps():

            def independent(z: Array, key: PRNGKeyArray) -> Array:
                mean, variance = regression.moments(z)
                return mean + jnp.sqrt(variance) * jr.normal(key, mean.shape, mean.dtype)

            return independent
        case MeanOnly():
            return lambda z, key: regression.moments(z)[0]
        case _:
            raise TypeError(f"{type(propagation).__name__} is not a known way to propagate an autoregression")


def _noise(regression: AbstractGPRegression, propagation: AbstractPropagation) -> Float[Array, " O"]:
    variance = regression.noise_variance()
    return jnp.zeros_like(variance) if isinstance(propagation, MeanOnly) else jnp.sqrt(variance)


def _follow(
    step, noise: Array, lags: Lags, outputs: Array, inputs: Array, controls: Array, key: PRNGKeyArray
) -> tuple[Float[Array, "S O"], Float[Array, "S O"]]:
    noise_key, step_key = jr.split(key)
    steps = controls.shape[0]
    noises = noise[None, :] * jr.normal(noise_key, (steps, noise.shape[0]), noise.dtype)

    def body(carry: tuple[Array, Array], now: tuple[Array, Array, PRNGKeyArray]):
        outputs, inputs = carry
        control, disturbance, now_key = now
        signal = step(lags.regressor(outputs, inputs, control), now_key)
        signal = signal + outputs[0] if lags.increment else signal
        measured = signal + disturbance
        outputs = jnp.concatenate([measured[None], outputs])[: outputs.shape[0]]
        inputs = jnp.concatenate([control[None], inputs])[: inputs.shape[0]]
        return (outputs, inputs), (signal, measured)

    return lax.scan(body, (outputs, inputs), (controls, noises, jr.split(step_key, steps)))[1]
