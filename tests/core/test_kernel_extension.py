"""Kernels from somebody's own file: with their pieces registered they are as good as those of the package."""

import os
from functools import cache, partial

import equinox as eqx
import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.parameters import PositiveReal, val

from gpssm._core._params import cast
from gpssm.kernels import (
    Angles,
    ArcCosine0,
    Manifold,
    cross_covariance,
    diagonal,
    draw_prior,
    random_directions,
    random_features,
)
from tests.reference import kernels as plain
from tests.reference.compiling import jit
from tests.reference.montecarlo import assert_covariance

INPUTS = 3


class Taxi(gk.AbstractKernel):
    """variance exp(-sum_q |x_q - y_q| / length): its frequencies are independent Cauchy numbers.

    It cannot be called, so that whatever does not use the registered pieces fails.
    """

    length: PositiveReal = eqx.field(kw_only=True)
    variance: PositiveReal = eqx.field(kw_only=True)

    def __init__(self, length: float, variance: float):
        self.length, self.variance = PositiveReal(length), PositiveReal(variance)
        gk.AbstractKernel.__init__(self)

    def __call__(self, x, y):
        raise AssertionError("evaluated pair by pair")


@cross_covariance.register
def _(kernel: Taxi, x, y):
    distances = jnp.sum(jnp.abs(x[:, None, :] - y[None, :, :]), axis=-1)
    return val(kernel.variance) * jnp.exp(-distances / val(kernel.length))


@diagonal.register
def _(kernel: Taxi, x):
    return jnp.broadcast_to(val(kernel.variance), x.shape[:1])


@random_directions.register
def _(kernel: Taxi, inputs, *, num_features, dtype, key):
    return jr.cauchy(key, (num_features, inputs), dtype)


@random_features.register
def _(kernel: Taxi, x, directions):
    phases = directions @ x / val(kernel.length)
    scale = jnp.sqrt(val(kernel.variance) / directions.shape[0])
    return scale * jnp.concatenate([jnp.cos(phases), jnp.sin(phases)])


class Cosine(gk.AbstractKernel):
    """cos(3 (x_0 - y_0)), and nothing registered."""

    def __call__(self, x, y):
        return jnp.cos(3.0 * (x[0] - y[0]))


class Rougher(gk.RBF):
    """A user's own subclass of a kernel whose features are known."""

    def __call__(self, x, y):
        return jnp.sqrt(super().__call__(x, y))


def taxi(length: float, variance: float) -> plain.Kernel:
    return lambda a, b: variance * np.exp(-np.sum(np.abs(a - b), axis=-1) / length)


def manifold(base: gk.AbstractKernel, twin: plain.Kernel) -> tuple[gk.AbstractKernel, plain.Kernel]:
    kernel = Manifold(base, inputs=INPUTS, widths=(4, 2), key=jr.key(1))
    return kernel, plain.manifold(twin, [np.asarray(w) for w in kernel.weights], [np.asarray(b) for b in kernel.biases])


TAXI = (Taxi(0.8, 1.3), taxi(0.8, 1.3))
ARC = (ArcCosine0(variance=1.4, weight_variance=0.6, bias_variance=0.3), plain.arccosine0(1.4, 0.6, 0.3))
DRAWN: dict[str, tuple[gk.AbstractKernel, plain.Kernel]] = {
    "alone": TAXI,
    "in a sum": (TAXI[0] + gk.Linear(variance=0.3), plain.add(TAXI[1], plain.linear(0.3))),
    "of angles": (Angles(TAXI[0], inputs=(1,), radians=(2.5,)), plain.on_angle(1, 2.5, TAXI[1])),
    "on a manifold": manifold(*TAXI),
    "arc-cosine on a manifold": manifold(*ARC),
    "linear of angles": (Angles(gk.Linear(), inputs=(1,), radians=(2.5,)), plain.on_angle(1, 2.5, plain.linear(1.0))),
    "angles on a manifold": manifold(Angles(TAXI[0], inputs=(0,), radians=(1.5,)), plain.on_angle(0, 1.5, TAXI[1])),
}
EVALUATED = DRAWN | {"in a product": (TAXI[0] * gk.RBF(), plain.multiply(TAXI[1], plain.rbf(1.0, 1.0)))}

