"""Long records and many: how marginal inference takes them in parts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from gpssm.models import Batch


class Parts(eqx.Module):
    """Records cut into pieces that are filtered side by side, and pieces taken some at a time.

    A filter takes one step after the other, so that a record ten times as long takes ten times as long on any number of
    cores. What it knows of the state, though, it has from the last few steps: a piece that begins so much earlier, and
    is not judged there, ends as the whole record would. Nothing is approximated by `at_once`: the gradient computes
    anew what was not kept, so that memory is that of so many pieces.
    """

    steps: int | None = eqx.field(static=True, default=None)
    """Of a piece that are judged; None leaves records whole."""
    warm_up: int = eqx.field(static=True, default=50)
    """Steps before it that are filtered and not judged."""
    at_once: int | None = eqx.field(static=True, default=None)
    """Pieces side by side; None takes all."""

    def __check_init__(self) -> None:
        for name, least in (("steps", 1), ("warm_up", 0), ("at_once", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name}={value}: need at least {least}")

    def cut(self, episodes: Batch, reads: int) -> "Pieces":
        """The pieces of a batch; a free run reads up to where it is judged, and at least `reads` steps of a record."""
        length = episodes.valid.shape[1]
        if self.steps is None or self.steps >= length:
            read = jnp.broadcast_to(jnp.arange(length)[None] < reads, episodes.valid.shape)
            return Pieces(episodes, episodes.valid, read)
        starts = np.arange(0, length, self.steps)
        steps = starts[:, None] - self.warm_up + np.arange(self.warm_up + self.steps)
        inside, kept = (steps >= 0) & (steps < length), np.clip(steps, 0, length - 1)

        def pieces(values: Array) -> Array:
            found = values[:, kept]
            # Written out: of a record without inputs there is nothing to count.
            return jnp.reshape(found, (found.shape[0] * found.shape[1], *found.shape[2:]))

        valid = pieces(episodes.valid) & np.tile(inside, (len(episodes.weight), 1))
        batch = Batch(
            y=pieces(episodes.y),
            u=pieces(episodes.u),
            observed=pieces(episodes.observed) & valid[..., None],
            valid=valid,
            index=jnp.repeat(episodes.index, len(starts)),
            weight=jnp.repeat(episodes.weight, len(starts)),
        )
        judged = np.arange(self.warm_up + self.steps) >= self.warm_up
        read = np.tile(~judged[None] | (steps < reads), (len(episodes.weight), 1))
        return Pieces(batch, valid & judged[None], jnp.asarray(read))


class Pieces(eqx.Module):
    """What is filtered side by side, and which steps of it count."""

    batch: Batch
    judged: Bool[Array, "N T"]
    read: Bool[Array, "N T"]
    """By a free run: later outputs are predicted only."""

    def in_turn(self, count: int) -> "Pieces":
        """With one more axis in front, of groups of at most so many, all of one size; what fills up the last one counts
        for nothing."""
        groups = -(-len(self.batch.weight) // count)
        size = -(-len(self.batch.weight) // groups)
        missing = groups * size - len(self.batch.weight)

        def grouped(leaf: Array) -> Array:
            filled = jnp.concatenate([leaf, jnp.zeros((missing, *leaf.shape[1:]), leaf.dtype)])
            return jnp.reshape(filled, (groups, size, *leaf.shape[1:]))

        return jax.tree.map(grouped, self)
