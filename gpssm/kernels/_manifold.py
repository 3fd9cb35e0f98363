"""The manifold GP kernel: any kernel on the features of a small tanh network."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from gpjax.kernels import AbstractKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.kernels._evaluate import cross_covariance, diagonal
from gpssm.kernels._features import random_directions, random_features


class Manifold(AbstractKernel):
    """k(x, y) = base(h(x), h(y)), h a chain of tanh layers of the given widths.

    `cross_covariance` of whole matrices maps each point once and not once per pair.
    """

    # Keyword fields, because those of the base class have defaults.
    base: AbstractKernel = eqx.field(kw_only=True)
    weights: tuple[Float[Array, "I O"], ...] = eqx.field(kw_only=True)
    biases: tuple[Float[Array, " O"], ...] = eqx.field(kw_only=True)
    name: ClassVar[str] = "Manifold"

    def __init__(
        self,
        base: AbstractKernel,
        *,
        inputs: int,
        widths: Sequence[int] = (3, 2, 3, 2, 3),
        gain: float = 1.5,
        key: PRNGKeyArray,
    ):
        if not widths:
            raise ValueError("a manifold kernel needs at least one layer: give widths such as (3, 2, 3)")
        sizes = (inputs, *widths)
        keys = jr.split(key, len(widths))
        pairs = list(pairwise(sizes))
        # A gain above one keeps a deep chain of tanh layers from flattening the signal at the start.
        self.weights = tuple(
            gain * jr.normal(k, pair) / jnp.sqrt(float(pair[0])) for k, pair in zip(keys, pairs, strict=True)
        )
        self.biases = tuple(jnp.zeros(o) for _, o in pairs)
        self.base = base
        AbstractKernel.__init__(self)

    def features(self, x: Float[Array, "*B Q"]) -> Float[Array, "*B R"]:
        """The point on the learnt manifold."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = jnp.tanh(jnp.tensordot(x, weight, axes=1) + jnp.reshape(bias, (1,) * (x.ndim - 1) + (-1,)))
        return x

    def __call__(self, x: Float[Array, " Q"], y: Float[Array, " Q"]) -> Float[Array, ""]:
        """The kernel of two points."""
        return jnp.asarray(self.base(self.features(x), self.features(y)))


@cross_covariance.register
def _matrix(kernel: Manifold, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    return cross_covariance(kernel.base, kernel.features(x), kernel.features(y))


@diagonal.register
def _variances(kernel: Manifold, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    return diagonal(kernel.base, kernel.features(x))


@random_directions.register
def _directions(
    kernel: Manifold, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> Float[Array, "F R"] | None:
    size = kernel.biases[-1].shape[0]
    return random_directions(kernel.base, size, num_features=num_features, dtype=dtype, key=key)


@random_features.register
def _features(kernel: Manifold, x: Float[Array, " Q"], directions: Float[Array, "F R"]) -> Float[Array, " G"]:
    return random_features(kernel.base, kernel.features(x), directions)
