"""The linear-Gaussian state-space model by maximum likelihood: the opponent that a nonlinear model has to beat."""

import time
from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._params import Positive, cast, val
from gpssm._core._result import Result
from gpssm._core._rounds import Evaluation
from gpssm.data import DataError, Episodes
from gpssm.data._episodes import part_of
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run, Stage, Status
from gpssm.fitting._search import search
from gpssm.methods.linear._objective import Objective, Shapes
from gpssm.methods.linear._score import evidence
from gpssm.methods.linear._simulated import free_run_error, noise_factor
from gpssm.methods.linear._start import linear_starts, of_other_kinds, shrunk, spectral_radius
from gpssm.methods.linear._subspace import ENOUGH, heads_and_tails, pieces
from gpssm.models import GPSSM, LinearGaussian, LinearMean, LinearTransition
from gpssm.predict import LinearSystem, System
from gpssm.predict._kalman import grouped

FIRST = 40
"""Iterations from each start, before the best of them goes on."""
SEARCHED = 4
"""Starts that are searched from: so many of the most likely ones, of different kinds."""
SHARE = 0.3
"""Of free runs in the objective, where they are found to need one."""
SPREAD = 0.1
"""Of starts at random around the best one."""


class Linear(AbstractMethod):
    """x[0] ~ N(0, I), x[t+1] = A x + B u + c + N(0, diag), y = C x + b + N(0, diag), all learnt by maximum likelihood.

    Unit initial covariance and diagonal process noise are a choice of coordinates, not a restriction. First models come
    from subspace identification and autoregression, and from them with other noises: evidence has several maxima, and
    in some of them all noise is the system's or all is the sensors'. L-BFGS on the exact evidence (Kalman filter,
    episodes of any length, missing outputs left out) takes some steps from the best of each kind, and goes on from
    where that led highest.
    """

    order: int
    """Number of states."""
    iterations: int = 200
    restarts: int = 1
    """Starts: those beyond the first are near the best one at random, and join those of other kinds."""
    max_radius: float = 1.0
    """A model that explains single steps well can still explode in a long free run. Growth of A^1024 beyond that of an
    integrator is therefore penalised in the search, and should the largest absolute eigenvalue of A end above this
    nevertheless, A is scaled down to it. Systems known to be unstable need a larger one."""
    simulation_weight: float | None = None
    """Maximum likelihood judges single steps. Where no linear model is right, the best one for long free runs is
    another: above zero, a second search, from the first one's end, maximises this share of the log-density of each
    output in a free run from the initial distribution, plus the rest of the evidence. None takes a share of 0.3 if it
    brings free runs over the ends of the records closer, in short searches that have not seen them, and else none. With
    such a share the process noise is raised to what those ends ask for: bands must know what the model misses."""

    def __check_init__(self) -> None:
        if self.simulation_weight is not None and not 0.0 <= self.simulation_weight <= 1.0:
            raise ValueError(f"simulation_weight={self.simulation_weight}: must lie between 0 and 1")
        if self.order < 1:
            raise ValueError(f"order={self.order}: a state-space model needs at least one state")
        if self.max_radius <= 0.0:
            raise ValueError(f"max_radius={self.max_radius}: must be positive")

    @property
    def deterministic(self) -> bool:
        return self.restarts == 1

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """The most likely linear model, ready for every kind of prediction."""
        began, scaled = time.monotonic(), data.scaled
        shapes = Shapes(self.order, scaled.num_inputs, scaled.num_outputs)
        objective = Objective(grouped(scaled), self.max_radius)
        starts = linear_starts(scaled, self.order, max_radius=self.max_radius)
        first = _ranked(of_other_kinds(starts), objective)
        if not first:
            raise DataError(
                f"no linear model with {self.order} states can be started from {data.episodes.num_steps} steps"
            )
        found = self._searched(first, objective, shapes, run, key)
        history = History(float(data.episodes.num_steps))
        share, wider, told = (self.simulation_weight or 0.0), 1.0, ""
        if self.simulation_weight is None and not found.interrupted:
            share, wider, told = self._judged_share(scaled, shapes, run)
            found = found._replace(interrupted=run.interrupted)
        if share > 0.0 and not found.interrupted:
            blended = Objective(objective.groups, self.max_radius, share)
            found = climb(found.system, blended, shapes, self.iterations, run.stage("free-run", shown="free run"))
            found = found._replace(system=replace(found.system, Q=wider * found.system.Q))
        if share > 0.0 or told:
            history.events.append(f"free run: a share of {share} in the objective{told}")
        system = _stabilised(found.system, self.max_radius, history)
        values = np.asarray([first[0].value, evidence(found.system, objective.groups)])
        history.bound = values / data.episodes.num_steps
        history.events.append(
            f"maximum likelihood: {len(first)} starts, evidence a step {history.bound[0]:.4f} at the best of them, "
            f"{history.bound[1]:.4f} at the end"
        )
        history.seconds = time.monotonic() - began
        made = System(_model(system), data.scaler, data.channels)
        return Fit.of(made, self, Result.interrupted if found.interrupted else Result.finished, history)

    def _judged_share(self, scaled: Episodes, shapes: Shapes, run: Run) -> tuple[float, float, str]:
        """The share of free runs under which those over the ends of the records are closest, how many times the process
        noise those then ask for, and why."""
        heads, tails = heads_and_tails(pieces(scaled))
        starts = linear_starts(part_of(heads), self.order, max_radius=self.max_radius) if heads else []
        plain = Objective(grouped(heads), self.max_radius)
        first = _ranked(starts, plain)
        if not first:
            return 0.0, 1.0, ""
        steps, errors = min(FIRST, self.iterations), {}
        found = climb(first[0].system, plain, shapes, steps, run.stage("ends", shown="ends of the records"))
        for share in (0.0, SHARE):
            if share > 0.0 and not found.interrupted:
                blended, stage = Objective(plain.groups, self.max_radius, share), run.stage("ends-free-run")
                found = climb(found.system, blended, shapes, steps, stage)
            stable = replace(found.system, A=shrunk(found.system.A, self.max_radius))
            with np.errstate(all="ignore"):
                errors[share] = np.sqrt(free_run_error(stable, tails))
        told = f": error over the ends of the records {errors[SHARE]:.3g} with {SHARE}, {errors[0.0]:.3g} with none"
        if not errors[SHARE] * ENOUGH < errors[0.0]:
            return 0.0, 1.0, told
        wider = noise_factor(stable, tails)
        return SHARE, wider, f"{told}; process noise times {wider:.3g}, as the ends ask for"

    def _searched(
        self, first: list["Climbed"], objective: Objective, shapes: Shapes, run: Run, key: PRNGKeyArray
    ) -> "Climbed":
        """Some steps from each start, and on from the best."""
        starts = [start.system for start in first[:SEARCHED]]
        for again in jr.split(key, self.restarts)[1:]:
            moved = shapes.flat(starts[0])
            starts.append(shapes.system(moved + SPREAD * np.asarray(jr.normal(again, moved.shape))))
        best = first[0]
        for i, start in enumerate(starts):
            stage = run.stage(f"search{i}", shown="linear")
            found = climb(start, objective, shapes, min(FIRST, self.iterations), stage)
            best = max(best, found, key=lambda climbed: climbed.value)
            if found.interrupted:
                return best._replace(interrupted=True)
        if self.iterations <= FIRST:
            return best
        on = climb(best.system, objective, shapes, self.iterations, run.stage("search", shown="linear"))
        return max(best, on, key=lambda climbed: climbed.value)._replace(interrupted=on.interrupted)