draw = partial(draw_prior, inputs=INPUTS, dtype=jnp.dtype(np.float64), key=jr.key(3))


def loop(twin: plain.Kernel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([[twin(a, b) for b in y] for a in x])


@cache
def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((4, INPUTS))


@cache
def evaluated() -> dict[str, tuple[jax.Array, jax.Array]]:
    """All in one compiled function, to save time; so below."""
    kernels = cast({name: kernel for name, (kernel, _) in EVALUATED.items()}, np.float64)

    @jit
    def matrices(kernels, x, y):
        return {name: (cross_covariance(k, x, y), diagonal(k, x)) for name, k in kernels.items()}

    return matrices(kernels, points(), points()[:3] + 0.2)


@cache
def samples() -> dict[str, np.ndarray]:
    kernels = {name: cast(kernel, np.float64) for name, (kernel, _) in DRAWN.items()}

    @jit
    def values(keys: jax.Array) -> dict[str, jax.Array]:
        def one(kernel: gk.AbstractKernel, key: jax.Array) -> jax.Array:
            return jax.vmap(draw(kernel, num_features=5, key=key))(points())

        return {name: jax.vmap(partial(one, kernel))(keys) for name, kernel in kernels.items()}

    return jax.tree.map(np.asarray, values(jr.split(jr.key(0), 8_000)))


@pytest.mark.parametrize("name", EVALUATED)
def test_registered_matrices_equal_a_double_loop(name):
    matrix, variances = evaluated()[name]
    twin = EVALUATED[name][1]
    np.testing.assert_allclose(matrix, loop(twin, points(), points()[:3] + 0.2), rtol=1e-10, atol=1e-12)
    # The twin's arc-cosine loses half of the digits where the points coincide.
    np.testing.assert_allclose(variances, np.diag(loop(twin, points(), points())), rtol=1e-7)


@pytest.mark.parametrize("name", DRAWN)
def test_covariance_of_draws_is_the_kernel(name):
    assert_covariance(samples()[name], np.zeros(4), loop(DRAWN[name][1], points(), points()))


def test_a_kernel_with_nothing_registered_is_called_pair_by_pair():
    x, y = points(), points()[:3] + 0.2
    twin = lambda a, b: np.cos(3.0 * (a[0] - b[0]))  # noqa: E731
    np.testing.assert_allclose(cross_covariance(Cosine(), jnp.asarray(x), jnp.asarray(y)), loop(twin, x, y), rtol=1e-10)
    np.testing.assert_allclose(diagonal(Cosine(), jnp.asarray(x)), np.ones(4), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        Cosine(),
        Cosine() + gk.RBF(),
        gk.RBF() + Cosine(),
        Angles(Cosine(), inputs=(0,), radians=(1.0,)),
        manifold(Cosine(), plain.linear(1.0))[0],
        manifold(Taxi(1.0, 1.0) * gk.RBF(), plain.linear(1.0))[0],
        # Drawing from a Gaussian process with the covariance of the base class would be wrong, and nobody would notice.
        Rougher(),
        Angles(Rougher(), inputs=(0,), radians=(1.0,)),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_without_registered_features_there_are_no_draws(kernel):
    assert draw(kernel, num_features=5) is None


class Half(gk.AbstractKernel):
    """Directions, but no features."""

    def __call__(self, x, y):
        return jnp.sum(x * y)


@random_directions.register
def _(kernel: Half, inputs, *, num_features, dtype, key):
    return jnp.zeros((num_features, inputs), dtype)


def test_directions_without_features_are_a_mistake():
    with pytest.raises(TypeError, match="Half has random directions but no features"):
        draw(Half(), num_features=5)


@pytest.mark.skipif(not os.environ.get("GPSSM_TEST_SHAPES"), reason="shapes are checked by make test-shapes")
def test_shapes_are_checked_behind_the_dispatch():
    """Every annotated shape is checked in tests; turning a function into a generic one must not lose that."""
    for kernel in (Cosine(), gk.RBF(), gk.RBF() + gk.Linear(), manifold(*TAXI)[0]):
        with pytest.raises(TypeError, match="Type-check error"):
            cross_covariance(kernel, jnp.zeros((2, INPUTS)), jnp.zeros(INPUTS))
        with pytest.raises(TypeError, match="Type-check error"):
            diagonal(kernel, jnp.zeros(INPUTS))
