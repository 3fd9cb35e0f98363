"""Recurrent networks in plain NumPy, one step after the other."""

from collections.abc import Callable

import numpy as np

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


def tanh_step(recurrent: np.ndarray, recurrent_bias: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> Step:
    """h' = tanh(h W + c + input V + b)."""
    return lambda hidden, now: np.tanh(hidden @ recurrent + recurrent_bias + now @ weights + bias)


def gru_step(recurrent: np.ndarray, recurrent_bias: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> Step:
    """The gated recurrent unit with the reset gate applied after the recurrent product."""
    size = len(recurrent)

    def step(hidden: np.ndarray, now: np.ndarray) -> np.ndarray:
        inner = np.split(hidden @ recurrent + recurrent_bias, [size, 2 * size])
        outer = np.split(now @ weights + bias, [size, 2 * size])
        reset, update = sigmoid(inner[0] + outer[0]), sigmoid(inner[1] + outer[1])
        return update * hidden + (1.0 - update) * np.tanh(outer[2] + reset * inner[2])

    return step


def run(step: Step, inputs: np.ndarray, size: int) -> np.ndarray:
    """Hidden state after each step, from zero."""
    hidden, states = np.zeros(size), []
    for now in inputs:
        hidden = step(hidden, now)
        states.append(hidden)
    return np.array(states)
