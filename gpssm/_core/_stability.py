"""Linear autoregressions that do not explode: recurrences pulled back to the edge of stability."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

SQUARINGS = 12
"""Of the companion matrix. With A to the power of 4096 the radius is overestimated by less than a thousandth, unless A
is very far from normal."""


def stabilise(recurrence: Float[Array, "K O O"], max_radius: float) -> Float[Array, "K O O"]:
    """y[t+1] = sum of recurrence[k] y[t - k], with a spectral radius of `max_radius` at most.

    Scaling the k-th matrix by s to the power of k + 1 scales every eigenvalue by s, and leaves alone how they lie to
    one another.
    """
    lags = len(recurrence)
    scale = jnp.minimum(1.0, max_radius / spectral_radius(companion(recurrence)))
    return recurrence * (scale ** jnp.arange(1, lags + 1))[:, None, None]


def companion(recurrence: Float[Array, "K O O"]) -> Float[Array, "R R"]:
    """The matrix that moves the last K outputs, newest first, by a step."""
    lags, size, _ = recurrence.shape
    first = jnp.moveaxis(recurrence, 0, 1).reshape(size, lags * size)
    return jnp.concatenate([first, jnp.eye((lags - 1) * size, lags * size, dtype=first.dtype)])


def spectral_radius(matrix: Float[Array, "R R"]) -> Float[Array, ""]:
    """Largest absolute eigenvalue, by repeated squaring: eigenvalues of unsymmetric matrices are for CPUs only."""

    def square(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        power, log_scale = carry
        size = jnp.maximum(jnp.linalg.norm(power), jnp.finfo(power.dtype).tiny)
        power = power / size
        return (power @ power, 2.0 * (log_scale + jnp.log(size))), None

    start = (matrix, jnp.zeros((), matrix.dtype))
    power, log_scale = lax.scan(square, start, None, length=SQUARINGS)[0]
    log_norm = log_scale + jnp.log(jnp.maximum(jnp.linalg.norm(power), jnp.finfo(power.dtype).tiny))
    return jnp.exp(log_norm / 2.0**SQUARINGS)
