"""Candidates whose fit does not depend on a seed: a constant, linear models, a GP autoregression."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

from gpjax.kernels import AbstractKernel
from jaxtyping import PRNGKeyArray

from gpssm._precision import Portable
from gpssm.baselines import Autoregression, AutoregressiveGP, AutoregressiveLinear, Constant, LinearKalman
from gpssm.data import Episodes
from gpssm.predict import Identified


class AbstractDeterministic(ABC):
    """A candidate whose fit does not depend on the key, so that one seed is enough."""

    @abstractmethod
    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Any:
        """Fit."""


@final
@dataclass(frozen=True)
class ConstantCandidate(AbstractDeterministic):
    """The training mean."""

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Constant:
        """Fit."""
        return Constant.fit(episodes)


@final
@dataclass(frozen=True)
class LinearKalmanCandidate(AbstractDeterministic):
    """A linear state-space model of the given order."""

    order: int
    iterations: int = 100
    max_radius: float = 1.0
    free_run_share: float = 0.0

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Identified:
        """Fit."""
        return LinearKalman.fit(
            episodes,
            order=self.order,
            iterations=self.iterations,
            max_radius=self.max_radius,
            free_run_share=self.free_run_share,
            key=key,
        )


@final
@dataclass(frozen=True)
class AutoregressiveLinearCandidate(AbstractDeterministic):
    """A linear autoregression."""

    output_lags: int
    input_lags: int | None = None
    max_radius: float | None = 1.0

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Autoregression:
        """Fit."""
        return AutoregressiveLinear.fit(
            episodes, output_lags=self.output_lags, input_lags=self.input_lags, max_radius=self.max_radius
        )


@final
@dataclass(frozen=True)
class AutoregressiveGPCandidate(Portable, AbstractDeterministic):
    """A GP autoregression. With the default two restarts its starts are fixed."""

    output_lags: int = 1
    input_lags: int | None = None
    increment: bool = True
    kernel: AbstractKernel | None = None
    iterations: int = 100

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Autoregression:
        """Fit."""
        return AutoregressiveGP.fit(
            episodes,
            output_lags=self.output_lags,
            input_lags=self.input_lags,
            increment=self.increment,
            kernel=self.kernel,
            iterations=self.iterations,
            key=key,
        )
