"""Two recurrences, one in each direction, in one loop.

The derivative is written out: the backward loop only carries the adjoint of the hidden state, and the gradients of
the weights are one matrix product each after it, instead of being accumulated inside.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

Combine = Callable[[Float[Array, " H"], Float[Array, " G"], Float[Array, " G"]], Float[Array, " H"]]
"""(hidden, recurrent part, input part) -> next hidden, elementwise."""
Pair = tuple[Array, Array]


def _recur(
    combine: Combine, weights: Pair, biases: Pair, projected: Pair, valid: tuple[Bool[Array, " T"], Bool[Array, " T"]]
) -> tuple[Float[Array, "T H"], Float[Array, "T H"]]:
    """h' = combine(h, h weight + bias, projected) from h = 0, for both members; steps that are not valid carry h
    through."""
    return _forward(combine, weights, biases, projected, valid)[0]


recur = jax.custom_vjp(_recur, nondiff_argnums=(0,))


def _forward(combine: Combine, weights: Pair, biases: Pair, projected: Pair, valid: Pair) -> tuple[Pair, Pair]:
    def one(hidden: Array, weight: Array, bias: Array, inputs: Array, keep: Array) -> tuple[Array, Array]:
        recurrent = hidden @ weight + bias
        return jnp.where(keep, combine(hidden, recurrent, inputs), hidden), recurrent

    def body(carry: Pair, now: tuple[Pair, Pair]) -> tuple[Pair, tuple[Pair, Pair]]:
        steps = [one(*args) for args in zip(carry, weights, biases, *now, strict=True)]
        (first, first_recurrent), (second, second_recurrent) = steps
        return (first, second), ((first, second), (first_recurrent, second_recurrent))

    first, second = (jnp.zeros(weight.shape[0], weight.dtype) for weight in weights)
    _, (hidden, recurrent) = lax.scan(body, (first, second), (projected, valid))
    return hidden, recurrent


def _recur_fwd(combine: Combine, weights: Pair, biases: Pair, projected: Pair, valid: Pair):
    hidden, recurrent = _forward(combine, weights, biases, projected, valid)
    before = tuple(jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]]) for h in hidden)
    return hidden, (weights, before, recurrent, projected, valid)


def _recur_bwd(combine: Combine, saved: tuple, cotangents: Pair):
    weights, before, recurrent, projected, valid = saved

    def one(adjoint: Array, weight: Array, h: Array, rec: Array, inputs: Array, keep: Array, cotangent: Array):
        adjoint = adjoint + cotangent
        _, pull = jax.vjp(combine, h, rec, inputs)
        to_hidden, to_recurrent, to_inputs = pull(adjoint)
        to_recurrent, to_inputs = jnp.where(keep, to_recurrent, 0.0), jnp.where(keep, to_inputs, 0.0)
        return jnp.where(keep, to_hidden + to_recurrent @ weight.T, adjoint), (to_recurrent, to_inputs)

    def body(carry: Pair, now: tuple) -> tuple[Pair, tuple]:
        steps = [one(*args) for args in zip(carry, weights, *now, strict=True)]
        return (steps[0][0], steps[1][0]), (steps[0][1], steps[1][1])

    first, second = (jnp.zeros_like(h[0]) for h in before)
    _, grads = lax.scan(body, (first, second), (before, recurrent, projected, valid, cotangents), reverse=True)
    to_weights = tuple(h.T @ to_recurrent for h, (to_recurrent, _) in zip(before, grads, strict=True))
    to_biases = tuple(to_recurrent.sum(axis=0) for to_recurrent, _ in grads)
    return to_weights, to_biases, tuple(to_inputs for _, to_inputs in grads), None


recur.defvjp(_recur_fwd, _recur_bwd)
