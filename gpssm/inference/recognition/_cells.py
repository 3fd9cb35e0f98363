"""Recurrent cells. The input's part of a step is computed for all steps at once, before the loop."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm.inference.recognition._recurrence import Gates, recur


class AbstractCell(eqx.Module):
    """One direction of a recurrent network: h' = combine(h, h recurrent + recurrent_bias, inputs input + bias).

    The G columns of the weights are as many blocks of H as the cell has gates; `combine` sees one array for each gate
    and works on each hidden unit by itself.
    """

    recurrent: eqx.AbstractVar[Float[Array, "H G"]]
    recurrent_bias: eqx.AbstractVar[Float[Array, " G"]]
    input: eqx.AbstractVar[Float[Array, "I G"]]
    bias: eqx.AbstractVar[Float[Array, " G"]]

    @staticmethod
    @abstractmethod
    def combine(hidden: Float[Array, "..."], recurrent: Gates, projected: Gates) -> Float[Array, "..."]:
        """The next hidden state from its two parts, without further parameters."""

    @classmethod
    @abstractmethod
    def create(cls, inputs: int, hidden: int, *, key: PRNGKeyArray) -> "AbstractCell":
        """A cell with random weights."""


class TanhRNN(AbstractCell):
    """h' = tanh(W h + V input + b), the network of the paper's equations."""

    recurrent: Float[Array, "H H"]
    recurrent_bias: Float[Array, " H"]
    input: Float[Array, "I H"]
    bias: Float[Array, " H"]

    @staticmethod
    def combine(hidden: Float[Array, "..."], recurrent: Gates, projected: Gates) -> Float[Array, "..."]:
        """tanh of the sum."""
        return jnp.tanh(recurrent[0] + projected[0])

    @classmethod
    def create(cls, inputs: int, hidden: int, *, key: PRNGKeyArray) -> "TanhRNN":
        """Orthogonal recurrence, scaled input weights."""
        recurrent_key, input_key = jr.split(key)
        weights = jr.normal(input_key, (inputs, hidden)) / inputs**0.5
        return cls(jr.orthogonal(recurrent_key, hidden), jnp.zeros(hidden), weights, jnp.zeros(hidden))


class GRU(AbstractCell):
    """Gated recurrent unit: reset and update gates, and a candidate that sees the reset hidden state."""

    recurrent: Float[Array, "H G"]
    recurrent_bias: Float[Array, " G"]
    input: Float[Array, "I G"]
    bias: Float[Array, " G"]

    @staticmethod
    def combine(hidden: Float[Array, "..."], recurrent: Gates, projected: Gates) -> Float[Array, "..."]:
        """update * h + (1 - update) * candidate."""
        reset = jax.nn.sigmoid(recurrent[0] + projected[0])
        update = jax.nn.sigmoid(recurrent[1] + projected[1])
        candidate = jnp.tanh(projected[2] + reset * recurrent[2])
        return candidate + update * (hidden - candidate)

    @classmethod
    def create(cls, inputs: int, hidden: int, *, key: PRNGKeyArray) -> "GRU":
        """Orthogonal recurrence for each gate, scaled input weights."""
        recurrent_key, input_key = jr.split(key)
        gates = [jr.orthogonal(k, hidden) for k in jr.split(recurrent_key, 3)]
        weights = jr.normal(input_key, (inputs, 3 * hidden)) / inputs**0.5
        return cls(jnp.concatenate(gates, axis=1), jnp.zeros(3 * hidden), weights, jnp.zeros(3 * hidden))


def run_both_ways(
    forward: AbstractCell, backward: AbstractCell, inputs: Float[Array, "T I"], valid: Bool[Array, " T"]
) -> tuple[Float[Array, "T H"], Float[Array, "T H"]]:
    """Hidden states of both directions."""
    ahead = _projected(forward, inputs)
    behind = _projected(backward, inputs[::-1])
    hidden_ahead, hidden_behind = recur(
        type(forward).combine,
        (_gates(forward, forward.recurrent), _gates(backward, backward.recurrent)),
        (_gates(forward, forward.recurrent_bias), _gates(backward, backward.recurrent_bias)),
        (ahead, behind),
        (valid, valid[::-1]),
    )
    return hidden_ahead, hidden_behind[::-1]


def _gates(cell: AbstractCell, columns: Float[Array, "... G"]) -> Gates:
    return tuple(jnp.split(columns, cell.recurrent.shape[1] // cell.recurrent.shape[0], axis=-1))


def _projected(cell: AbstractCell, inputs: Float[Array, "T I"]) -> Gates:
    """The input's part of each gate at every step."""
    parts = zip(_gates(cell, cell.input), _gates(cell, cell.bias), strict=True)
    return tuple(inputs @ weight + bias[None, :] for weight, bias in parts)
