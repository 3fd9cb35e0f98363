"""`Marginal`: states integrated out by a filter, the function by Laplace."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._interrupt import InterruptedFitError
from gpssm._core._params import cast
from gpssm._core._random import split
from gpssm._core._result import Result
from gpssm.data import DataError
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._method import split_key
from gpssm.fitting._problem import Training, prepare
from gpssm.inference._defaults import coarse_rule
from gpssm.inference.marginal import (
    AbstractCarry,
    FilterLaplace,
    FreeRuns,
    NoisePrior,
    OnNodes,
    Parts,
    PointMass,
    function_posterior,
    with_posterior,
)
from gpssm.methods._around_linear import AroundLinear
from gpssm.methods._guess import AbstractGuess, Differences, SubspaceStates
from gpssm.methods._model_spec import ModelSpec
from gpssm.methods._pairs import first_model
from gpssm.methods._tried import Tried, stretches
from gpssm.methods._with_gp import with_gp
from gpssm.methods.marginal._safeguards import filter_gap, on_a_line, remarks
from gpssm.methods.marginal._watched import watched
from gpssm.models import GPSSM, Batch, JointPosterior, SparseGP
from gpssm.optimisers import LBFGS
from gpssm.predict import System

SETTLED = 1e-4
"""A round that gains less, in nats a step, is the last."""
NOT_EXACT = 0.01
"""With one state, training goes on with the exact filter where the Gaussian one is off by more nats a step."""
EXACT_ROUNDS = 2


class Marginal(AbstractMethod):
    """Noises and bands without the bias of a factorised posterior.

    For each function the states are integrated out by a Gaussian filter; the posterior of the inducing values, of all
    state dimensions together, has the information that the filter's innovations carry; and noises, kernels and values
    are trained on that evidence by L-BFGS. There is no network and no posterior over states. Predictions draw whole
    functions from the joint posterior, each of which reads the start that it runs on from. With one state, a filter on
    a grid takes the place of the Gaussian one where that is not good enough.

    For small and medium data: keep the inducing values of all states together below half of what was measured. After
    another fit (`then`, or `start=`) it goes on from its model; with `rounds=0` it only puts the covariance of its
    function right, which in a mean-field fit is too narrow.
    """

    model: ModelSpec | AroundLinear | GPSSM | None = None
    """Settings, or a model that you have put together; None goes on with the model of the earlier fit. With
    `AroundLinear`, training begins at a stable linear system: for records whose free runs are long."""
    guess: AbstractGuess | None = None
    """How first states are read off the outputs. None: where states are hidden, by differences and by subspace
    regression, and the one is kept whose model runs better over stretches that were held out."""
    rounds: int = 4
    """Of L-BFGS, each with a new metric; it ends before where nothing is gained."""
    iterations: int = 60
    """In each round."""
    watch: bool | None = None
    """Whether free runs over stretches that are held out say after how many rounds training ends; a second training
    then has everything, and free runs as wide as the stretches asked for. The evidence judges single steps, and may
    rise long after free runs have become worse. None: with `AroundLinear`."""
    carry: AbstractCarry | None = None
    """How the filter takes moments: `OnNodes`, `ExactMoments` or `Tangent`. None: Gauss-Hermite nodes up to three
    states, cubature beyond, and with `AroundLinear`, where the GP is slow."""
    exact: PointMass | None = PointMass()
    """The filter on a grid for a single state that a linear emission shows; None never uses it."""
    prior: NoisePrior = NoisePrior()
    free: FreeRuns | None = None
    """A share of free runs in what is maximised, for long runs of systems that no model of this size explains. None:
    with `AroundLinear`, the share that `FreeRuns()` has; `FreeRuns(0.0)` maximises the evidence alone."""
    parts: Parts = Parts()
    """Long records in pieces that are filtered side by side, and many pieces some at a time. The filter on a grid takes
    records whole."""
    fitc: bool = False
    """Whether variance that the inducing values leave unexplained counts as process noise in training (FITC, for rough
    kernels), or not (DTC)."""
    move_inducing: bool | None = None
    """Whether inducing inputs are trained. None: by the first regression only, unless there is one state and no input,
    where they cover all there is; with `AroundLinear`, where no regression comes first, they stay where the linear
    system has been. In more dimensions points must go where they are needed; but the evidence is of a model that is
    nothing but its inducing values, and with free inputs it learns the noise as well, so that bands become too narrow.
    False leaves them where they were built. True lets the evidence move them, and trajectories then have nothing but
    these values: for so many dimensions that a few dozen points leave most of the function open."""
    draws: int = 12
    """Functions over which the information is averaged at the end; 0 takes it at the optimum alone."""

    def __check_init__(self) -> None:
        for name, least in (("rounds", 0), ("iterations", 1), ("draws", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: need at least {least}")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Choose the first states if there is a choice, and train."""
        earlier = None if data.start is None else data.start.system
        if isinstance(earlier, System) and (self.watch or isinstance(self.model, AroundLinear)):
            raise DataError("Marginal goes on from an earlier fit as it stands: leave out watch=True and AroundLinear")
        if isinstance(earlier, System) and not isinstance(self.model, GPSSM):
            return self._trained(with_gp(earlier.model), data, run, key)
        if self.model is None:
            raise DataError("Marginal() has no model to start from: give ModelSpec(states=...), or an earlier fit")
        if isinstance(self.model, ModelSpec) and self.guess is None:
            if self.model.states > data.episodes.num_outputs:
                return self._chosen(data, run, key)
            return replace(self, guess=SubspaceStates()).fit(data, run, key=key).by(self)
        if isinstance(self.model, AroundLinear) and (self.carry is None or self.free is None):
            carry = self.carry or OnNodes(coarse_rule(max(self.model.choices)))
            return replace(self, carry=carry, free=self.free or FreeRuns()).fit(data, run, key=key).by(self)
        if self.rounds and (isinstance(self.model, AroundLinear) if self.watch is None else self.watch):
            return self._watched(data, run, key)
        if isinstance(self.model, AroundLinear) and len(self.model.choices) > 1:
            raise DataError(
                f"states={self.model.states}: only free runs that are watched can choose among several; give one number"
            )
        return self._trained(self._first(data, run, key), data, run, key)

    def _first(self, data: Prepared, run: Run, key: PRNGKeyArray) -> GPSSM:
        if isinstance(self.model, AroundLinear):
            return self.model.build(data, key=split_key(key)[0])
        if isinstance(self.model, GPSSM):
            model, guess = with_gp(self.model), self.guess or SubspaceStates()
        else:
            assert self.model is not None and self.guess is not None
            # In these coordinates the prior of the values is standard normal.
            model, guess = replace(self.model, whitened=True).build(data, key=split_key(key)[0]), self.guess
        states = guess.states(data, model.state_dim)
        stage = run.stage("first")
        assert isinstance(model.transition, SparseGP)
        several = model.transition.inducing.shape[-1] > 1
        places = several if self.move_inducing is None else self.move_inducing
        return first_model(model, data.batch(), states, stage, move_inducing=places, key=key)

    def _chosen(self, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        """By free runs over stretches that no candidate has seen: the evidence of different meanings of the hidden
        states does not say which predicts better."""
        guesses: dict[str, AbstractGuess] = {"differences": Differences(), "subspace": SubspaceStates()}
        folds, n_init = stretches(data.episodes)
        if not folds or min(map(len, data.episodes)) < 3:
            return replace(self, guess=SubspaceStates()).fit(data, run, key=key).by(self)
        tried = Tried.of(folds, n_init, data, run.within("choose"), key)
        try:
            for name, guess in guesses.items():
                tried.attempt(f"hidden states by {name}", replace(self, guess=guess, watch=False))
        except InterruptedFitError:
            return tried.as_it_stands(self, data, key)
        if not tried.fits:
            return replace(self, guess=SubspaceStates()).fit(data, run, key=key).by(self)
        best = max(tried.fits, key=tried.value)
        told = ", ".join(
            f"{name} {tried.value(name):.3f} (evidence {fit.best_bound:.3f} a step)" for name, fit in tried.fits.items()
        )
        run.say(f"free runs over held-out stretches: {told}; kept {best}")
        final = replace(tried.methods[best], watch=self.watch)
        made = final.fit(data, run.within("final"), key=key)
        return made.with_event(f"free runs over held-out stretches: {told}; kept {best}").by(self)

    def _watched(self, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        """With everything, after as many rounds (and, around a linear system, with as many states) as free runs over
        held-out stretches ask for."""
        folds, n_init = stretches(data.episodes)
        final = replace(self, watch=False)
        if not folds:
            told = "the records are too short to hold anything out: all rounds are made"
            if isinstance(self.model, AroundLinear) and len(self.model.choices) > 1:
                final = replace(final, model=replace(self.model, states=self.model.choices[0]))
                told += f", with {self.model.choices[0]} states"
            run.say(told)
            return final.fit(data, run, key=key).with_event(told).by(self)
        tried = Tried.of(folds, n_init, data, run.within("watch"), key)
        try:
            final, name, told = watched(final, tried)
        except InterruptedFitError:
            return tried.as_it_stands(self, data, key)
        run.say(told)
        made = final.fit(data, run.within("final"), key=key).with_event(told)
        if made.result is not Result.interrupted:
            # The stretches were judged at the width that they ask for.
            made = tried.widened(name, made)
        # Whoever fits once more need not look once more.
        return replace(made.by(self), parts=(made.by(final),))

    def _trained(self, model: GPSSM, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        batch = data.batch()
        now = Searched(model, History(float(np.sum(np.asarray(batch.valid)))), Result.finished)
        now = self._searched(now, batch, None, self.rounds, run, key)
        exact = None
        if now.result.good and self.rounds and self._needs_exact(now.model, batch, run):
            exact = self.exact
            now = self._searched(now, batch, exact, EXACT_ROUNDS, run, key)
        return self._finished(now, batch, data, exact, run, key)

    def _searched(
        self, now: "Searched", batch: Batch, exact: PointMass | None, rounds: int, run: Run, key: PRNGKeyArray
    ) -> "Searched":
        """Rounds of L-BFGS, each in the metric of the posterior at its start."""
        name, shown = ("round", "marginal") if exact is None else ("grid", "marginal on a grid")
        training = Training(batch, freeze=None if self.move_inducing else _inducing)
        for i in range(rounds):
            stage = run.stage(f"{name}{i + 1}", shown=f"{shown} {i + 1}/{rounds}")
            tree = prepare((now.model, self._about(now.model, batch, exact)), np.float64)
            trained = LBFGS(self.iterations, tolerance=1e-8).run(tree, training, stage, key=split_key(key)[2])
            history = now.history.then(trained.history)
            if trained.result is Result.diverged:
                return Searched(now.model, history, now.result if i else Result.diverged)
            now = Searched(trained.model, history, trained.result)
            bound = trained.history.bound
            if now.result is Result.interrupted or not len(bound) or bound[-1] - bound[0] < SETTLED:
                return now
        return now

    def _about(self, model: GPSSM, batch: Batch, exact: PointMass | None) -> FilterLaplace:
        return FilterLaplace.about(
            model,
            batch,
            carry=self.carry,
            prior=self.prior,
            exact=exact,
            free=self.free,
            parts=self.parts,
            fitc=self.fitc,
        )

    def _needs_exact(self, model: GPSSM, batch: Batch, run: Run) -> bool:
        if self.exact is None or not on_a_line(model) or (self.free is not None and self.free.share):
            return False
        # On the grid nothing is drawn.
        gap = filter_gap(self._about(model, batch, None), model, batch, key=jr.key(0))
        if abs(gap.off) <= NOT_EXACT:
            return False
        run.say(
            f"the Gaussian filter's evidence is off by {gap.off:+.3f} nats a step: going on with a filter on a grid"
        )
        return True

    def _finished(
        self, now: "Searched", batch: Batch, data: Prepared, exact: PointMass | None, run: Run, key: PRNGKeyArray
    ) -> Fit:
        """The joint posterior of the function, and what is to be said of it."""
        posterior_key, check_key = split(split_key(key)[1])
        history, stopped = now.history, now.result is Result.interrupted
        inference = self._about(now.model, batch, exact)
        draws = 0 if stopped else self.draws
        # Of the evidence alone: the errors of a free run are one error that is seen again and again. Taken for news at
        # each step, they would make the function much too certain.
        believed = replace(inference, free=None)
        posterior = function_posterior(believed, now.model, batch, draws=draws, key=posterior_key)
        if not np.isfinite(posterior.covariance).all():
            return Fit.of(System(now.model, data.scaler, data.channels), self, Result.diverged, history)
        model = cast(with_posterior(now.model, inference.values(), posterior.covariance), np.float64)
        # Trajectories also have what the inducing values leave open, counted in training or not: without it, bands are
        # those of somebody who has tried every function that a few dozen values can make, and no other.
        whole = self.fitc or not self.move_inducing
        joint = JointPosterior(jnp.asarray(np.linalg.cholesky(posterior.covariance)), whole)
        if not stopped:
            mixed = inference.free is not None or not len(history.bound)
            # What is maximised has the prior of the noise in it, which the bound of the posterior has not.
            prior = float(self.prior.log_prob(model)) / history.num_steps
            evidence = None if mixed else float(history.bound[-1]) - prior
            gap = filter_gap(inference, model, batch, key=check_key)
            for remark in remarks(inference, model, batch, evidence, posterior, gap):
                history.events.append(remark)
                run.say(remark)
        system = System(model, data.scaler, data.channels, joint=joint)
        return Fit.of(system, self, now.result, history, inference=inference)


class Searched(NamedTuple):
    """Where training stands."""

    model: GPSSM
    history: History
    result: Result


def _inducing(model: GPSSM, inference: FilterLaplace):
    assert isinstance(model.transition, SparseGP)
    return model.transition.inducing
