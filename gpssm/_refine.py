"""`refine` and `fit_free`: every state a parameter of its own, everything to its optimum by L-BFGS."""

from dataclasses import replace

import equinox as eqx
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._devices import Devices
from gpssm._fit import FitResult, identified_of, recorder_of, result_of
from gpssm._model import GPSSM
from gpssm._posterior import GaussMarkov
from gpssm._precision import double_precision
from gpssm._result import Result
from gpssm.data import Episodes, Padded, Scaler
from gpssm.files import AnyRun
from gpssm.fit import Progress, Recorder, Trained, adam, polish, prepare, train
from gpssm.fit._problem import Freeze
from gpssm.inference import AbstractExpectation, Explicit, Paths, Variational, closed_form, default_rule
from gpssm.recognition import AbstractRecognition, BiRNN, FreeStates


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
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Free the states from the network and polish everything by L-BFGS with q(u) collapsed, then let the network
    follow.

    This closes the gap that amortisation leaves. Same episodes as in the fit; the gain is in the history's events. With
    `network_steps=0` the network is dropped, and filters read the states of new records.
    """
    return refine_recorded(
        fitted,
        episodes,
        iterations=iterations,
        network_steps=network_steps,
        expectation=expectation,
        freeze=freeze,
        progress=progress,
        run=None,
        devices=devices,
        key=key,
    )


def refine_recorded(
    fitted: FitResult,
    episodes: Episodes,
    *,
    iterations: int,
    network_steps: int,
    expectation: AbstractExpectation | None = None,
    freeze: Freeze | None = None,
    progress: Progress | None,
    run: AnyRun | None,
    untrained: GPSSM | None = None,
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """`refine` as the later stages of a run that may have checkpoints.

    An `untrained` model is a second start: its states begin at a guess from the data instead of at the network's. The
    one with the higher bound is kept. Training from random networks ends in a poor optimum now and then; a guess from
    the data seldom does, but may miss what a network finds.
    """
    scaler = fitted.identified.scaler
    model, inference = fitted.identified.model, fitted.inference
    data = scaler.apply(episodes).padded()
    model, inference = prepare(model, inference, np.float64)
    polish_key, follow_key = jr.split(key)
    rule = expectation or default_rule(model.state_dim)

    def polished_from(start: GPSSM, states: FreeStates, stage: str) -> Trained:
        return polish(
            *prepare(start, Variational(states, closed_form(start.transition), rule), data.y.dtype),
            data,
            iterations=iterations,
            freeze=freeze,
            progress=progress,
            recorder=recorder_of(run, stage),
            devices=devices,
            key=polish_key,
        )

    polished = polished_from(model, FreeStates.from_posterior(_posterior(inference, data)), "2-polish")
    if untrained is not None and polished.result is not Result.interrupted:
        guess = FreeStates.from_data(episodes, state_dim=model.state_dim, scaler=scaler)
        polished = _higher(polished, polished_from(untrained, guess, "3-second-start"), progress)
    history = fitted.history.then(polished.history)
    network, result = None, polished.result
    if isinstance(inference.recognition, BiRNN) and network_steps > 0 and polished.result is not Result.interrupted:
        followed = _follow(
            polished.model,
            inference.recognition,
            data,
            steps=network_steps,
            progress=progress,
            recorder=recorder_of(run, "4-network"),
            devices=devices,
            key=follow_key,
        )
        network = followed.inference.recognition
        if followed.result is Result.interrupted:
            result = followed.result
            history.events += followed.history.events
    identified = identified_of(polished.model, network, episodes, scaler, history)
    return FitResult(identified, polished.inference, history, result)


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
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Fit without a network: free states that start at a guess from the data, q(u) collapsed, everything by L-BFGS.

    The quickest way to the optimum on small data; filters read the states of new records.
    """
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    states = FreeStates.from_data(episodes, state_dim=model.state_dim, scaler=scaler)
    free = Variational(states, closed_form(model.transition), expectation or default_rule(model.state_dim))
    polished = polish(
        *prepare(model, free, np.float64),
        scaler.apply(episodes).padded(),
        iterations=iterations,
        freeze=freeze,
        progress=progress,
        devices=devices,
        key=key,
    )
    return result_of(polished, episodes, scaler)


def _higher(first: Trained, second: Trained, progress: Progress | None) -> Trained:
    """Of two polished starts the one with the higher bound. An interrupted or failed one does not count."""
    if not second.result.good or not len(second.history.bound):
        return first if second.result is not Result.interrupted else replace(first, result=second.result)
    ends = [max(start.history.bound, default=-np.inf) for start in (first, second)]
    chosen, where = (first, "the network's states") if ends[0] >= ends[1] else (second, "states guessed from the data")
    event = f"two starts ended at {ends[0]:.4f} and {ends[1]:.4f} a step: kept the one from {where}"
    chosen.history.events.append(event)
    if progress is not None:
        progress.say(event)
    return chosen


def _follow(
    model: GPSSM,
    network: AbstractRecognition,
    data: Padded,
    *,
    steps: int,
    progress: Progress | None,
    recorder: Recorder | None,
    devices: Devices | None,
    key: PRNGKeyArray,
) -> Trained:
    """Train the network alone, so that it reads states as the polished model means them."""
    return train(
        *prepare(model, Variational(network, Explicit(), Paths(1)), data.y.dtype),
        data,
        optimiser=adam(steps),
        steps=steps,
        freeze=lambda model, inference: model,
        progress=progress,
        stage="network",
        recorder=recorder,
        devices=devices,
        key=key,
    )


@eqx.filter_jit
def _posterior(inference: Variational, data: Padded) -> GaussMarkov:
    return inference.posterior(data)
