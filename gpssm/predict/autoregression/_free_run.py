"""Free runs of an autoregression: sampled outputs are fed back, with the noise they were drawn with."""

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._buckets import side_by_side
from gpssm._core._compile import compile_by_work
from gpssm.predict._propagate import AbstractPropagation, IndependentSteps, MeanOnly, Pathwise
from gpssm.predict.autoregression._lags import Lags
from gpssm.predict.autoregression._regression import AbstractRegression

BATCH = 256
"""Trajectories that are run side by side."""


@compile_by_work(
    lambda regression, lags, windows, controls, propagation, count, key: count * controls.shape[0] * controls.shape[1]
)
def trajectories(
    regression: AbstractRegression,
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


def _step(regression: AbstractRegression, propagation: AbstractPropagation, function_key: PRNGKeyArray):
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


def _noise(regression: AbstractRegression, propagation: AbstractPropagation) -> Float[Array, " O"]:
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
