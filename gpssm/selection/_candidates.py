"""Ready-made candidates: callables that fit episodes, each with its settings."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import AbstractKernel
from jaxtyping import PRNGKeyArray

from gpssm._grow import grow
from gpssm._guess import latent_guess
from gpssm._identify import fit, fit_free, refine
from gpssm._model import GPSSM
from gpssm._precision import double_precision
from gpssm.baselines import Autoregression, AutoregressiveGP, AutoregressiveLinear, Constant, LinearKalman
from gpssm.data import Episodes, Scaler
from gpssm.fit import Silent
from gpssm.inference import Collapsed, Paths, Variational
from gpssm.output_error import AbstractReading, fit_output_error
from gpssm.predict import Ensemble, Identified
from gpssm.recognition import BiRNN
from gpssm.transition import AbstractMean, LinearMean

MakeMean = Callable[[Episodes, int], AbstractMean]
"""A mean function from training episodes and a number of states."""


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

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Autoregression:
        """Fit."""
        return AutoregressiveLinear.fit(episodes, output_lags=self.output_lags, input_lags=self.input_lags)


@final
@dataclass(frozen=True)
class AutoregressiveGPCandidate(AbstractDeterministic):
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


@final
@dataclass(frozen=True)
class GPSSMCandidate:
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
    """Several candidates, fitted each with a key of its own and averaged."""

    members: tuple[Callable[..., Any], ...]

    def __call__(self, episodes: Episodes, *, key: PRNGKeyArray) -> Ensemble:
        """Fit all members."""
        keys = jr.split(key, len(self.members))
        return Ensemble(tuple(member(episodes, key=k) for member, k in zip(self.members, keys, strict=True)))


@double_precision
def identified_linear_mean(episodes: Episodes, states: int) -> LinearMean:
    """Least squares on the states that a GPSSM starts from; the GP then models what a linear system misses."""
    scaled = Scaler.from_episodes(episodes).apply(episodes)
    guess = latent_guess(scaled, states)
    ones = [np.ones((len(x) - 1, 1)) for x in guess]
    rows = np.concatenate(
        [np.concatenate([x[:-1], e.u[:-1], one], axis=1) for x, e, one in zip(guess, scaled, ones, strict=True)]
    )
    following = np.concatenate([x[1:] for x in guess])
    found = np.linalg.solve(rows.T @ rows + 1e-6 * len(rows) * np.eye(rows.shape[1]), rows.T @ following)
    return LinearMean(jnp.asarray(found[:states].T), jnp.asarray(found[states:-1].T), jnp.asarray(found[-1]))


def grid(name: str, candidate: Callable[..., Any], **settings: Iterable[Any]) -> dict[str, Any]:
    """All combinations of settings as candidates, named by them: `grid("linear", LinearKalmanCandidate,
    order=(1, 2, 4))`.

    The last setting changes fastest, so list settings and values from simple to complex.
    """
    combinations = [dict(zip(settings, values, strict=True)) for values in product(*settings.values())]
    return {f"{name} {_describe(chosen)}".strip(): candidate(**chosen) for chosen in combinations}


def _describe(chosen: dict[str, Any]) -> str:
    return ", ".join(f"{key}={_short(value)}" for key, value in chosen.items())


def _short(value: Any) -> str:
    if isinstance(value, AbstractKernel):
        return type(value).__name__
    return value.__name__ if callable(value) and not isinstance(value, type) else str(value)
