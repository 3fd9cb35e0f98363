"""What is being maximised: a model and its inference on data, split into trained and held parts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, PRNGKeyArray, PyTree

from gpssm._core._compile import compile_well
from gpssm._core._params import cast, trainable_mask
from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.inference import AbstractInference, Bound
from gpssm.models import GPSSM, Batch

Freeze = Callable[[GPSSM, Any], PyTree]
"""Names the parts to hold: `lambda model, inference: (model.emission, inference.recognition)`."""
Tree = tuple[GPSSM, AbstractInference]


@dataclass(frozen=True)
class Training:
    """What an optimiser is given beside the start: the data, and what to hold and to watch."""

    data: Batch
    held_out: Batch | None = None
    """Watched, never trained on."""
    freeze: Freeze | None = None


class Problem(eqx.Module):
    """The trained leaves are `split(tree)[0]`; the loss is minus the bound per time step."""

    mask: PyTree = eqx.field(static=True)
    num_steps: Float[Array, ""]
    """An array, not a number: data of the same shape but other lengths must find the compiled step."""

    @classmethod
    def of(cls, tree: Tree, data: Batch, freeze: Freeze | None) -> "Problem":
        """Decide what is trained. What the inference sets itself is held."""
        model, inference = tree
        frozen = [] if freeze is None else [freeze(model, inference)]
        held = inference.held(model)
        if {id(leaf) for leaf in jax.tree.leaves(held)} & {id(leaf) for leaf in jax.tree.leaves(frozen)}:
            raise ValueError(
                "the inference sets q(u) itself and cannot hold it: to freeze q(u) use Explicit(), or freeze other "
                "parts of the transition only"
            )
        mask = trainable_mask(tree, [*frozen, held])
        if not any(jax.tree.leaves(mask)):
            raise ValueError("nothing to train: every parameter is frozen")
        return cls(_Hashable(mask), jnp.asarray(np.sum(np.asarray(data.valid)), data.y.dtype))

    def split(self, tree: Tree) -> tuple[PyTree, PyTree]:
        """Trained leaves, and the rest."""
        return eqx.partition(tree, self.mask.value)

    def loss(
        self, trained: PyTree, held: PyTree, batch: Batch, key: PRNGKeyArray, share: AbstractShare = Unsharded()
    ) -> tuple[Float[Array, ""], tuple[Bound, Any]]:
        """Minus the bound per time step (this share's part of it), with the bound and what came with it."""
        model, inference = eqx.combine(trained, held)
        bound, told = inference.bound(model, batch, share=share, key=key)
        return -bound.total() / self.num_steps, (bound, told)

    def gradients(
        self, trained: PyTree, held: PyTree, batch: Batch, key: PRNGKeyArray, share: AbstractShare = Unsharded()
    ) -> tuple[Bound, PyTree, Any]:
        """The bound of the whole batch, the gradients of its loss, and what the inference told of this share.

        Bounds and gradients of all shares are added up in one all-reduce.
        """
        value_and_grad = eqx.filter_value_and_grad(self.loss, has_aux=True)
        (_, (bound, told)), gradients = value_and_grad(trained, held, batch, key, share)
        total, gradients = share.total((bound, gradients))
        # The kernel matrices are the same in all shares, and so is what they needed.
        return eqx.tree_at(lambda b: b.jitter, total, bound.jitter), gradients, told


@dataclass(frozen=True, eq=False)
class _Hashable:
    """A tree of booleans as a static field."""

    value: PyTree

    @cached_property
    def _key(self) -> tuple[tuple[Any, ...], Any]:
        return tuple(jax.tree.leaves(self.value)), jax.tree.structure(self.value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and self._key == other._key


def prepare(tree: Tree, dtype: DTypeLike) -> Tree:
    """One precision and strong types throughout, so that a second call does not compile again."""
    return cast(tree, dtype)


def finish(tree: Tree, data: Batch, *, key: PRNGKeyArray) -> tuple[Tree, bool]:
    """Store the posterior over the function that predictions use.

    Says whether that worked; if not, the tree is the old one.
    """
    model, inference = tree
    finished = inference.finish(model, data, key=key)
    leaves = jax.tree.leaves(eqx.filter(finished, eqx.is_inexact_array))
    # By NumPy: for JAX each shape would be a program to compile.
    if not all(np.isfinite(np.asarray(leaf)).all() for leaf in leaves):
        return tree, False
    return (finished, inference), True


def held_out_bound(tree: Tree, held_out: Batch, *, key: PRNGKeyArray) -> float:
    """Bound per time step on episodes that were not trained on, without what is counted once, which training paid."""
    model, inference = tree
    watching = inference.for_new_records()
    assert watching is not None
    return float(_held_out_bound(model, watching, held_out, key))


@compile_well
def _held_out_bound(model: GPSSM, inference: AbstractInference, data: Batch, key: PRNGKeyArray) -> Float[Array, ""]:
    bound, _ = inference.bound(model, data, key=key)
    return bound.of_episodes() / jnp.sum(data.valid)
