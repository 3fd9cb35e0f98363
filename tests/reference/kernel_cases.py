"""The kernels that the tests run through, each beside its plain NumPy twin. All take three inputs."""

from collections.abc import Callable

import gpjax.kernels as gk
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from gpssm.kernels import Angles, ArcCosine0, Manifold
from tests.reference import kernels as plain

INPUTS = 3
SCALES = (0.7, 1.3, 2.0)


def _manifold(base: gk.AbstractKernel, twin: plain.Kernel, widths: tuple[int, ...]):
    kernel = Manifold(base, inputs=INPUTS, widths=widths, key=jr.key(len(widths)))
    return kernel, plain.manifold(twin, [np.asarray(w) for w in kernel.weights], [np.asarray(b) for b in kernel.biases])


def _rbf():
    return gk.RBF(lengthscale=jnp.array(SCALES), variance=0.8), plain.rbf(np.array(SCALES), 0.8)


def _arc():
    kernel = ArcCosine0(variance=1.4, weight_variance=0.6, bias_variance=0.3)
    return kernel, plain.arccosine0(1.4, 0.6, 0.3)


def _columns():
    kernel = gk.RBF(active_dims=[0], lengthscale=0.5) + gk.Matern32(active_dims=[1, 2], variance=0.4)
    return kernel, plain.add(
        plain.on_columns([0], plain.rbf(0.5, 1.0)), plain.on_columns([1, 2], plain.matern(3, 1.0, 0.4))
    )


def _angles():
    scales = (0.7, 1.3, 0.9, 2.0)
    kernel = Angles(gk.RBF(lengthscale=jnp.array(scales), variance=0.8), inputs=(1,), radians=(2.5,))
    return kernel, plain.on_angle(1, 2.5, plain.rbf(np.array(scales), 0.8))


def _matern(twice_nu: int, kind: type):
    return kind(lengthscale=jnp.array(SCALES), variance=1.3), plain.matern(twice_nu, np.array(SCALES), 1.3)


def _combined(how: Callable, twin: Callable, *parts):
    kernels, twins = zip(*parts, strict=True)
    return how(kernels), twin(*twins)


CASES: dict[str, Callable[[], tuple[gk.AbstractKernel, plain.Kernel]]] = {
    "RBF": _rbf,
    "Matern12": lambda: _matern(1, gk.Matern12),
    "Matern32": lambda: _matern(3, gk.Matern32),
    "Matern52": lambda: _matern(5, gk.Matern52),
    "ArcCosine0": _arc,
    "RationalQuadratic": lambda: (
        gk.RationalQuadratic(lengthscale=0.9, variance=0.7, alpha=1.5),
        plain.rational_quadratic(0.9, 0.7, 1.5),
    ),
    "RBF + Matern12": lambda: _combined(sum_of, plain.add, _rbf(), _matern(1, gk.Matern12)),
    "Linear + ArcCosine0 + RBF": lambda: _combined(
        sum_of, plain.add, (gk.Linear(variance=0.3), plain.linear(0.3)), _arc(), _rbf()
    ),
    "RBF * Matern52": lambda: _combined(product_of, plain.multiply, _rbf(), _matern(5, gk.Matern52)),
    "sum over columns": _columns,
    "Angles": _angles,
    "Manifold, 1 layer": lambda: _manifold(gk.RBF(lengthscale=0.8), plain.rbf(0.8, 1.0), (2,)),
    "Manifold, 5 layers": lambda: _manifold(gk.Matern12(variance=0.6), plain.matern(1, 1.0, 0.6), (3, 2, 3, 2, 3)),
    "Manifold of a sum": lambda: _manifold(
        gk.RBF(lengthscale=0.8) + ArcCosine0(), plain.add(plain.rbf(0.8, 1.0), plain.arccosine0(1.0, 1.0, 1.0)), (4, 2)
    ),
}


def sum_of(kernels: tuple[gk.AbstractKernel, ...]) -> gk.AbstractKernel:
    """The sum of kernels."""
    return gk.SumKernel(kernels=list(kernels))


def product_of(kernels: tuple[gk.AbstractKernel, ...]) -> gk.AbstractKernel:
    """The product of kernels."""
    return gk.ProductKernel(kernels=list(kernels))
