"""Kernels over angles: what a full turn away looks the same."""

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from gpjax.kernels import AbstractKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._waves import sine_and_cosine
from gpssm.kernels._evaluate import cross_covariance, diagonal
from gpssm.kernels._features import random_directions, random_features


class Angles(AbstractKernel):
    """k(x, y) = base(h(x), h(y)), where h replaces some inputs by their sine and cosine, appended at the end.

    `radians` says how many radians one unit of each of these inputs is: the standard deviation of the channel where a
    model works in standardised units. A base kernel with a length-scale per input needs one more for every angle.
    """

    # Keyword fields, because those of the base class have defaults.
    base: AbstractKernel = eqx.field(kw_only=True)
    inputs: tuple[int, ...] = eqx.field(kw_only=True, static=True)
    radians: tuple[float, ...] = eqx.field(kw_only=True, static=True)
    name: ClassVar[str] = "Angles"

    def __init__(self, base: AbstractKernel, *, inputs: Sequence[int], radians: Sequence[float]):
        if not inputs or len(set(inputs)) != len(inputs) or min(inputs) < 0:
            raise ValueError(f"inputs={tuple(inputs)}: name at least one input, each once, counted from 0")
        if len(radians) != len(inputs) or not all(np.isfinite(r) and r > 0 for r in radians):
            raise ValueError(f"radians={tuple(radians)}: give one positive number for each of {len(inputs)} inputs")
        self.base = base
        self.inputs = tuple(int(i) for i in inputs)
        self.radians = tuple(float(r) for r in radians)
        AbstractKernel.__init__(self)

    def features(self, x: Float[Array, "*B Q"]) -> Float[Array, "*B R"]:
        """The inputs that are no angles, then sines, then cosines."""
        size = x.shape[-1]
        if max(self.inputs) >= size:
            raise ValueError(f"inputs={self.inputs} of an Angles kernel, but points have {size} coordinates")
        others = [q for q in range(size) if q not in self.inputs]
        turned = [sine_and_cosine(radians * x[..., q]) for q, radians in zip(self.inputs, self.radians, strict=True)]
        columns = [x[..., q] for q in others] + [sine for sine, _ in turned] + [cosine for _, cosine in turned]
        return jnp.stack(columns, axis=-1)

    def __call__(self, x: Float[Array, " Q"], y: Float[Array, " Q"]) -> Float[Array, ""]:
        """The kernel of two points."""
        return jnp.asarray(self.base(self.features(x), self.features(y)))


# Matrices turn each point once, and not once per pair.
@cross_covariance.register
def _matrix(kernel: Angles, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    return cross_covariance(kernel.base, kernel.features(x), kernel.features(y))


@diagonal.register
def _variances(kernel: Angles, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    return diagonal(kernel.base, kernel.features(x))


@random_directions.register
def _directions(
    kernel: Angles, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> Float[Array, "F R"] | None:
    size = inputs + len(kernel.inputs)
    return random_directions(kernel.base, size, num_features=num_features, dtype=dtype, key=key)


@random_features.register
def _features(kernel: Angles, x: Float[Array, " Q"], directions: Float[Array, "F R"]) -> Float[Array, " G"]:
    return random_features(kernel.base, kernel.features(x), directions)
