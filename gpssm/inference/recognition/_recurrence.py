"""Two recurrences, one in each direction, in one loop.

The derivative is written out. A cell works on each hidden unit by itself once the matrix products are made, so that
its derivatives are one number for each unit, step and gate: they are computed for all steps at once, and the backward
loop only carries the adjoint of the hidden state. Gates are separate arrays, because slices of one array inside a
loop are not vectorised. Gradients of the weights are ordinary products over all steps and, under `vmap`, over all
episodes; a rule of the recurrence itself would have to make one product for each episode.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

Gates = tuple[Array, ...]
"""One array for each gate."""
Combine = Callable[[Array, Gates, Gates], Array]
"""(hidden, recurrent part, input part) -> next hidden, elementwise."""
Pair = tuple[Array, Array]
GatesPair = tuple[Gates, Gates]


def recur(
    combine: Combine,
    weights: GatesPair,
    biases: GatesPair,
    projected: GatesPair,
    valid: tuple[Bool[Array, " T"], Bool[Array, " T"]],
) -> tuple[Float[Array, "T H"], Float[Array, "T H"]]:
    """h' = combine(h, h weight + bias, projected) from h = 0, for both members; steps that are not valid carry h
    through. Each gate has a weight [H, H], a bias [H] and its projected inputs [T, H]."""
    fixed_weights, fixed_biases, fixed_projected = jax.tree.map(lax.stop_gradient, (weights, biases, projected))
    hidden = _forward(combine, fixed_weights, fixed_biases, fixed_projected, valid)
    before = jax.tree.map(_before, hidden)
    recurrent = tuple(map(_recurrent, before, weights, biases))
    return _with_derivative(combine, hidden, fixed_weights, before, recurrent, projected, valid)


def _recurrent(hidden: Array, weights: Gates, biases: Gates) -> Gates:
    return tuple(hidden @ weight + bias[None, :] for weight, bias in zip(weights, biases, strict=True))


def _before(hidden: Float[Array, "T H"]) -> Float[Array, "T H"]:
    return jnp.concatenate([jnp.zeros_like(hidden[:1]), hidden[:-1]])


def _forward(combine: Combine, weights: GatesPair, biases: GatesPair, projected: GatesPair, valid: Pair) -> Pair:
    def one(hidden: Array, weights: Gates, biases: Gates, inputs: Gates, keep: Array) -> Array:
        recurrent = tuple(hidden @ weight + bias for weight, bias in zip(weights, biases, strict=True))
        return jnp.where(keep, combine(hidden, recurrent, inputs), hidden)

    def body(carry: Pair, now: tuple[GatesPair, Pair]) -> tuple[Pair, Pair]:
        first, second = (one(*args) for args in zip(carry, weights, biases, *now, strict=True))
        return (first, second), (first, second)

    first, second = (jnp.zeros(gates[0].shape[0], gates[0].dtype) for gates in weights)
    return lax.scan(body, (first, second), (projected, valid))[1]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _with_derivative(
    combine: Combine,
    hidden: Pair,
    weights: GatesPair,
    before: Pair,
    recurrent: GatesPair,
    projected: GatesPair,
    valid: Pair,
) -> Pair:
    """The hidden states, made to depend on the two parts of each step; the rest is seen as constant."""
    return hidden


def _derivative_fwd(combine: Combine, hidden: Pair, *saved):
    return hidden, saved


def _derivative_bwd(combine: Combine, saved: tuple, cotangents: Pair):
    weights, before, recurrent, projected, valid = saved
    slopes = [_slopes(combine, *args) for args in zip(before, recurrent, projected, valid, strict=True)]
    to_hidden, to_recurrent, to_inputs = zip(*slopes, strict=True)
    adjoints = _adjoints(weights, to_hidden, to_recurrent, cotangents)
    return None, None, None, *(_times(adjoints, gates) for gates in (to_recurrent, to_inputs)), None


_with_derivative.defvjp(_derivative_fwd, _derivative_bwd)


def _times(adjoints: Pair, slopes: GatesPair) -> GatesPair:
    first, second = (tuple(a * s for s in gates) for a, gates in zip(adjoints, slopes, strict=True))
    return first, second


def _slopes(combine: Combine, before: Array, recurrent: Gates, inputs: Gates, valid: Array) -> tuple:
    """Derivatives of the next hidden state by the present one and by both parts; a step that does not count copies."""
    _, pull = jax.vjp(combine, before, recurrent, inputs)
    to_hidden, to_recurrent, to_inputs = pull(jnp.ones_like(before))
    keep = valid[:, None]
    masked = jax.tree.map(lambda slope: jnp.where(keep, slope, 0.0), (to_recurrent, to_inputs))
    return jnp.where(keep, to_hidden, 1.0), *masked


@jax.custom_vjp
def _adjoints(weights: GatesPair, to_hidden: Pair, to_recurrent: GatesPair, cotangents: Pair) -> Pair:
    """Derivatives of what is differentiated by the hidden state after each step."""

    def one(adjoint: Array, weights: Gates, to_hidden: Array, to_recurrent: Gates) -> Array:
        products = [(adjoint * slope) @ weight.T for slope, weight in zip(to_recurrent, weights, strict=True)]
        return sum(products, adjoint * to_hidden)

    def body(carry: Pair, now: tuple[Pair, GatesPair, Pair]) -> tuple[Pair, Pair]:
        *slopes, cotangent = now
        first, second = (a + c for a, c in zip(carry, cotangent, strict=True))
        earlier = tuple(one(*args) for args in zip((first, second), weights, *slopes, strict=True))
        return (earlier[0], earlier[1]), (first, second)

    first, second = (jnp.zeros_like(c[0]) for c in cotangents)
    return lax.scan(body, (first, second), (to_hidden, to_recurrent, cotangents), reverse=True)[1]


def _adjoints_fwd(*args):
    # Constants in `recur` would make a second derivative wrong without a word.
    raise TypeError("the recurrence can be differentiated once only")


_adjoints.defvjp(_adjoints_fwd, lambda saved, cotangents: (None,) * 4)
