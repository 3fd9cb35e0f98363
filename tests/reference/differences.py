"""Derivatives against central differences."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from tests.reference.compiling import jit


def assert_derivatives(
    function: Callable[[jax.Array], object],
    point: np.ndarray,
    *,
    forward: bool = True,
    tolerance: float = 1e-6,
    step: float = 1e-5,
) -> None:
    """Derivatives of a function of one array along random directions, in reverse and (if asked) in forward mode.

    Everything is compiled once: the value, the derivative along v, and the derivative of w'f.
    """

    def flat(x: jax.Array) -> jax.Array:
        return ravel_pytree(function(x))[0]

    @jit
    def all_of_it(x: jax.Array, v: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        value, pull = jax.vjp(flat, x)
        pushed = jax.jvp(flat, (x,), (v,))[1] if forward else jnp.zeros_like(value)
        return value, pushed, pull(w)[0]

    rng = np.random.default_rng(0)
    size = jax.eval_shape(flat, jnp.asarray(point)).shape
    for _ in range(3):
        v, w = rng.standard_normal(point.shape), rng.standard_normal(size)
        _, pushed, pulled = all_of_it(point, v, w)
        ahead, behind = all_of_it(point + step * v, v, w)[0], all_of_it(point - step * v, v, w)[0]
        expected = (np.asarray(ahead) - np.asarray(behind)) / (2.0 * step)
        scale = np.max(np.abs(expected))
        assert scale > 0.0, "the function does not depend on its argument: nothing is tested"
        if forward:
            np.testing.assert_allclose(pushed, expected, rtol=tolerance, atol=tolerance * scale)
        np.testing.assert_allclose(
            np.sum(pulled * v), w @ expected, rtol=tolerance, atol=tolerance * scale * np.sqrt(size[0])
        )
