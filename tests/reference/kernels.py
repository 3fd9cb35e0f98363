"""Kernels in plain NumPy. Each takes two arrays of points, inputs on the last axis, and broadcasts over the others."""

from collections.abc import Callable, Sequence

import numpy as np

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def matrix(kernel: Kernel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """k(x_n, y_m), for two sets of points or stacks of sets."""
    return kernel(x[..., :, None, :], y[..., None, :, :])


def variances(kernel: Kernel, x: np.ndarray) -> np.ndarray:
    """k(x_n, x_n)."""
    return kernel(x, x)


def rbf(lengthscale: np.ndarray | float, variance: float) -> Kernel:
    """variance exp(-r^2 / 2)."""
    return lambda a, b: variance * np.exp(-0.5 * np.sum(((a - b) / lengthscale) ** 2, axis=-1))


def matern(twice_nu: int, lengthscale: np.ndarray | float, variance: float) -> Kernel:
    """The Matern kernels of smoothness 1/2, 3/2 and 5/2."""

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        r = np.sqrt(twice_nu * np.sum(((a - b) / lengthscale) ** 2, axis=-1))
        polynomial = {1: 1.0, 3: 1.0 + r, 5: 1.0 + r + r**2 / 3.0}[twice_nu]
        return variance * polynomial * np.exp(-r)

    return kernel


def rational_quadratic(lengthscale: float, variance: float, alpha: float) -> Kernel:
    """variance (1 + r^2 / (2 alpha))^-alpha."""
    return lambda a, b: variance * (1.0 + np.sum(((a - b) / lengthscale) ** 2, axis=-1) / (2.0 * alpha)) ** -alpha


def arccosine0(variance: float, weight_variance: float, bias_variance: float) -> Kernel:
    """variance (1 - angle / pi), the angle by the arc-cosine of the normalised inner product."""

    def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return weight_variance * np.sum(a * b, axis=-1) + bias_variance

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        cosine = inner(a, b) / np.sqrt(inner(a, a) * inner(b, b))
        return variance * (1.0 - np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi)

    return kernel


def linear(variance: float) -> Kernel:
    """variance a'b."""
    return lambda a, b: variance * np.sum(a * b, axis=-1)


def add(*parts: Kernel) -> Kernel:
    """The sum of kernels."""
    return lambda a, b: np.sum([part(a, b) for part in parts], axis=0)


def multiply(*parts: Kernel) -> Kernel:
    """The product of kernels."""
    return lambda a, b: np.prod([part(a, b) for part in parts], axis=0)


def on_columns(columns: Sequence[int], kernel: Kernel) -> Kernel:
    """A kernel that sees some of the inputs only."""
    return lambda a, b: kernel(a[..., list(columns)], b[..., list(columns)])


def on_angle(column: int, radians: float, base: Kernel) -> Kernel:
    """A kernel of the other inputs and of sine and cosine of one."""

    def features(x: np.ndarray) -> np.ndarray:
        angle = radians * x[..., [column]]
        return np.concatenate([np.delete(x, column, axis=-1), np.sin(angle), np.cos(angle)], axis=-1)

    return lambda a, b: base(features(a), features(b))


def manifold(base: Kernel, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]) -> Kernel:
    """A kernel on the output of a tanh network."""

    def features(x: np.ndarray) -> np.ndarray:
        for weight, bias in zip(weights, biases, strict=True):
            x = np.tanh(x @ weight + bias)
        return x

    return lambda a, b: base(features(a), features(b))
