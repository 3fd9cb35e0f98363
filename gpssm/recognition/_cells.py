"""Recurrent cells. The input's part of a step is computed for all steps at once, before the loop."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray


class AbstractCell(eqx.Module):
    """One direction of a recurrent network."""

    @abstractmethod
    def project(self, inputs: Float[Array, "T I"]) -> Float[Array, "T G"]:
        """The part of each step that does not depend on the hidden state."""

    @abstractmethod
    def step(self, hidden: Float[Array, " H"], projected: Float[Array, " G"]) -> Float[Array, " H"]:
        """The next hidden state."""

    @abstractmethod
    def initial(self) -> Float[Array, " H"]:
        """The hidden state before the first step."""


class TanhRNN(AbstractCell):
    """h' = tanh(W h + V input + b), the network of the paper's equations."""

    recurrent: Float[Array, "H H"]
    input: Float[Array, "I H"]
    bias: Float[Array, " H"]

    @classmethod
    def create(cls, inputs: int, hidden: int, *, key: PRNGKeyArray) -> "TanhRNN":
        """Orthogonal recurrence, scaled input weights."""
        recurrent_key, input_key = jr.split(key)
        return cls(
            jr.orthogonal(recurrent_key, hidden), jr.normal(input_key, (inputs, hidden)) / inputs**0.5, jnp.zeros(hidden)
        )

    def project(self, inputs: Float[Array, "T I"]) -> Float[Array, "T G"]:
        """V input + b."""
        return inputs @ self.input + self.bias[None, :]

    def step(self, hidden: Float[Array, " H"], projected: Float[Array, " G"]) -> Float[Array, " H"]:
        """tanh(W h + projected)."""
        return jnp.tanh(hidden @ self.recurrent + projected)

    def initial(self) -> Float[Array, " H"]:
        """Zero."""
        return jnp.zeros_like(self.bias)


class GRU(AbstractCell):
    """Gated recurrent unit: reset and update gates, and a candidate that sees the reset hidden state."""

    recurrent: Float[Array, "H G"]
    recurrent_bias: Float[Array, " H"]
    input: Float[Array, "I G"]
    bias: Float[Array, " G"]

    @classmethod
    def create(cls, inputs: int, hidden: int, *, key: PRNGKeyArray) -> "GRU":
        """Orthogonal recurrence for each gate, scaled input weights."""
        recurrent_key, input_key = jr.split(key)
        gates = [jr.orthogonal(k, hidden) for k in jr.split(recurrent_key, 3)]
        return cls(
            jnp.concatenate(gates, axis=1),
            jnp.zeros(hidden),
            jr.normal(input_key, (inputs, 3 * hidden)) / inputs**0.5,
            jnp.zeros(3 * hidden),
        )

    def project(self, inputs: Float[Array, "T I"]) -> Float[Array, "T G"]:
        """Input part of reset gate, update gate and candidate."""
        return inputs @ self.input + self.bias[None, :]

    def step(self, hidden: Float[Array, " H"], projected: Float[Array, " G"]) -> Float[Array, " H"]:
        """update * h + (1 - update) * candidate."""
        size = hidden.shape[0]
        recurrent = hidden @ self.recurrent
        gates = jax.nn.sigmoid(recurrent[: 2 * size] + projected[: 2 * size])
        reset, update = gates[:size], gates[size:]
        candidate = jnp.tanh(projected[2 * size :] + reset * (recurrent[2 * size :] + self.recurrent_bias))
        return candidate + update * (hidden - candidate)

    def initial(self) -> Float[Array, " H"]:
        """Zero."""
        return jnp.zeros_like(self.recurrent_bias)


def run_both_ways(
    forward: AbstractCell, backward: AbstractCell, inputs: Float[Array, "T I"], valid: Bool[Array, " T"]
) -> tuple[Float[Array, "T H"], Float[Array, "T H"]]:
    """Hidden states of both directions; both loops run in one, and steps that are not valid carry the state through."""

    def body(carry: tuple[Array, Array], now: tuple[Array, ...]):
        ahead, behind, valid_ahead, valid_behind = now
        h_ahead = jnp.where(valid_ahead, forward.step(carry[0], ahead), carry[0])
        h_behind = jnp.where(valid_behind, backward.step(carry[1], behind), carry[1])
        return (h_ahead, h_behind), (h_ahead, h_behind)

    ahead, behind = forward.project(inputs), backward.project(inputs)[::-1]
    start = (forward.initial(), backward.initial())
    _, (hidden_ahead, hidden_behind) = lax.scan(body, start, (ahead, behind, valid, valid[::-1]))
    return hidden_ahead, hidden_behind[::-1]
