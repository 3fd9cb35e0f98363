"""`fit_alternating`: smooth the states, fit the transition, smooth again; then everything together."""

import time
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._emission import LinearGaussian
from gpssm._fit import FitResult, result_of
from gpssm._history import History
from gpssm._linearised import linearised_posterior
from gpssm._model import GPSSM
from gpssm._params import Positive, trainable_mask
from gpssm._posterior import GaussMarkov
from gpssm._precision import double_precision
from gpssm._result import Result
from gpssm.data import Episodes, Padded, Scaler
from gpssm.fit import Progress, Silent, Status, Trained, polish, prepare
from gpssm.inference import AbstractExpectation, GaussHermite, Variational, closed_form, default_rule
from gpssm.recognition import FreeStates
from gpssm.transition import Linear, SparseGP

START_ITERATIONS = 30
CYCLE_ITERATIONS = 8
"""Of L-BFGS on the model, while the states are held: enough for the states to be worth another look."""


@double_precision
def fit_alternating(
    model: GPSSM,
    episodes: Episodes,
    *,
    scaler: Scaler | None = None,
    cycles: int = 20,
    iterations: int = 50,
    expectation: AbstractExpectation | None = None,
    progress: Progress | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Fit without a network, for small and well-measured data: the same optimum as `fit_free`, by a shorter way.

    Gradients find it hard to move thousands of states whose noises are small. Here the states are smoothed in closed
    form about the present model, a step of Gauss and Newton, and the model is fitted to them, in turn. At the end,
    `iterations` of L-BFGS on everything. Needs a linear emission.
    """
    if not isinstance(model.emission, LinearGaussian):
        raise TypeError(f"smoothing needs a LinearGaussian emission, not {type(model.emission).__name__}: use fit_free")
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    progress = Silent() if progress is None else progress
    data = scaler.apply(episodes).padded()
    guess = FreeStates.from_data(episodes, state_dim=model.state_dim, scaler=scaler).means
    rule = default_rule(model.state_dim) if expectation is None else expectation
    start_key, cycle_key, end_key = jr.split(key, 3)
    now = _first_fit(model, data, guess, start_key)
    now = _cycles(now, data, cycles, rule, progress, cycle_key)
    if iterations and now.result is not Result.interrupted:
        end = polish(
            *prepare(now.model, now.inference, np.float64),
            data,
            iterations=iterations,
            progress=progress,
            key=end_key,
        )
        now = replace(end, history=now.history.then(end.history))
    return result_of(now, episodes, scaler)


def _first_fit(model: GPSSM, data: Padded, guess: Float[Array, "B T D"], key: PRNGKeyArray) -> Trained:
    """The transition that the guessed states show, and what it leaves unexplained shared between the noises."""
    eye = jnp.broadcast_to(jnp.eye(model.state_dim), (*guess.shape, model.state_dim))
    states = FreeStates.from_posterior(GaussMarkov(guess, 0.0 * eye, 1e-3 * eye))
    # One node is the mean.
    inference = Variational(states, closed_form(model.transition), GaussHermite(1))
    started = polish(
        *prepare(model, inference, np.float64),
        data,
        iterations=START_ITERATIONS,
        freeze=lambda model, inference: (model.emission, inference.recognition),
        key=key,
    )
    history = replace(started.history, bound=started.history.bound[:0], events=[])
    return replace(started, model=_with_shared_noise(started.model, data.y.shape[-1]), history=history)


def _with_shared_noise(model: GPSSM, outputs: int) -> GPSSM:
    """A guess differs from the state by noise, at both ends of a step: a third for each of the three.

    Noises that are not to be learnt stay, and so do those of outputs that are mixtures of states.
    """
    transition, unexplained = model.transition, model.transition.noise_variance()
    if isinstance(transition, SparseGP | Linear) and _learnt(transition.noise):
        model = eqx.tree_at(lambda m: m.transition.noise, model, Positive.of(unexplained / 3.0))
    emission = model.emission
    assert isinstance(emission, LinearGaussian)
    if outputs <= model.state_dim and _learnt(emission.noise):
        model = eqx.tree_at(lambda m: m.emission.noise, model, Positive.of(unexplained[:outputs] / 3.0))
    return model


def _learnt(noise: PyTree) -> bool:
    return isinstance(noise, Positive) and all(jax.tree.leaves(trainable_mask(noise)))


def _cycles(
    now: Trained, data: Padded, cycles: int, rule: AbstractExpectation, progress: Progress, key: PRNGKeyArray
) -> Trained:
    """Smooth and fit in turn. A cycle that fails ends them; the model of the highest bound is kept."""
    began, best, history = time.monotonic(), None, History(float(np.sum(np.asarray(data.valid))))
    for cycle in range(cycles):
        recognition = now.inference.recognition
        assert isinstance(recognition, FreeStates)
        try:
            smoothed = linearised_posterior(now.model, data, np.asarray(recognition.means))
        except np.linalg.LinAlgError:
            history.events.append(f"cycle {cycle + 1}: the states could not be smoothed; went on without more cycles")
            break
        inference = Variational(FreeStates.from_posterior(smoothed), closed_form(now.model.transition), rule)
        now = polish(
            *prepare(now.model, inference, np.float64),
            data,
            iterations=CYCLE_ITERATIONS,
            freeze=lambda model, inference: inference.recognition,
            key=jr.fold_in(key, cycle),
        )
        history = history.then(replace(now.history, events=[]))
        if not len(now.history.bound):
            break
        if best is None or now.history.bound[-1] > best[0]:
            best = (now.history.bound[-1], now)
        progress.update(
            Status(
                stage="cycle",
                step=cycle + 1,
                total=cycles,
                bound=float(now.history.bound[-1]),
                process_noise=np.asarray(now.model.transition.noise_variance()),
                measurement_noise=np.asarray(now.model.emission.noise_variance()),
                steps_per_second=(cycle + 1) / (time.monotonic() - began),
            )
        )
        if now.result is Result.interrupted:
            return replace(best[1], history=history, result=Result.interrupted)
    kept = now if best is None else best[1]
    history.events.append(f"{cycles} cycles of smoothing and fitting" + (f" to {best[0]:.4f} a step" if best else ""))
    return replace(kept, history=history)
