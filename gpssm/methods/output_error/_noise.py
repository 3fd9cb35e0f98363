"""How much of what a free run misses is process noise, and how much measurement noise."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from gpssm._core._compile import compile_by_work
from gpssm.methods.output_error._parameters import Frame, Parameters, Step
from gpssm.methods.output_error._records import Records

RATIOS = np.concatenate([[1e-8], 10.0 ** np.arange(-5.0, 3.1, 0.5)])
"""Variance of the process noise in units of the measurement noise, from practically none on."""


def split_noise(
    parameters: Parameters, frame: Frame, records: Records, variances: Float[np.ndarray, " O"]
) -> tuple[float, Float[np.ndarray, " O"]]:
    """Variances of process noise (for every state) and measurement noise (for every output).

    Their ratio is the most likely one for single steps, by an extended Kalman filter; their common scale is the one
    with which free runs are, on average, as uncertain as `variances` says. The ratio decides what a filter does, the
    scale how wide the bands of a free run are.
    """
    levels = variances / variances.mean()
    evidence, spread = map(np.asarray, _judge(parameters, frame, records, levels, np.array(variances.mean()), RATIOS))
    evidence = np.where(np.isfinite(evidence) & np.isfinite(spread), evidence, -np.inf)
    chosen = int(np.argmax(evidence))
    scale = float(variances.mean()) / float(spread[chosen]) if np.isfinite(spread[chosen]) else float(variances.mean())
    return scale * float(RATIOS[chosen]), scale * levels


@compile_by_work(lambda parameters, frame, records, levels, variance, ratios: len(records.first) * len(ratios))
def _judge(
    parameters: Parameters,
    frame: Frame,
    records: Records,
    levels: Float[Array, " O"],
    variance: Float[Array, ""],
    ratios: Float[Array, " K"],
) -> tuple[Float[Array, " K"], Float[Array, " K"]]:
    """For each ratio the log-evidence at its best scale, and the average variance of a free run at unit scale."""
    move = Step.of(parameters, frame)
    size = parameters.values.shape[0]
    eye = jnp.eye(size, dtype=levels.dtype)
    count = jnp.sum(records.observed)

    def one(ratio: Array) -> tuple[Array, Array]:
        def body(carry, now):
            mean, covariance, alone, spread = carry
            y, u, observed, first = now
            mean = jnp.where(first, jnp.zeros_like(mean), mean)
            covariance = jnp.where(first, eye / variance, covariance)
            alone, spread = jnp.where(first, jnp.zeros_like(mean), alone), jnp.where(first, 0.0 * eye, spread)
            rows = jax.jacfwd(parameters.emission.mean)(alone)
            free = jnp.sum((rows @ spread) * rows, axis=1) + levels
            squares, logs = jnp.zeros((), y.dtype), jnp.zeros((), y.dtype)
            # One output after the other: with independent noises that is exact, and needs no factorisation.
            for o in range(y.shape[0]):
                row = jax.jacfwd(lambda x, o=o: parameters.emission.mean(x)[o])(mean)
                innovation = y[o] - parameters.emission.mean(mean)[o]
                total = row @ covariance @ row + levels[o]
                gain = jnp.where(observed[o], covariance @ row / total, 0.0)
                mean = mean + gain * innovation
                covariance = covariance - jnp.outer(gain, covariance @ row)
                squares = squares + jnp.where(observed[o], innovation**2 / total, 0.0)
                logs = logs + jnp.where(observed[o], jnp.log(total), 0.0)
            slope, slope_alone = jax.jacfwd(move)(mean, u), jax.jacfwd(move)(alone, u)
            covariance = slope @ covariance @ slope.T + ratio * eye
            spread = slope_alone @ spread @ slope_alone.T + ratio * eye
            carry = (move(mean, u), 0.5 * (covariance + covariance.T), move(alone, u), spread)
            return carry, (squares, logs, jnp.sum(jnp.where(observed, free, 0.0)))

        zeros = jnp.zeros(size, levels.dtype)
        table = (records.y, records.u, records.observed, records.first)
        squares, logs, free = lax.scan(body, (zeros, eye, zeros, eye), table)[1]
        evidence = -0.5 * (count * jnp.log(jnp.sum(squares) / count) + jnp.sum(logs))
        return evidence, jnp.sum(free) / count

    return lax.map(one, ratios)
