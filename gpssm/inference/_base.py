"""What an inference method must answer. Whoever trains, polishes, records and saves asks nothing else."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import PRNGKeyArray, PyTree

from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.inference._bound import Bound
from gpssm.inference.recognition import AbstractRecognition
from gpssm.models import GPSSM, Batch


class Needs(NamedTuple):
    """What an inference asks of those who optimise its bound."""

    full_batch: bool = False
    """All episodes in each step: an estimate of the bound from some of them would be biased."""
    whole_episodes: bool = False
    """Episodes from their first step on: it cannot make sense of windows."""
    steps_between: bool = False
    """`after_step` does something that a line search cannot know of, so that gradient steps alone will do."""


class AbstractInference(eqx.Module):
    """A posterior over states and function, and the bound that it maximises. Fields are its variational parameters."""

    @abstractmethod
    def bound(
        self, model: GPSSM, batch: Batch, *, share: AbstractShare = Unsharded(), key: PRNGKeyArray
    ) -> tuple[Bound, Any]:
        """The bound for all episodes that the batch stands for, and whatever `after_step` wants to know.

        If the batch is a `share` of a larger one, the terms are what it contributes: adding up the shares gives the
        bound.
        """

    @abstractmethod
    def after_step(self, model: GPSSM, told: Any, *, share: AbstractShare = Unsharded()) -> GPSSM:
        """The model after a gradient step, brought up to date by anything but a gradient step."""

    @abstractmethod
    def finish(self, model: GPSSM, batch: Batch, *, key: PRNGKeyArray) -> GPSSM:
        """The model with the posterior over its function that predictions use, once training is over."""

    @abstractmethod
    def held(self, model: GPSSM) -> PyTree:
        """The parts of the model that gradients must leave alone, because the inference sets them itself."""

    @abstractmethod
    def needs(self) -> Needs:
        """What it asks of those who optimise its bound."""

    @abstractmethod
    def reader(self) -> AbstractRecognition | None:
        """What reads the states of records that were not trained on, if there is such a thing."""

    @abstractmethod
    def for_new_records(self) -> "AbstractInference | None":
        """The inference by which records that were not trained on are judged; None if it knows the training records
        only."""
