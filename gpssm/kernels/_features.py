"""Random draws of whole functions from a kernel's prior, as finite sums of random features."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from gpjax.kernels import RBF, AbstractKernel, Linear, Matern12, Matern32, Matern52, SumKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._params import val
from gpssm.kernels._angles import Angles
from gpssm.kernels._arccosine import ArcCosine0
from gpssm.kernels._manifold import Manifold

_DEGREES_OF_FREEDOM = {RBF: None, Matern12: 1, Matern32: 3, Matern52: 5}
"""The spectral measure of a Matern kernel is a multivariate Student t; that of the RBF a Gaussian."""


class PriorDraw(eqx.Module):
    """A function g with E[g(x) g(y)] = k(x, y) over draws; evaluating it costs one product with its features."""

    kernels: tuple[AbstractKernel, ...]
    directions: tuple[Float[Array, "_ _"], ...]
    weights: tuple[Float[Array, " _"], ...]

    def __call__(self, x: Float[Array, " Q"]) -> Float[Array, ""]:
        """The drawn function at one point."""
        parts = zip(self.kernels, self.directions, self.weights, strict=True)
        return sum((jnp.dot(_features(k, x, d), w) for k, d, w in parts), jnp.zeros((), x.dtype))


def draw_prior(
    kernel: AbstractKernel, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> PriorDraw | None:
    """Draw a function from GP(0, kernel), or None for a kernel whose random features are not known."""
    parts = kernel.kernels if isinstance(kernel, SumKernel) else (kernel,)
    if not all(_is_known(part) for part in parts):
        return None
    directions, weights = [], []
    for part, part_key in zip(parts, jr.split(key, len(parts)), strict=True):
        direction_key, weight_key = jr.split(part_key)
        direction = _directions(part, inputs, num_features, dtype, direction_key)
        count = _features(part, jnp.zeros(inputs, dtype), direction).shape[0]
        directions.append(direction)
        weights.append(jr.normal(weight_key, (count,), dtype))
    return PriorDraw(parts, tuple(directions), tuple(weights))


def _is_known(kernel: AbstractKernel) -> bool:
    match kernel:
        case Manifold() | Angles():
            return type(kernel.base) in _DEGREES_OF_FREEDOM
        case ArcCosine0() | Linear():
            return True
        case _:
            return type(kernel) in _DEGREES_OF_FREEDOM


def _directions(
    kernel: AbstractKernel, inputs: int, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> Float[Array, "F Q"]:
    match kernel:
        case Manifold():
            return _directions(kernel.base, kernel.biases[-1].shape[0], num_features, dtype, key)
        case Angles():
            return _directions(kernel.base, inputs + len(kernel.inputs), num_features, dtype, key)
        case Linear():
            return jnp.zeros((0, inputs), dtype)
        case ArcCosine0():
            size = kernel.direction(jnp.zeros(inputs, dtype)).shape[0]
            return jr.normal(key, (num_features, size), dtype)
        case _:
            size = kernel.slice_input(jnp.zeros(inputs, dtype)).shape[0]
            normal_key, chi_key = jr.split(key)
            frequencies = jr.normal(normal_key, (num_features, size), dtype)
            df = _DEGREES_OF_FREEDOM[type(kernel)]
            if df is not None:
                # A sum of df squares; the general sampler would take seconds to compile.
                chi2 = jnp.sum(jr.normal(chi_key, (num_features, df), dtype) ** 2, axis=1, keepdims=True)
                frequencies = frequencies / jnp.sqrt(chi2 / df)
            return frequencies


def _features(kernel: AbstractKernel, x: Float[Array, " Q"], directions: Float[Array, "F R"]) -> Float[Array, " G"]:
    match kernel:
        case Manifold() | Angles():
            return _features(kernel.base, kernel.features(x), directions)
        case Linear():
            return jnp.sqrt(val(kernel.variance)) * kernel.slice_input(x)
        case ArcCosine0():
            # 1 - angle / pi = 1/2 + E[sign(w'a) sign(w'b)] / 2 over Gaussian directions w.
            half = jnp.sqrt(0.5 * val(kernel.variance))
            signs = jnp.where(directions @ kernel.direction(x) > 0, 1.0, -1.0).astype(x.dtype)
            return jnp.concatenate([half[None], half * signs / jnp.sqrt(1.0 * directions.shape[0])])
        case _:
            phases = directions @ (kernel.slice_input(x) / val(kernel.lengthscale))  # type: ignore[attr-defined]
            scale = jnp.sqrt(val(kernel.variance) / directions.shape[0])  # type: ignore[attr-defined]
            return scale * jnp.concatenate([jnp.cos(phases), jnp.sin(phases)])
