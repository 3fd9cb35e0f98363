"""How the work on a batch of episodes is shared out: all of it in one place, or a part on each device of a mesh.

The bound is a sum over episodes minus a divergence that is counted once. Each part computes the terms of its own
episodes, and its `fraction` of what all parts know; adding up the parts gives the bound, and adding up the gradients
of the parts gives its gradient.
"""

from abc import abstractmethod
from functools import partial
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Int

T = TypeVar("T")

EPISODES = "episodes"
"""The axis of a mesh of devices over which episodes are spread."""


class AbstractShare(eqx.Module):
    """One part of the work on a batch."""

    @abstractmethod
    def part(self, batch: T) -> T:
        """The episodes of this part, of a batch that all parts hold."""

    @abstractmethod
    def positions(self, count: int) -> Int[Array, " B"]:
        """Where the `count` episodes of this part stand in the whole batch; random numbers depend on it."""

    @abstractmethod
    def fraction(self) -> float:
        """The share of this part in terms that all parts compute alike."""

    @abstractmethod
    def total(self, tree: T) -> T:
        """Sum of the arrays of a tree over all parts.

        Under a gradient, what is computed from the sum must enter the loss times `fraction`, as it is the same in all
        parts.
        """


class Unsharded(AbstractShare):
    """Everything in one place."""

    def part(self, batch: T) -> T:
        """All of it."""
        return batch

    def positions(self, count: int) -> Int[Array, " B"]:
        """In order."""
        return jnp.arange(count)

    def fraction(self) -> float:
        """One."""
        return 1.0

    def total(self, tree: T) -> T:
        """The tree itself."""
        return tree


class Sharded(AbstractShare):
    """One of `number` equal parts, within `jax.shard_map` over the axis of episodes."""

    number: int = eqx.field(static=True)

    def part(self, batch: T) -> T:
        """A slice; the last parts may hold padding."""
        filled = fill_up(batch, self.number)
        count = num_episodes(filled) // self.number
        first = lax.axis_index(EPISODES) * count
        return jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, first, count), filled)

    def positions(self, count: int) -> Int[Array, " B"]:
        """In the order of the devices."""
        return lax.axis_index(EPISODES) * count + jnp.arange(count)

    def fraction(self) -> float:
        """One over the number of parts."""
        return 1.0 / self.number

    def total(self, tree: T) -> T:
        """One all-reduce of one flat vector, however many arrays there are."""
        flat, restore = ravel_pytree(tree)
        return restore(_all_reduce(self.number, flat))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _all_reduce(number: int, flat: Array) -> Array:
    return lax.psum(flat, EPISODES)


def _forward(number: int, flat: Array) -> tuple[Array, None]:
    return lax.psum(flat, EPISODES), None


def _backward(number: int, _: None, cotangent: Array) -> tuple[Array]:
    # The transpose of an all-reduce is an all-reduce. Here all parts hold the same cotangent, so that its sum over the
    # parts is known without asking them.
    return (number * cotangent,)


_all_reduce.defvjp(_forward, _backward)


def num_episodes(batch: object) -> int:
    """The size of the leading axis that all arrays of a batch share."""
    return jax.tree.leaves(batch)[0].shape[0]


def fill_up(batch: T, multiple: int) -> T:
    """Add episodes that are all padding and weigh nothing, up to a multiple of the given number."""
    missing = -num_episodes(batch) % multiple
    return jax.tree.map(lambda leaf: jnp.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1)), batch)
