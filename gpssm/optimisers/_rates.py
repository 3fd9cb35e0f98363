"""Adam with a learning rate for each group of parameters."""

from collections.abc import Hashable
from functools import cache
from typing import NamedTuple

import jax
import optax
from jax.tree_util import KeyPath
from jaxtyping import PyTree


class Rates(NamedTuple):
    """Learning rates for the groups of parameters."""

    recognition: float = 1e-2
    """The recognition network, and all other parameters of the inference."""
    inducing: float = 1e-2
    """Inducing inputs and q(u)."""
    kernel: float = 1e-2
    """Kernels and mean function."""
    noise: float = 1e-2
    """Process and measurement noise."""
    emission: float = 1e-2
    """Emission matrix and offset."""
    other: float = 1e-2
    """Parameters of a transition of your own that none of these words describes."""

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

    The same settings give the same object, so that a second fit with data of the same shape finds its compiled step.
    """
    rates = Rates() if rates is None else rates
    groups: dict[Hashable, optax.GradientTransformation] = {
        name: optax.adam(optax.cosine_decay_schedule(rate, max(steps, 1), final))
        for name, rate in rates._asdict().items()
    }
    return optax.chain(optax.clip_by_global_norm(clip), optax.partition(groups, _group_labels))


def _group_labels(tree: PyTree) -> PyTree:
    return jax.tree_util.tree_map_with_path(lambda path, _: _group(path), tree)


def unknown_parameters(trained: PyTree) -> list[str]:
    """Names of the trained parameters that belong to no known group."""
    placed = jax.tree_util.tree_leaves_with_path(trained)
    return [jax.tree_util.keystr(path) for path, _ in placed if _group(path) == "other"]


def _group(path: KeyPath) -> str:
    """The group of a leaf of (model, inference), told by its place."""
    part, *inner = path
    names = [str(getattr(key, "name", "")) for key in inner]
    if getattr(part, "idx", None) == 1:
        return "recognition"
    if "noise" in names:
        return "noise"
    if "emission" in names:
        return "emission"
    if any(name in ("inducing", "q_mean", "q_chol") for name in names):
        return "inducing"
    if any(name in ("kernels", "mean") for name in names):
        return "kernel"
    return "other"
