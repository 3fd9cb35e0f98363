"""Adam with a learning rate for each group of parameters."""

from collections.abc import Hashable
from functools import cache
from typing import NamedTuple

import jax
import optax
from jax.flatten_util import ravel_pytree
from jax.tree_util import KeyPath
from jaxtyping import PyTree


class Rates(NamedTuple):
    """Learning rates for the groups of parameters."""

    recognition: float = 1e-2
    inducing: float = 1e-2
    """Inducing inputs and q(u)."""
    kernel: float = 1e-2
    """Kernels and mean function."""
    noise: float = 1e-2
    """Process and measurement noise."""
    emission: float = 1e-2
    """Emission matrix and offset."""

    @classmethod
    def all(cls, rate: float) -> "Rates":
        """One rate for all groups."""
        return cls(*[rate] * len(cls._fields))


@cache
def adam(
    steps: int, rates: Rates | None = None, *, final: float = 0.05, clip: float = 10.0
) -> optax.GradientTransformation:
    """Adam with cosine decay to the fraction `final`, and gradients clipped at the global norm `clip` (of the bound
    per step).

    Each group is one flat vector to the optimiser: the arithmetic is the same, but it is compiled once for each group
    and not for each of its arrays. The same settings give the same object, so that a second fit with data of the same
    shape finds its compiled step.
    """
    rates = Rates() if rates is None else rates
    groups: dict[Hashable, optax.GradientTransformation] = {
        name: flat(optax.adam(optax.cosine_decay_schedule(rate, max(steps, 1), final)))
        for name, rate in rates._asdict().items()
    }
    return optax.chain(optax.clip_by_global_norm(clip), optax.partition(groups, _group_labels))


def flat(optimiser: optax.GradientTransformation) -> optax.GradientTransformation:
    """An optimiser that sees all its arrays, which may be none, as one vector."""

    def init(params: PyTree) -> PyTree:
        return optimiser.init(ravel_pytree(params)[0])

    def update(updates: PyTree, state: PyTree, params: PyTree = None) -> tuple[PyTree, PyTree]:
        vector, restore = ravel_pytree(updates)
        moved, state = optimiser.update(vector, state, None if params is None else ravel_pytree(params)[0])
        return restore(moved), state

    return optax.GradientTransformation(init, update)


def _group_labels(tree: PyTree) -> PyTree:
    return jax.tree_util.tree_map_with_path(lambda path, _: _group(path), tree)


def _group(path: KeyPath) -> str:
    names = [str(getattr(part, "name", "")) for part in path]
    if "recognition" in names:
        return "recognition"
    if "noise" in names:
        return "noise"
    if "emission" in names:
        return "emission"
    if names and any(name in ("inducing", "q_mean", "q_chol") for name in names):
        return "inducing"
    return "kernel"
