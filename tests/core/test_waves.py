"""Sine and cosine by polynomials against those of NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpssm._core._waves import sine_and_cosine
from tests.reference.compiling import as_users_do, jit

LARGEST = 1e6
POINTS = 200_001


def angles(kind: str, dtype: type) -> np.ndarray:
    """Angles of one kind, always as many, so that all share one program."""
    rng = np.random.default_rng(0)
    match kind:
        case "grid":
            return np.linspace(-20.0, 20.0, POINTS).astype(dtype)
        case "large":
            return rng.uniform(-LARGEST, LARGEST, POINTS).astype(dtype)
        case "all sizes":
            return (rng.choice([-1.0, 1.0], POINTS) * 10.0 ** rng.uniform(-30.0, 6.0, POINTS)).astype(dtype)
        case "quarter turns":
            # Where one of both vanishes, a mistake in taking off turns is seen first.
            return (np.arange(POINTS) * (0.5 * np.pi)).astype(dtype)
    raise ValueError(kind)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-14), (np.float32, 1e-6)])
@pytest.mark.parametrize("kind", ["grid", "large", "all sizes", "quarter turns"])
def test_they_are_those_of_numpy(kind, dtype, error):
    x = angles(kind, dtype)
    exact = x.astype(np.float64)
    for compiled in (jit(sine_and_cosine), as_users_do(sine_and_cosine)):
        sine, cosine = compiled(jnp.asarray(x))
        assert sine.dtype == cosine.dtype == dtype
        assert_allclose(sine, np.sin(exact), rtol=0.0, atol=error)
        assert_allclose(cosine, np.cos(exact), rtol=0.0, atol=error)


def test_small_angles_keep_all_their_digits():
    x = np.array([0.0, 1e-300, -1e-20, 1e-8, 1e-3])
    sine, cosine = jit(sine_and_cosine)(jnp.asarray(x))
    assert_allclose(sine, np.sin(x), rtol=1e-15)
    assert_array_equal(cosine[:3], np.ones(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_beyond_all_digits_both_stay_within_one(dtype):
    """A free run that leaves all bounds must not leave them faster because of its features."""
    x = jnp.asarray(np.array([1e8, -1e12, 3e25, -1e30, 3e38, np.finfo(dtype).max]).astype(dtype))
    assert all(np.all(np.abs(np.asarray(part)) <= 1.0) for part in jit(sine_and_cosine)(x))


def test_what_is_not_finite_has_none():
    for part in jit(sine_and_cosine)(jnp.asarray([np.nan, np.inf, -np.inf])):
        assert np.isnan(part).all()


def test_derivatives_are_those_of_numpy():
    x = np.linspace(-50.0, 50.0, 101)
    first = jit(jax.vmap(jax.grad(lambda a: sine_and_cosine(a)[0] + 2.0 * sine_and_cosine(a)[1])))
    assert_allclose(first(jnp.asarray(x)), np.cos(x) - 2.0 * np.sin(x), atol=1e-13)
    second = jit(jax.vmap(jax.grad(jax.grad(lambda a: sine_and_cosine(a)[0]))))
    assert_allclose(second(jnp.asarray(x)), -np.sin(x), atol=1e-13)
