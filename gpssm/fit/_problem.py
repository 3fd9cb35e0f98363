"""What is being maximised: a model and its inference on data, split into trained and held parts."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._model import GPSSM
from gpssm._params import trainable_mask
from gpssm._share import AbstractShare, Whole
from gpssm.data import Padded
from gpssm.inference import Bound, Paths, Variational
from gpssm.transition import SparseGP, Transitions

Freeze = Callable[[GPSSM, Variational], PyTree]
"""Names the parts to hold: `lambda model, inference: (model.emission, inference.recognition)`."""
Tree = tuple[GPSSM, Variational]


class Problem(eqx.Module):
    """The trained leaves are `split(tree)[0]`; the loss is minus the bound per time step."""

    mask: PyTree = eqx.field(static=True)
    num_steps: Float[Array, ""]
    """An array, not a number: data of the same shape but other lengths must find the compiled step."""

    @classmethod
    def of(cls, tree: Tree, data: Padded, freeze: Freeze | None) -> "Problem":
        """Decide what is trained. q(u) is held where the inference does not leave it to gradients."""
        model, inference = tree
        frozen = [] if freeze is None else [freeze(model, inference)]
        if isinstance(model.transition, SparseGP) and not inference.inducing.leaves_to_gradients():
            moments = (model.transition.q_mean, model.transition.q_chol)
            if {id(leaf) for leaf in jax.tree.leaves(moments)} & {id(leaf) for leaf in jax.tree.leaves(frozen)}:
                raise ValueError(
                    f"{type(inference.inducing).__name__}() sets q(u) itself and cannot hold it: to freeze q(u) use "
                    "Explicit(), or freeze other parts of the transition only"
                )
            frozen.append(moments)
        mask = trainable_mask(tree, frozen)
        if not any(jax.tree.leaves(mask)):
            raise ValueError("nothing to train: every parameter is frozen")
        return cls(_Hashable(mask), jnp.sum(data.valid).astype(data.y.dtype))

    def split(self, tree: Tree) -> tuple[PyTree, PyTree]:
        """Trained leaves, and the rest."""
        return eqx.partition(tree, self.mask.value)

    def loss(
        self, trained: PyTree, held: PyTree, batch: Padded, key: PRNGKeyArray, share: AbstractShare = Whole()
    ) -> tuple[Float[Array, ""], tuple[Bound, Transitions]]:
        """Minus the bound per time step (this share's part of it), with the bound and the transitions beside it."""
        model, inference = eqx.combine(trained, held)
        bound, transitions = inference.bound(model, batch, share=share, key=key)
        return -bound.total() / self.num_steps, (bound, transitions)

    def gradients(
        self, trained: PyTree, held: PyTree, batch: Padded, key: PRNGKeyArray, share: AbstractShare = Whole()
    ) -> tuple[Bound, PyTree, Transitions]:
        """The bound of the whole batch, the gradients of its loss, and the transitions of this share.

        Bounds and gradients of all shares are added up in one all-reduce.
        """
        value_and_grad = eqx.filter_value_and_grad(self.loss, has_aux=True)
        (_, (bound, transitions)), gradients = value_and_grad(trained, held, batch, key, share)
        total, gradients = share.total((bound, gradients))
        # The kernel matrices are the same in all shares, and so is what they needed.
        return eqx.tree_at(lambda b: b.jitter, total, bound.jitter), gradients, transitions


class _Hashable:
    """A tree of booleans as a static field."""

    def __init__(self, value: PyTree):
        self.value = value
        self._key = (tuple(jax.tree.leaves(value)), jax.tree.structure(value))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and self._key == other._key


def finish(tree: Tree, data: Padded, *, key: PRNGKeyArray, paths: int = 32, rows: int = 200_000) -> tuple[Tree, bool]:
    """Store the q(u) that predictions use, from more paths than a training step takes (as `rows` of memory allow).

    Says whether that worked; if not, the tree is the old one.
    """
    model, inference = tree
    averaged = inference
    if isinstance(inference.expectation, Paths):
        affordable = max(2, min(paths, rows // data.valid.size) // 2 * 2)
        rule = Paths(max(affordable, inference.expectation.num), antithetic=inference.expectation.antithetic)
        averaged = eqx.tree_at(lambda i: i.expectation, inference, rule)
    transition = _finish(model, averaged, data, key)
    if not all(jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(transition, eqx.is_inexact_array))):
        return tree, False
    return (eqx.tree_at(lambda m: m.transition, model, transition), inference), True


@eqx.filter_jit
def _finish(model: GPSSM, inference: Variational, data: Padded, key: PRNGKeyArray):
    _, transitions = inference.bound(model, data, key=key)
    return inference.inducing.finish(model.transition, transitions)
