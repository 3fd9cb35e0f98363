"""First guesses of the states, from which the first function is learnt by regression."""

from abc import abstractmethod

import equinox as eqx
import numpy as np
from jaxtyping import Float

from gpssm.data import DataError
from gpssm.fitting import Prepared
from gpssm.models._subspace import interpolated, principal_directions


class AbstractGuess(eqx.Module):
    """A rule that reads states off the outputs. The evidence has several optima in what hidden states mean; the guess
    decides which of them is found."""

    @abstractmethod
    def states(self, data: Prepared, count: int) -> list[Float[np.ndarray, "_ D"]]:
        """States of each episode, in scaled units: outputs first, where there are as many states."""


class SubspaceStates(AbstractGuess):
    """Hidden states are what the recent past tells about the outputs to come, by linear regression."""

    def states(self, data: Prepared, count: int) -> list[Float[np.ndarray, "_ D"]]:
        """Outputs, then hidden directions of unit variance."""
        return data.states(count)


class Differences(AbstractGuess):
    """Hidden states are differences of the outputs, as velocities of positions; then differences of those."""

    def states(self, data: Prepared, count: int) -> list[Float[np.ndarray, "_ D"]]:
        """Outputs, then central differences of unit variance: the strongest directions, where not all are needed."""
        outputs = [interpolated(episode) for episode in data.scaled]
        if count <= outputs[0].shape[1]:
            return data.states(count)
        if min(len(y) for y in outputs) < 3:
            raise DataError("differences need records of at least three samples: use SubspaceStates()")
        found = newest = outputs
        while (missing := count - found[0].shape[1]) > 0:
            newest = _unit([np.gradient(x, axis=0) for x in newest])
            kept = newest
            if missing < newest[0].shape[1]:
                kept = [x @ principal_directions(newest, missing) for x in newest]
            found = [np.concatenate(pair, axis=1) for pair in zip(found, kept, strict=True)]
        return found


def _unit(series: list[np.ndarray]) -> list[np.ndarray]:
    scale = np.maximum(np.concatenate(series).std(axis=0), 1e-9)
    return [x / scale for x in series]
