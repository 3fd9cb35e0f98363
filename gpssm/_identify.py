"""The public ways to learn a system: `fit` for those who choose the parts, `identify` for those in a hurry."""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax.random as jr
import numpy as np
import optax
from gpjax.kernels import AbstractKernel
from jaxtyping import DTypeLike, PRNGKeyArray

from gpssm._history import History
from gpssm._model import GPSSM
from gpssm._params import cast
from gpssm._posterior import GaussMarkov
from gpssm._precision import double_precision
from gpssm._result import Result
from gpssm.data import Episodes, Padded, Scaler
from gpssm.fit import (
    AbstractBatches,
    Console,
    Plateau,
    Progress,
    Trained,
    Windows,
    adam,
    polish,
    prepare,
    train,
)
from gpssm.fit._problem import Freeze
from gpssm.inference import (
    AbstractExpectation,
    AbstractInducing,
    Collapsed,
    Explicit,
    GaussHermite,
    NaturalGradient,
    Paths,
    Variational,
)
from gpssm.predict import Identified
from gpssm.recognition import AbstractRecognition, BiRNN, FreeStates
from gpssm.transition import SparseGP

LONG = 20_000
"""From this many time steps on, `identify` trains on windows instead of all data at once."""


@dataclass(frozen=True)
class FitResult:
    """What `fit` returns: the system ready for use, the trained inference, the record of training and how it ended."""

    identified: Identified
    inference: Variational
    history: History
    result: Result


@double_precision
def fit(
    model: GPSSM,
    inference: Variational,
    episodes: Episodes,
    *,
    scaler: Scaler | None = None,
    optimiser: optax.GradientTransformation | None = None,
    steps: int = 2000,
    batches: AbstractBatches | None = None,
    freeze: Freeze | None = None,
    stop: Plateau | None = None,
    held_out: Episodes | None = None,
    progress: Progress | None = None,
    throw: bool = False,
    dtype: DTypeLike = np.float64,
    key: PRNGKeyArray,
) -> FitResult:
    """Train a model on episodes by stochastic gradients (Adam unless told otherwise).

    Data are scaled here with the statistics of the training episodes, as in `GPSSM.from_data`. `freeze` names what to
    hold. `held_out` episodes are watched and shown but never trained on.
    """
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    trained = train(
        *prepare(model, inference, dtype),
        scaler.apply(episodes).padded(dtype=dtype),
        optimiser=optimiser,
        steps=steps,
        batches=batches,
        freeze=freeze,
        stop=stop,
        held_out=None if held_out is None else scaler.apply(held_out).padded(dtype=dtype),
        progress=progress,
        throw=throw,
        key=key,
    )
    return _result(trained, episodes, scaler)


