"""Which episodes a training step sees. Everything happens inside the compiled step, from its key."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int, PRNGKeyArray

from gpssm.models._batch import Batch


class AbstractBatches(eqx.Module):
    """A rule for drawing training batches; the weights of a batch make its bound an estimate of the whole one."""

    @abstractmethod
    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        """A batch with weights."""

    @abstractmethod
    def is_full(self) -> bool:
        """Whether each batch holds all the data."""

    @abstractmethod
    def keeps_episodes_whole(self) -> bool:
        """Whether every episode is shown from its first step on."""


class FullBatch(AbstractBatches):
    """All episodes in each step. Needs no key; the one given is not used."""

    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        """The data as they are."""
        return data

    def is_full(self) -> bool:
        return True

    def keeps_episodes_whole(self) -> bool:
        return True


class Minibatches(AbstractBatches):
    """A random subset of the episodes in each step, `size` of them; the bound stays unbiased."""

    size: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        """A batch holds something."""
        if self.size < 1:
            raise ValueError(f"size={self.size}: a batch needs at least one episode")

    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        """`size` different episodes, each standing for population / size."""
        population = data.valid.shape[0]
        size = min(self.size, population)
        chosen = jr.choice(key, population, (size,), replace=False)
        batch = jax.tree.map(lambda leaf: leaf[chosen], data)
        return eqx.tree_at(lambda b: b.weight, batch, batch.weight * (population / size))

    def is_full(self) -> bool:
        return False

    def keeps_episodes_whole(self) -> bool:
        return True


class Windows(AbstractBatches):
    """Random windows of long records, each treated as an episode of its own: bounded memory, at the price of fresh
    starts.

    `length` is the number of steps of a window, `size` the number of windows in a batch. A window's first state has
    the prior N(0, I) although it continues a record; with windows much longer than the system's memory the effect is
    small.

    Windows may begin before a record and end after it, and are cut there, because windows that stay inside show the
    ends of a record too seldom. So every step is as likely to be seen as any other, and with the weights of the
    windows counts once on average. A record that fits into a window is always shown whole.
    """

    length: int = eqx.field(static=True)
    size: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        """A window holds a transition, and a batch holds something."""
        if self.length < 2 or self.size < 1:
            raise ValueError(f"length={self.length}, size={self.size}: need at least two steps and at least one window")

    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        """`size` windows, each at one of the positions at which it shows a part of its record."""
        lengths = jnp.sum(data.valid, axis=1)
        length = min(self.length, data.valid.shape[1])
        first, positions, copies = window_positions(lengths, length)
        episode_key, start_key = jr.split(key)
        needed = jnp.where(lengths > 0, positions / copies, 0.0)
        episode = jr.choice(episode_key, lengths.shape[0], (self.size,), p=needed / jnp.sum(needed))
        start = first[episode] + jr.randint(start_key, (self.size,), 0, positions[episode])
        batch = jax.vmap(lambda e, s: cut_window(jax.tree.map(lambda leaf: leaf[e], data), s, length))(episode, start)
        stands_for = (jnp.sum(needed) / self.size).astype(data.weight.dtype)
        index = episode.astype(data.index.dtype)
        return eqx.tree_at(lambda b: (b.index, b.weight), batch, (index, batch.weight * stands_for))

    def is_full(self) -> bool:
        return False

    def keeps_episodes_whole(self) -> bool:
        return False


def window_positions(lengths: Int[Array, " B"], length: int) -> tuple[Array, Array, Array]:
    """For each record the first position of a window, the number of positions, and how many of them show a given step.

    The last of these is the same for every step of a record, which is what makes windows fair.
    """
    whole = lengths <= length
    first = jnp.where(whole, 0, 1 - length)
    positions = jnp.where(whole, 1, lengths + length - 1)
    return first, positions, jnp.where(whole, 1, length)


def cut_window(record: Batch, start: Int[Array, ""], length: int) -> Batch:
    """What a window that begins at `start`, which may be negative, shows of one record; what it lacks is padding."""
    begin = jnp.maximum(start, 0)
    steps = begin + jnp.arange(length)
    valid = record.valid.at[steps].get(mode="fill", fill_value=False) & (steps < start + length)

    def cut(leaf: Array) -> Array:
        shown = leaf.at[steps].get(mode="fill", fill_value=0)
        return jnp.where(valid.reshape(-1, *[1] * (leaf.ndim - 1)), shown, jnp.zeros((), leaf.dtype))

    sequences = (cut(record.y), cut(record.u), cut(record.observed), valid)
    return eqx.tree_at(lambda b: (b.y, b.u, b.observed, b.valid), record, sequences)
