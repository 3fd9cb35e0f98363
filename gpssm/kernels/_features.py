"""Random draws of whole functions from a kernel's prior, as finite sums of random features.

A kernel has such draws once its class has registered `random_directions` and `random_features`.
"""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._by_class import by_class


@by_class
def random_directions(
    kernel: AbstractKernel, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> Float[Array, "F R"] | None:
    """What is random in the features of a kernel over `inputs` coordinates, one row each, such as frequencies; None if
    the features are not known.

    The rows should not depend on the parameters of the kernel, so that a draw can be differentiated in these.
    Features in which nothing is random have zero rows. A class says what its directions are with
    `@random_directions.register` above a function of the same arguments, the first annotated with the class.
    """
    return None


@by_class
def random_features(
    kernel: AbstractKernel, x: Float[Array, " Q"], directions: Float[Array, "F R"]
) -> Float[Array, " G"]:
    """Features f of one point with E[f(x)'f(y)] = k(x, y) over directions; there may be more or fewer than directions.

    The expectation must be exact for any number of directions. A class registers its features with
    `@random_features.register`, together with `random_directions`.
    """
    name = type(kernel).__name__
    raise TypeError(f"{name} has random directions but no features: register `random_features` for it too")


class PriorDraw(eqx.Module):
    """A function g with E[g(x) g(y)] = k(x, y) over draws; evaluating it costs one product with its features."""

    kernels: tuple[AbstractKernel, ...]
    directions: tuple[Float[Array, "_ _"], ...]
    weights: tuple[Float[Array, " _"], ...]

    @classmethod
    def of(
        cls,
        kernel: AbstractKernel,
        directions: tuple[Float[Array, "_ _"], ...],
        weights: tuple[Float[Array, " _"], ...],
    ) -> "PriorDraw":
        """From what is random in it: `directions` and `weights` of the features, for each part of the kernel."""
        return cls(_parts(kernel), directions, weights)

    def __call__(self, x: Float[Array, " Q"]) -> Float[Array, ""]:
        """The drawn function at one point."""
        parts = zip(self.kernels, self.directions, self.weights, strict=True)
        return sum((jnp.dot(random_features(k, x, d), w) for k, d, w in parts), jnp.zeros((), x.dtype))


def draw_prior(
    kernel: AbstractKernel, inputs: int, *, num_features: int, dtype: jnp.dtype, key: PRNGKeyArray
) -> PriorDraw | None:
    """Draw a function from GP(0, kernel), or None for a kernel whose random features are not known."""
    parts = _parts(kernel)
    directions, weights = [], []
    for part, part_key in zip(parts, jr.split(key, len(parts)), strict=True):
        direction_key, weight_key = jr.split(part_key)
        direction = random_directions(part, inputs, num_features=num_features, dtype=dtype, key=direction_key)
        if direction is None:
            return None
        count = random_features(part, jnp.zeros(inputs, dtype), direction).shape[0]
        directions.append(direction)
        weights.append(jr.normal(weight_key, (count,), dtype))
    return PriorDraw(parts, tuple(directions), tuple(weights))


def _parts(kernel: AbstractKernel) -> tuple[AbstractKernel, ...]:
    from gpjax.kernels import SumKernel

    return tuple(kernel.kernels) if isinstance(kernel, SumKernel) else (kernel,)
