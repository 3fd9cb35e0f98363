"""The arc-cosine kernel of order 0, with finite gradients everywhere."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from gpjax.kernels import AbstractKernel
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from gpssm._core._params import Positive, val
from gpssm.kernels._features import random_directions, random_features


class ArcCosine0(AbstractKernel):
    """k(x, y) = variance (1 - angle / pi), the angle between (x, 1) and (y, 1) after weighting: an infinite layer of
    steps.

    The angle is 2 atan2(|a - b|, |a + b|) of the unit vectors a and b. Unlike the arc-cosine of their inner product
    this loses no digits near coincident points and its gradient stays bounded there, in single precision too.
    """

    # Keyword fields, because those of the base class have defaults.
    variance: Positive = eqx.field(kw_only=True)
    weight_variance: Positive = eqx.field(kw_only=True)
    bias_variance: Positive = eqx.field(kw_only=True)
    name: ClassVar[str] = "ArcCosine0"

    def __init__(
        self,
        *,
        variance: ArrayLike = 1.0,
        weight_variance: ArrayLike = 1.0,
        bias_variance: ArrayLike = 1.0,
        active_dims: list[int] | slice | None = None,
    ):
        self.variance = Positive.of(variance)
        self.weight_variance = Positive.of(weight_variance)
        self.bias_variance = Positive.of(bias_variance)
        AbstractKernel.__init__(self, active_dims=active_dims)

    def direction(self, x: Float[Array, " Q"]) -> Float[Array, " R"]:
        """The unit vector whose angle to another's is what the kernel sees."""
        weighted = jnp.sqrt(val(self.weight_variance)) * jnp.asarray(self.slice_input(x))
        augmented = jnp.concatenate([weighted, jnp.sqrt(val(self.bias_variance))[None]])
        return augmented / jnp.sqrt(jnp.sum(augmented**2))

    def __call__(self, x: Float[Array, " Q"], y: Float[Array, " Q"]) -> Float[Array, ""]:
        """The kernel of two points."""
        a, b = self.direction(x), self.direction(y)
        angle = 2.0 * jnp.arctan2(_norm(a - b), _norm(a + b))
        return val(self.variance) * (1.0 - angle / jnp.pi)


def _norm(x: Float[Array, " R"]) -> Float[Array, ""]:
    # Compiled code may compute one direction twice and round it in two ways. What is left of the difference must count
    # as zero: the gradient of the root does not depend on its size. It is at most a few units in the last place.
    squares = jnp.sum(x**2)
    is_zero = squares <= (16.0 * jnp.finfo(x.dtype).eps) ** 2
    return jnp.where(is_zero, 0.0, jnp.sqrt(jnp.where(is_zero, 1.0, squares)))


@random_directions.register
def _directions(
    kernel: ArcCosine0, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> Float[Array, "F R"]:
    size = kernel.direction(jnp.zeros(inputs, dtype)).shape[0]
    return jr.normal(key, (num_features, size), dtype)


@random_features.register
def _features(kernel: ArcCosine0, x: Float[Array, " Q"], directions: Float[Array, "F R"]) -> Float[Array, " G"]:
    # 1 - angle / pi = 1/2 + E[sign(w'a) sign(w'b)] / 2 over Gaussian directions w.
    half = jnp.sqrt(0.5 * val(kernel.variance))
    signs = jnp.where(directions @ kernel.direction(x) > 0, 1.0, -1.0).astype(x.dtype)
    return jnp.concatenate([half[None], half * signs / jnp.sqrt(1.0 * directions.shape[0])])
