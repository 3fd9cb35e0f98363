"""Which episodes a training step sees. Everything happens inside the compiled step, from its key."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, PRNGKeyArray

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
    """A random subset of the episodes in each step; the bound stays unbiased."""

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

    A window's first state has the prior N(0, I) although it continues a record; with windows much longer than the
    system's memory the effect is small. Records are drawn so that each contributes steps in proportion to its length.
    Weights are the number of steps in all records over the steps in the batch.
    """

    length: int = eqx.field(static=True)
    size: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        """A window holds a transition, and a batch holds something."""
        if self.length < 2 or self.size < 1:
            raise ValueError(f"length={self.length}, size={self.size}: need at least two steps and at least one window")

    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        """`size` windows at uniform positions within their records."""
        lengths = jnp.sum(data.valid, axis=1)
        length = min(self.length, data.valid.shape[1])
        episode_key, start_key = jr.split(key)
        # A record shorter than the window shows fewer steps whenever it is drawn, and so has to be drawn more often.
        share = lengths / jnp.maximum(jnp.minimum(lengths, length), 1)
        episode = jr.choice(episode_key, lengths.shape[0], (self.size,), p=share / jnp.sum(share))
        start = jr.randint(start_key, (self.size,), 0, jnp.maximum(lengths - length, 0)[episode] + 1)

        def cut(leaf: Array) -> Array:
            return jax.vmap(lambda e, s: lax.dynamic_slice_in_dim(leaf[e], s, length, axis=0))(episode, start)

        valid = cut(data.valid)
        weight = (jnp.sum(lengths) / jnp.sum(valid)).astype(data.weight.dtype)
        return Batch(
            y=cut(data.y),
            u=cut(data.u),
            observed=cut(data.observed),
            valid=valid,
            index=episode.astype(data.index.dtype),
            weight=data.weight[episode] * weight,
        )

    def is_full(self) -> bool:
        return False

    def keeps_episodes_whole(self) -> bool:
        return False