@double_precision
def refine(
    fitted: FitResult,
    episodes: Episodes,
    *,
    iterations: int = 150,
    network_steps: int = 400,
    expectation: AbstractExpectation | None = None,
    freeze: Freeze | None = None,
    progress: Progress | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Free the states from the network and polish everything by L-BFGS with q(u) collapsed, then let the network
    follow.

    This closes the gap that amortisation leaves. Same episodes as in the fit; the gain is in the history's events. With
    `network_steps=0` the network is dropped, and filters read the states of new records.
    """
    scaler = fitted.identified.scaler
    model, inference = fitted.identified.model, fitted.inference
    data = scaler.apply(episodes).padded()
    model, inference = prepare(model, inference, np.float64)
    polish_key, follow_key = jr.split(key)
    free = Variational(
        FreeStates.from_posterior(_posterior(inference, data)),
        _closed_form(model),
        expectation or default_rule(model.state_dim),
    )
    polished = polish(
        *prepare(model, free, data.y.dtype),
        data,
        iterations=iterations,
        freeze=freeze,
        progress=progress,
        key=polish_key,
    )
    history = fitted.history.then(polished.history)
    network = None
    if isinstance(inference.recognition, BiRNN) and network_steps > 0 and polished.result is not Result.interrupted:
        network = _follow(polished.model, inference.recognition, data, network_steps, progress, follow_key)
    identified = _identified(polished.model, network, episodes, scaler, history)
    return FitResult(identified, polished.inference, history, polished.result)


@double_precision
def fit_free(
    model: GPSSM,
    episodes: Episodes,
    *,
    scaler: Scaler | None = None,
    iterations: int = 300,
    expectation: AbstractExpectation | None = None,
    freeze: Freeze | None = None,
    progress: Progress | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Fit without a network: free states that start at a guess from the data, q(u) collapsed, everything by L-BFGS.

    The quickest way to the optimum on small data; filters read the states of new records.
    """
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    states = FreeStates.from_data(episodes, state_dim=model.state_dim, scaler=scaler)
    free = Variational(states, _closed_form(model), expectation or default_rule(model.state_dim))
    polished = polish(
        *prepare(model, free, np.float64),
        scaler.apply(episodes).padded(),
        iterations=iterations,
        freeze=freeze,
        progress=progress,
        key=key,
    )
    return _result(polished, episodes, scaler)


@double_precision
def identify(
    episodes: Episodes,
    *,
    states: int,
    kernel: AbstractKernel | Sequence[AbstractKernel] | None = None,
    num_inducing: int = 50,
    hidden: int = 32,
    steps: int = 800,
    iterations: int = 150,
    network_steps: int = 400,
    held_out: Episodes | None = None,
    progress: Progress | None = None,
    key: PRNGKeyArray | None = None,
) -> Identified:
    """Learn a system from episodes and choose sensible everything.

    A recognition network and the model are trained together with q(u) at its optimum, then all states are polished
    without the network. Records with more than 20 000 steps in all are trained on windows instead. Progress goes to
    the console unless told otherwise; the default key is `jax.random.key(0)`, so that two calls give the same model.
    """
    progress = Console() if progress is None else progress
    key = jr.key(0) if key is None else key
    model_key, network_key, fit_key, refine_key = jr.split(key, 4)
    model = GPSSM.from_data(episodes, state_dim=states, kernel=kernel, num_inducing=num_inducing, key=model_key)
    network = BiRNN.from_data(episodes, state_dim=states, hidden=hidden, key=network_key)
    long = episodes.num_steps > LONG
    inference = Variational(network, NaturalGradient(0.1) if long else Collapsed(), Paths(1))
    fitted = fit(
        model,
        inference,
        episodes,
        steps=steps,
        batches=Windows(length=min(200, episodes.max_length), size=8) if long else None,
        held_out=held_out,
        progress=progress,
        key=fit_key,
    )
    if long or iterations == 0 or fitted.result is Result.interrupted:
        return fitted.identified
    refined = refine(
        fitted, episodes, iterations=iterations, network_steps=network_steps, progress=progress, key=refine_key
    )
    return refined.identified


def _closed_form(model: GPSSM) -> AbstractInducing:
    """q(u) at its optimum, where there is a q(u)."""
    return Collapsed() if isinstance(model.transition, SparseGP) else Explicit()


def default_rule(state_dim: int) -> AbstractExpectation:
    """Quadrature while it is cheap, mirrored paths beyond."""
    points = {1: 8, 2: 4, 3: 3}
    return GaussHermite(points[state_dim]) if state_dim in points else Paths(16, antithetic=True)


def _follow(
    model: GPSSM, network: AbstractRecognition, data: Padded, steps: int, progress: Progress | None, key: PRNGKeyArray
) -> AbstractRecognition:
    """Train the network alone, so that it reads states as the polished model means them."""
    trained = train(
        *prepare(model, Variational(network, Explicit(), Paths(1)), data.y.dtype),
        data,
        optimiser=adam(steps),
        steps=steps,
        freeze=lambda model, inference: model,
        progress=progress,
        stage="network",
        key=key,
    )
    return trained.inference.recognition


@eqx.filter_jit
def _posterior(inference: Variational, data: Padded) -> GaussMarkov:
    return inference.posterior(data)


def _result(trained: Trained, episodes: Episodes, scaler: Scaler) -> FitResult:
    recognition = trained.inference.recognition
    # Free states know the training episodes only.
    network = None if isinstance(recognition, FreeStates) else recognition
    identified = _identified(trained.model, network, episodes, scaler, trained.history)
    return FitResult(identified, trained.inference, trained.history, trained.result)


def _identified(
    model: GPSSM, recognition: AbstractRecognition | None, episodes: Episodes, scaler: Scaler, history: History
) -> Identified:
    model, recognition = cast((model, recognition), np.float64)
    return Identified(
        model=model,
        scaler=scaler,
        recognition=recognition,
        output_names=episodes.output_names,
        input_names=episodes.input_names,
        dt=episodes.dt,
        history=history,
    )