class Climbed(NamedTuple):
    """Where a search ended, or could start."""

    value: float
    system: LinearSystem
    interrupted: bool = False


def climb(start: LinearSystem, objective: Objective, shapes: Shapes, iterations: int, stage: Stage) -> Climbed:
    """L-BFGS from a start. Goes on from the last checkpoint if the stage was broken off."""
    begin = shapes.flat(start)
    ended = stage.finished(begin)
    if ended is not None:
        return Climbed(float(ended[1].bound[-1]), shapes.system(np.asarray(ended[0])))

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray, None]:
        # Steps that are far too long overflow, and the search turns back.
        with np.errstate(all="ignore"):
            system = shapes.system(flat)
            value, score = objective(system)
            return -value, -shapes.slope(system, score), None

    def tell(accepted: Evaluation, history: History) -> Status:
        history.bound = np.append(history.bound, -accepted.loss)
        done = len(history.bound)
        return Status(stage.shown, done, iterations, -accepted.loss, done / history.seconds, label="log-evidence")

    searched = search(
        evaluate, begin, stage, History(1.0), iterations=iterations, tell=tell, tolerance=1e-9, gradient_tolerance=1e-6
    )
    if searched.best is None:
        return Climbed(-np.inf, start, searched.ending is None)
    found = Climbed(-searched.best.loss, shapes.system(searched.best.at), searched.ending is None)
    if not found.interrupted:
        searched.history.bound = np.append(searched.history.bound, found.value)
        stage.end(searched.best.at, searched.history, Result.finished)
    return found


def kalman_evidence(system: System, episodes: Episodes) -> float:
    """Exact log-evidence of episodes under a linear model, in standardised units."""
    return evidence(linear_system(system.model), grouped(system.scaler.apply(episodes)))


def linear_system(model: GPSSM) -> LinearSystem:
    """The matrices of a linear state-space model."""
    transition, emission = model.transition, model.emission
    if not isinstance(transition, LinearTransition) or not isinstance(emission, LinearGaussian):
        raise TypeError("only a state-space model with a linear transition and a linear emission has such matrices")
    size = model.state_dim
    return LinearSystem(
        A=_array(transition.mean.state_matrix),
        B=_array(transition.mean.control_matrix),
        c=_array(transition.mean.offset),
        C=_array(val(emission.weight)),
        b=_array(val(emission.offset)),
        Q=np.diag(_array(transition.noise_variance())),
        R=_array(emission.noise_variance()),
        m0=np.zeros(size),
        P0=np.eye(size),
    )


def _array(values: object) -> Float[np.ndarray, "..."]:
    return np.asarray(values, dtype=float)


def _ranked(starts: list[LinearSystem], objective: Objective) -> list[Climbed]:
    """The most likely first; those that explode are left out."""
    with np.errstate(all="ignore"):
        tried = [Climbed(objective(start)[0], start) for start in starts]
    finite = [trial for trial in tried if np.isfinite(trial.value)]
    return sorted(finite, key=lambda trial: -trial.value)


def _model(system: LinearSystem) -> GPSSM:
    transition = LinearTransition(
        LinearMean(jnp.asarray(system.A), jnp.asarray(system.B), jnp.asarray(system.c)),
        Positive.of(jnp.asarray(np.diagonal(system.Q))),
    )
    emission = LinearGaussian(jnp.asarray(system.C), jnp.asarray(system.b), Positive.of(jnp.asarray(system.R)))
    return cast(GPSSM(transition, emission, system.order), np.float64)


def _stabilised(system: LinearSystem, max_radius: float, history: History) -> LinearSystem:
    radius = spectral_radius(system.A)
    if radius <= max_radius:
        return system
    history.events.append(f"spectral radius {radius:.5f} scaled down to {max_radius}")
    return replace(system, A=shrunk(system.A, max_radius))
