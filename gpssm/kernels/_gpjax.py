"""The pieces of GPJax's kernels: matrices without repeated work, and random features where they are known."""

from functools import reduce

import jax.numpy as jnp
import jax.random as jr
from gpjax.kernels import RBF, AbstractKernel, Linear, Matern12, Matern32, Matern52, ProductKernel, SumKernel
from gpjax.kernels.stationary import StationaryKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._params import val
from gpssm._core._waves import sine_and_cosine
from gpssm.kernels._evaluate import cross_covariance, diagonal, squared_distances
from gpssm.kernels._features import random_directions, random_features

_FLOOR = 1e-36
"""Squared distances below this count as zero, with zero gradient, so that roots of them have one."""

_DEGREES_OF_FREEDOM = {RBF: None, Matern12: 1, Matern32: 3, Matern52: 5}
"""The spectral measure of a Matern kernel is a multivariate Student t; that of the RBF a Gaussian."""


@cross_covariance.register
def _sum(kernel: SumKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    return reduce(jnp.add, (cross_covariance(part, x, y) for part in kernel.kernels))


@cross_covariance.register
def _product(kernel: ProductKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    return reduce(jnp.multiply, (cross_covariance(part, x, y) for part in kernel.kernels))


@cross_covariance.register
def _rbf(kernel: RBF, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    variance, squares = _scaled(kernel, x, y)
    return variance * jnp.exp(-0.5 * squares)


@cross_covariance.register
def _matern12(kernel: Matern12, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    variance, distance = _distance(kernel, x, y)
    return variance * jnp.exp(-distance)


@cross_covariance.register
def _matern32(kernel: Matern32, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    variance, distance = _distance(kernel, x, y)
    scaled = 3.0**0.5 * distance
    return variance * (1.0 + scaled) * jnp.exp(-scaled)


@cross_covariance.register
def _matern52(kernel: Matern52, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    variance, distance = _distance(kernel, x, y)
    scaled = 5.0**0.5 * distance
    return variance * (1.0 + scaled + scaled**2 / 3.0) * jnp.exp(-scaled)


def _scaled(
    kernel: StationaryKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"], *, differences_first: bool = False
) -> tuple[Float[Array, ""], Float[Array, "N M"]]:
    """The variance, and squared distances in length-scales."""
    lengthscale, variance = val(kernel.lengthscale), jnp.squeeze(val(kernel.variance))
    x, y = jnp.asarray(kernel.slice_input(x)), jnp.asarray(kernel.slice_input(y))
    scale = jnp.broadcast_to(lengthscale, x.shape[-1:])
    if differences_first:
        return variance, squared_distances(x, y, 1.0 / scale)
    return variance, squared_distances(x / scale[None, :], y / scale[None, :])


def squared_exponential(kernel: AbstractKernel, inputs: int) -> tuple[Float[Array, " Q"], Float[Array, ""]]:
    """Length-scales of all inputs and the variance, for formulas that hold for no other kernel."""
    # A subclass may be another kernel.
    if type(kernel) is not RBF or kernel.active_dims != slice(None):
        raise TypeError(f"exact moments are known for RBF kernels over all inputs, not for {type(kernel).__name__}")
    return jnp.broadcast_to(val(kernel.lengthscale), (inputs,)), jnp.squeeze(val(kernel.variance))


def _distance(
    kernel: StationaryKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]
) -> tuple[Float[Array, ""], Float[Array, "N M"]]:
    """The variance, and distances in length-scales, which are differences first: compilers may compute a scaled point
    twice and round it in two ways, and then it is a little way from itself, where a root has the steepest of slopes."""
    variance, squares = _scaled(kernel, x, y, differences_first=True)
    return variance, jnp.sqrt(jnp.maximum(squares, _FLOOR))


@diagonal.register
def _sum_diagonal(kernel: SumKernel, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    return reduce(jnp.add, (diagonal(part, x) for part in kernel.kernels))


@diagonal.register
def _product_diagonal(kernel: ProductKernel, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    return reduce(jnp.multiply, (diagonal(part, x) for part in kernel.kernels))


@diagonal.register
def _stationary_diagonal(kernel: StationaryKernel, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    return jnp.broadcast_to(jnp.squeeze(val(kernel.variance)), x.shape[:1])


@random_directions.register
def _frequencies(
    kernel: RBF | Matern12 | Matern32 | Matern52,
    inputs: int,
    *,
    num_features: int,
    dtype: jnp.dtype,
    key: PRNGKeyArray,
) -> Float[Array, "F R"] | None:
    # A subclass may be another kernel, whose spectrum nobody knows here.
    if type(kernel) not in _DEGREES_OF_FREEDOM:
        return None
    size = kernel.slice_input(jnp.zeros(inputs, dtype)).shape[0]
    normal_key, chi_key = jr.split(key)
    frequencies = jr.normal(normal_key, (num_features, size), dtype)
    df = _DEGREES_OF_FREEDOM[type(kernel)]
    if df is not None:
        # A sum of df squares; the general sampler would take seconds to compile.
        chi2 = jnp.sum(jr.normal(chi_key, (num_features, df), dtype) ** 2, axis=1, keepdims=True)
        frequencies = frequencies / jnp.sqrt(chi2 / df)
    return frequencies


@random_features.register
def _waves(
    kernel: RBF | Matern12 | Matern32 | Matern52, x: Float[Array, " Q"], directions: Float[Array, "F R"]
) -> Float[Array, " G"]:
    phases = directions @ (kernel.slice_input(x) / val(kernel.lengthscale))
    scale = jnp.sqrt(val(kernel.variance) / directions.shape[0])
    sine, cosine = sine_and_cosine(phases)
    return scale * jnp.concatenate([cosine, sine])


@random_directions.register
def _nothing_random(
    kernel: Linear, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> Float[Array, "0 Q"]:
    return jnp.zeros((0, inputs), dtype)


@random_features.register
def _inputs_themselves(kernel: Linear, x: Float[Array, " Q"], directions: Float[Array, "F R"]) -> Float[Array, " G"]:
    return jnp.sqrt(val(kernel.variance)) * kernel.slice_input(x)
