"""The variational method: q(X), q(u), the expectation, the optimiser and the start are axes that combine freely."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm._core._params import cast
from gpssm._core._random import split
from gpssm._core._result import Result
from gpssm.data import DataError
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._method import left_over, split_key
from gpssm.fitting._problem import Freeze, Training, prepare
from gpssm.inference import (
    AbstractExpectation,
    AbstractInducing,
    AbstractInference,
    AbstractRecognition,
    Explicit,
    MeanField,
    MonteCarlo,
    closed_form,
    default_rule,
)
from gpssm.methods._copies import copies_measurements
from gpssm.methods._model_spec import ModelSpec
from gpssm.methods._pairs import Pairs
from gpssm.methods._q_x import AbstractStates, Network, reader_of
from gpssm.models import GPSSM, Batch
from gpssm.optimisers import AbstractOptimiser, Adam, Trained
from gpssm.predict import System

COPIES = (
    "the process noise ended above the measurement noise in every output: either the sensors are that good, or the "
    "network copies the measurements; Variational(..., first=Pairs()) starts where it smooths them"
)


class Variational(AbstractMethod):
    """Maximise a variational bound. The defaults are the paper's method with q(u) at its optimum.

    With an earlier fit (`then`, or `start=`), the model and the states go on from it. An inference of your own takes
    the place of q(X), q(u) and the expectation.
    """

    model: ModelSpec | GPSSM | None = None
    """Settings, or a model that you have put together; None goes on with the model of the earlier fit."""
    q_x: AbstractStates | AbstractRecognition = Network()
    q_u: AbstractInducing | None = None
    """None: at its optimum, if there is a q(u)."""
    expectation: AbstractExpectation | None = None
    """None: one path for a network, as in the paper; quadrature for states at each step, as L-BFGS needs."""
    optimiser: AbstractOptimiser = Adam(800)
    inference: AbstractInference | None = None
    """Your own; then the three above are not used."""
    distil: int = 0
    """Steps in which a network of the earlier fit learns to read states as the new model means them; 0 drops it."""
    freeze: Freeze | None = None
    """Names the parts to hold: `lambda model, inference: (model.emission, inference.recognition)`."""
    dtype: str = "float64"
    first: Pairs | None = None
    """A regression that gives a model made from settings its first kernels and noises. None: those of the settings."""

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Train, let the network follow if there is one and that was asked for, and say if it learnt to copy."""
        made = self.trained(data, run, key=key)
        assert isinstance(made.system, System)
        if made.result.good and reader_of(made) is not None and copies_measurements(made.system.model):
            run.say(COPIES)
            return made.with_event(COPIES)
        return made

    def trained(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """The fit without a word on its noises, for methods of which it is a part."""
        model_key, network_key, fit_key = split_key(key)
        model = self._model(data, run, model_key)
        inference = self._inference(model, data, network_key)
        watch = inference.for_new_records() is not None
        training = Training(data.batch(self.dtype), data.held_out(self.dtype) if watch else None, self.freeze)
        stage = run.stage("train", shown=type(self.optimiser).__name__.replace("LBFGS", "L-BFGS"))
        trained = self.optimiser.run(prepare((model, inference), self.dtype), training, stage, key=fit_key)
        network = trained.inference.reader()
        made = fit_of(trained, network, data, self)
        earlier = reader_of(data.start)
        if network is None and earlier is not None and self.distil > 0 and made.result is not Result.interrupted:
            return distilled(made, earlier, self.distil, data, run, key=left_over(key))
        return made

    def _model(self, data: Prepared, run: Run, key: PRNGKeyArray) -> GPSSM:
        earlier = data.start.system.model if data.start is not None and isinstance(data.start.system, System) else None
        if isinstance(self.model, GPSSM):
            return self.model
        if earlier is None:
            if self.model is None:
                raise DataError(
                    "Variational() has no model to start from: give ModelSpec(states=...), or an earlier fit"
                )
            model = self.model.build(data, dtype=self.dtype, key=key)
            if self.first is None:
                return model
            return cast(self.first.improved(model, data, run.stage("pairs"), key=key), self.dtype)
        if self.model is not None and self.model.states != earlier.state_dim:
            raise DataError(
                f"the earlier fit has {earlier.state_dim} states and this method asks for {self.model.states}: leave "
                "the model out to go on with that one"
            )
        return earlier

    def _inference(self, model: GPSSM, data: Prepared, key: PRNGKeyArray) -> AbstractInference:
        if self.inference is not None:
            return self.inference
        states: Any = self.q_x
        if isinstance(states, AbstractStates):
            states = states.build(model, data, dtype=self.dtype, key=key)
        rule = self.expectation
        if rule is None:
            amortised = states.reads_new_episodes()
            rule = MonteCarlo(1) if amortised else default_rule(model.state_dim)
        return MeanField(states, closed_form(model.transition) if self.q_u is None else self.q_u, rule)


def fit_of(trained: Trained, network: AbstractRecognition | None, data: Prepared, method: AbstractMethod) -> Fit:
    """The system in the user's units, and what it came from."""
    model, network = cast((trained.model, network), np.float64)
    system = System(model, data.scaler, data.channels, network)
    return Fit.of(system, method, trained.result, trained.history, inference=trained.inference)


def bound_of(fit: Fit, rule: AbstractExpectation, data: Prepared) -> float:
    """The bound of a fit to these data, a step, by another rule for expectations over states."""
    assert isinstance(fit.inference, MeanField) and isinstance(fit.system, System)
    inference = eqx.tree_at(lambda i: i.expectation, fit.inference, rule)
    return float(_total(fit.system.model, inference, data.batch())) / data.episodes.num_steps


@compile_by_work(lambda model, inference, batch: batch.valid.size)
def _total(model: GPSSM, inference: MeanField, batch: Batch) -> Float[Array, ""]:
    return inference.bound(model, batch, key=jr.key(0))[0].total()


def distilled(
    fit: Fit, network: AbstractRecognition, steps: int, data: Prepared, run: Run, *, key: PRNGKeyArray
) -> Fit:
    """The fit with a network that was trained alone, so that it reads states as the new model means them."""
    assert isinstance(fit.system, System)
    inference = MeanField(network, Explicit(), MonteCarlo(1))
    batch = data.batch()
    # The other half was for the search that found the model, which quadrature makes deterministic.
    _, follow_key = split(key)
    followed = Adam(steps).run(
        prepare((fit.system.model, inference), batch.y.dtype),
        Training(batch, freeze=lambda model, inference: model),
        run.stage("network"),
        key=follow_key,
    )
    result, history = fit.result, fit.history
    if not followed.result.good:
        history = replace(history, events=history.events + followed.history.events)
    if followed.result is Result.interrupted:
        result = followed.result
    elif followed.result is Result.diverged:
        # The model is as good as it was; only what reads new records is not.
        event = "the network met NaN and was left as it last was: to start from its states may be poorer than a filter"
        history.events.append(event)
        run.say(event)
    reader = cast(followed.inference.reader(), np.float64)
    system = System(fit.system.model, data.scaler, data.channels, reader)
    return Fit.of(system, fit.method, result, history, inference=fit.inference, parts=fit.parts)
