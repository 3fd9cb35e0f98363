"""What an optimiser must answer."""

from abc import abstractmethod
from dataclasses import dataclass

import equinox as eqx
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.fitting._problem import Training, Tree
from gpssm.fitting._stage import Stage
from gpssm.inference import AbstractInference
from gpssm.models import GPSSM


@dataclass(frozen=True)
class Trained:
    """A trained model in standardised units, its inference, how training went and how it ended."""

    tree: Tree
    history: History
    result: Result

    @property
    def model(self) -> GPSSM:
        """The model."""
        return self.tree[0]

    @property
    def inference(self) -> AbstractInference:
        """Its inference."""
        return self.tree[1]


class AbstractOptimiser(eqx.Module):
    """A way to maximise the bound. Fields are its settings.

    What it returns is finite, has the posterior over the function that predictions use, and is the best seen if the
    stage is interrupted. The same key gives the same bits, also after a checkpoint.
    """

    @abstractmethod
    def run(self, tree: Tree, training: Training, stage: Stage, *, key: PRNGKeyArray) -> Trained:
        """Maximise from this start on."""

    @abstractmethod
    def takes_steps_of_inference(self) -> bool:
        """Whether it makes the steps that an inference wants between its own (natural gradients)."""
