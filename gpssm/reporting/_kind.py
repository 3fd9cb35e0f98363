"""What a page says of a kind of model beyond its predictions: its name, and what to try with it."""

from dataclasses import dataclass, fields, replace
from functools import singledispatch
from typing import final

import numpy as np
from jaxtyping import Float

from gpssm.models import LinearTransition, SparseGP
from gpssm.predict import (
    AbstractPredictor,
    Autoregression,
    ConstantPredictor,
    LinearPredictor,
    MixturePredictor,
    RepeatPredictor,
    System,
)
from gpssm.predict.autoregression import LinearRegression

LEARN = "gpssm fit --method auto"
MORE = "gpssm fit --effort thorough"
"""The same where `Auto` has chosen the model."""
MISSED = "something in the dynamics is missed"


@final
@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of model in words. Each remedy has one wording, so that a page says it once."""

    name: str
    richer: str
    """What to try when it misses something that could be predicted."""
    calmer: str
    """When its free runs leave all bounds."""
    sensor: str
    """When it takes noise of the sensor for motion."""
    mends: str
    """What may mend the cause of bands that are too narrow, as a half sentence."""
    learnt: bool = True
    """Whether it was learnt how outputs follow from what was before; if not, learning is the only remedy."""
    measurement_noise: Float[np.ndarray, " O"] | None = None
    """Standard deviation in the user's units, where the model tells it from disturbances of the system."""


@singledispatch
def kind_of(system: AbstractPredictor) -> Kind:
    """What can be said of any model. `kind_of.register` adds what can be said of one kind."""
    return Kind(
        name=f"a model of the kind {type(system).__name__}",
        richer=f"Try a model with more freedom, such as a GP state-space model ({LEARN}): {MISSED}.",
        calmer="Train on longer records, or a simpler model, so that the learnt dynamics are stable.",
        sensor=f"Try a model that tells noise of the sensor from motion, as a state-space model does ({LEARN}).",
        mends="a model with more freedom may mend the cause",
    )


def kind_as_learnt(system: AbstractPredictor) -> Kind:
    """What can be said of a model that may have been chosen among several: to let them compete is no remedy then."""
    kind, history = kind_of(system), system.history
    if history is None or not history.chosen:
        return kind
    told = {part.name: getattr(kind, part.name) for part in fields(kind)}
    return replace(kind, **{name: words.replace(LEARN, MORE) for name, words in told.items() if isinstance(words, str)})


@kind_of.register(System)
def _state_space(system: System) -> Kind:
    model = system.model
    more = f"one state more (states={model.state_dim + 1})"
    richer, mends = f"Try {more}: {MISSED}.", "a state more or a longer training may mend the cause"
    if isinstance(model.transition, SparseGP):
        richer = f"Try {more}, more inducing points, or let several methods compete ({LEARN}): {MISSED}."
        mends = f"more inducing points, {mends}"
    elif isinstance(model.transition, LinearTransition):
        richer = f"Try {more}, then a model that is not linear ({LEARN}): {MISSED}."
        mends = f"a state more or a model that is not linear ({LEARN}) may mend the cause"
    return Kind(
        name=f"a model with {model.state_dim} state{'s' if model.state_dim > 1 else ''}",
        richer=richer,
        calmer="Train on longer records, or with fewer states, so that the learnt dynamics are stable.",
        sensor="Train longer, or hold the measurement noise at its known value: it seems to be too small.",
        mends=mends,
        measurement_noise=system.scaler.undo_std(np.sqrt(np.asarray(model.emission.noise_variance()))),
    )


@kind_of.register(LinearPredictor)
def _linear(system: LinearPredictor) -> Kind:
    order = system.system.order
    more = f"one state more ({order + 1})"
    return Kind(
        name=f"a linear model with {order} state{'s' if order > 1 else ''}",
        richer=f"Try {more}, then a model that is not linear ({LEARN}): {MISSED}.",
        calmer="Train on longer records, or with fewer states, so that the learnt dynamics are stable.",
        sensor="Try the most likely linear model (gpssm fit --method linear): the measurement noise seems too small.",
        mends=f"a state more or a model that is not linear ({LEARN}) may mend the cause",
        measurement_noise=system.scaler.undo_std(np.sqrt(system.system.R)),
    )


@kind_of.register(Autoregression)
def _autoregression(system: Autoregression) -> Kind:
    lags, linear = system.lags, isinstance(system.regression, LinearRegression)
    other = f"{'a model that is not linear' if linear else 'a state-space model'} ({LEARN})"
    return Kind(
        name=f"{'a linear' if linear else 'an'} autoregression",
        richer=f"Try more lags (now {lags.outputs} of outputs, {lags.inputs} of inputs), then {other}: {MISSED}.",
        calmer="Train on longer records, or with fewer lags, so that the learnt recurrence is stable.",
        sensor="An autoregression feeds noise of the sensor back as if it were motion: a state-space model "
        f"({LEARN}) tells the two apart.",
        mends=f"more lags or a state-space model ({LEARN}) may mend the cause",
    )


@kind_of.register(MixturePredictor)
def _mixture(system: MixturePredictor) -> Kind:
    return Kind(
        name=f"a mixture of {len(system.members)} models",
        richer=f"Add members of another kind, or better ones: {MISSED} by all of them.",
        calmer="Compare the members with each other, and leave out those whose free runs leave all bounds.",
        sensor="Compare the members with each other: some take noise of the sensor for motion.",
        mends="members that are better, or a larger width of the mixture, may mend the cause",
    )


@kind_of.register(ConstantPredictor)
def _constant(system: ConstantPredictor) -> Kind:
    return _not_learnt("a constant")


@kind_of.register(RepeatPredictor)
def _repeat(system: RepeatPredictor) -> Kind:
    return _not_learnt("a record that is repeated")


def _not_learnt(name: str) -> Kind:
    advice = f"Learn a model: {LEARN}."
    mends = f"a model that is learnt ({LEARN}) may mend the cause"
    return Kind(name=name, richer=advice, calmer=advice, sensor=advice, mends=mends, learnt=False)
