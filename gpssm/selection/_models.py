"""Candidates that are GPSSMs, one for each way to fit them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import jax.random as jr
from gpjax.kernels import AbstractKernel
from jaxtyping import PRNGKeyArray

from gpssm._grow import grow
from gpssm._identify import fit, fit_free, refine
from gpssm._model import GPSSM
from gpssm._precision import Portable
from gpssm.baselines import LinearKalman
from gpssm.data import Episodes
from gpssm.fit import Silent
from gpssm.inference import Collapsed, Paths, Variational
from gpssm.output_error import AbstractReading, fit_output_error
from gpssm.predict import Ensemble, Identified
from gpssm.recognition import BiRNN
from gpssm.selection._stacking import Mixture
from gpssm.transition import AbstractMean

MakeMean = Callable[[Episodes, int], AbstractMean]
"""A mean function from training episodes and a number of states."""


@final
@dataclass(frozen=True)
class GPSSMCandidate(Portable):
    """A GPSSM trained with a recognition network and then polished, as `gpssm.identify` does."""

    states: int
    kernel: AbstractKernel | None = None
    num_inducing: int = 50
    mean: MakeMean | None = None
    """Makes the mean function of the transition; `identified_linear_mean` is one. None: the state is kept."""
    hidden: int = 32
    steps: int = 800
    iterations: int = 150

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Identified:
        """Fit. Without a polished network: filters read the states."""
        model_key, network_key, fit_key, refine_key = jr.split(key, 4)
        model = GPSSM.from_data(
            episodes,
            state_dim=self.states,
            kernel=self.kernel,
            num_inducing=self.num_inducing,
            mean=None if self.mean is None else self.mean(episodes, self.states),
            key=model_key,
        )
        network = BiRNN.from_data(episodes, state_dim=self.states, hidden=self.hidden, key=network_key)
        inference = Variational(network, Collapsed(), Paths(1))
        fitted = fit(model, inference, episodes, steps=self.steps, progress=Silent(), throw=True, key=fit_key)
        if self.iterations:
            fitted = refine(
                fitted, episodes, iterations=self.iterations, network_steps=0, progress=Silent(), key=refine_key
            )
        return fitted.identified


@final
@dataclass(frozen=True)
class FreeStatesCandidate:
    """A GPSSM trained without a network, as `gpssm.fit_free` does; few iterations are a brake of their own."""

    states: int
    num_inducing: int = 50
    mean: MakeMean | None = None
    """As for `GPSSMCandidate`."""
    iterations: int = 100

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Identified:
        """Fit."""
        model_key, fit_key = jr.split(key)
        model = GPSSM.from_data(
            episodes,
            state_dim=self.states,
            num_inducing=self.num_inducing,
            mean=None if self.mean is None else self.mean(episodes, self.states),
            key=model_key,
        )
        return fit_free(model, episodes, iterations=self.iterations, progress=Silent(), key=fit_key).identified


@final
@dataclass(frozen=True)
class GrownCandidate:
    """A linear model of the given order that a GP corrects, as `gpssm.grow` does."""

    order: int
    num_inducing: int = 50
    iterations: int = 150
    free_run_share: float = 0.0
    """As for the linear model."""

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Identified:
        """Fit."""
        linear_key, grow_key = jr.split(key)
        linear = LinearKalman.fit(episodes, order=self.order, free_run_share=self.free_run_share, key=linear_key)
        return grow(
            linear, episodes, num_inducing=self.num_inducing, iterations=self.iterations, key=grow_key
        ).identified


@final
@dataclass(frozen=True)
class OutputErrorCandidate:
    """A linear system with a GP correction, fitted by its free runs."""

    states: int
    num_inducing: int = 30
    lengthscale: float = 2.0
    reading: AbstractReading | None = None
    rounds: int = 6
    trusting: int = 2

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Identified:
        """Fit."""
        return fit_output_error(
            episodes,
            states=self.states,
            num_inducing=self.num_inducing,
            lengthscale=self.lengthscale,
            reading=self.reading,
            rounds=self.rounds,
            trusting=self.trusting,
            key=key,
        )


@final
@dataclass(frozen=True)
class EnsembleCandidate:
    """Several candidates, fitted each with a key of its own, as one mixture."""

    members: tuple[Callable[..., Any], ...]
    weights: tuple[float, ...] | None = None
    """As for `gpssm.Ensemble`."""
    width: float = 1.0
    """As for `gpssm.Ensemble`."""

    @classmethod
    def of(
        cls, candidates: Mapping[str, Callable[..., Any]], mixture: Mixture, *, smallest: float = 0.02
    ) -> "EnsembleCandidate":
        """What `Selection.stacked` found, without the candidates whose share is below `smallest`: each would cost a fit
        and change next to nothing."""
        kept = mixture.above(smallest)
        if not kept:
            raise ValueError(f"no candidate has a share of {smallest} or more")
        unknown = sorted(set(kept) - set(candidates))
        if unknown:
            raise ValueError(f"shares of candidates that were not given: {', '.join(unknown)}")
        return cls(tuple(candidates[name] for name in kept), tuple(kept.values()), mixture.width)

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Ensemble:
        """Fit all members."""
        keys = jr.split(key, len(self.members))
        fitted = tuple(member(episodes, key=k) for member, k in zip(self.members, keys, strict=True))
        return Ensemble(fitted, self.weights, self.width)
