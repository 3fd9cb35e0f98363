"""Recurrent networks in plain NumPy, one step after the other; steps that do not count are left out."""

from collections.abc import Callable

import numpy as np

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


def tanh_step(recurrent: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> Step:
    """h' = tanh(h W + input V + b)."""
    return lambda hidden, now: np.tanh(hidden @ recurrent + now @ weights + bias)


def gru_step(recurrent: np.ndarray, recurrent_bias: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> Step:
    """The gated recurrent unit with the reset gate applied after the recurrent product."""
    size = len(recurrent_bias)
    parts = [slice(0, size), slice(size, 2 * size), slice(2 * size, 3 * size)]

    def step(hidden: np.ndarray, now: np.ndarray) -> np.ndarray:
        inner = [hidden @ recurrent[:, part] for part in parts]
        outer = [now @ weights[:, part] + bias[part] for part in parts]
        reset, update = sigmoid(inner[0] + outer[0]), sigmoid(inner[1] + outer[1])
        candidate = np.tanh(outer[2] + reset * (inner[2] + recurrent_bias))
        return update * hidden + (1.0 - update) * candidate

    return step


def run(step: Step, inputs: np.ndarray, size: int) -> np.ndarray:
    """Hidden state after each step, from zero."""
    hidden, states = np.zeros(size), []
    for now in inputs:
        hidden = step(hidden, now)
        states.append(hidden)
    return np.array(states)
