"""A mixture of systems."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpssm
from gpssm.methods import ARX, Constant
from gpssm.predict import AbstractPredictor, Channels, MeanOnly, MixturePredictor
from tests.reference.fitting import learnt


def _record(level: float, seed: int) -> gpssm.Episodes:
    y = level + 0.1 * np.random.default_rng(seed).standard_normal(40)
    return gpssm.Episodes([gpssm.Episode(y=y)])


def _constant(level: float, seed: int) -> AbstractPredictor:
    return learnt(_record(level, seed), Constant())


def test_the_mean_is_that_of_the_members_and_the_bands_hold_their_disagreement():
    members = (_constant(0.0, 0), _constant(2.0, 1))
    record = _record(1.0, 2)[0]
    found = MixturePredictor(members).simulate(record, n_init=4, num_samples=100, seed=0)
    np.testing.assert_allclose(found.mean, (members[0].mean + members[1].mean)[None] / 2 * np.ones((36, 1)))
    spread = (members[1].mean - members[0].mean) / 2
    np.testing.assert_allclose(found.std[0] ** 2, spread**2 + (members[0].std ** 2 + members[1].std ** 2) / 2)
    assert found.samples.shape == (100, 36, 1)
    assert found.start == 4


def test_members_that_need_more_past_decide_where_predictions_begin():
    train = _record(0.0, 0)
    members = (learnt(train, ARX(1)), learnt(train, ARX(3)))
    alone = members[1].predict(train[0], horizon=2, num_samples=5, seed=0)
    found = MixturePredictor(members).predict(train[0], horizon=2, num_samples=10, seed=0)
    assert found.start == alone.start
    assert found.samples.shape == (10, len(alone), 1)


def test_a_member_without_a_share_still_decides_where_predictions_begin():
    """Whoever asks for the least context a mixture needs, and counts from there, must find what it expects."""
    train = _record(0.0, 0)
    mixture = MixturePredictor((learnt(train, ARX(1)), learnt(train, ARX(3))), (1.0, 0.0))
    assert mixture.least_context == 3
    assert mixture.predict(train[0], horizon=2, num_samples=10, seed=0).start == 4


def test_a_forecast_goes_beyond_the_record():
    train = _record(0.0, 0)
    found = MixturePredictor((learnt(train, Constant()),)).forecast(train[0], steps=6, num_samples=3, seed=0)
    assert (found.start, len(found)) == (40, 6)


def test_an_empty_mixture_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        MixturePredictor(())


@given(weights=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=5).filter(lambda w: sum(w) > 1e-3))
@settings(max_examples=30, deadline=None)
def test_every_member_runs_its_share(weights: list[float]):
    members = tuple(_constant(float(i), i) for i in range(len(weights)))
    found = MixturePredictor(members, tuple(weights)).simulate(_record(1.0, 9)[0], n_init=4, num_samples=50, seed=0)
    assert len(found.signals) == 50
    for member, weight in zip(members, weights, strict=True):
        count = np.sum(found.signals[:, 0, 0] == member.mean[0])
        assert abs(count - 50 * weight / sum(weights)) < 1.0


def test_runs_without_noise_are_weighted_too():
    members = (_constant(0.0, 0), _constant(4.0, 1))
    mixture = MixturePredictor(members, (3.0, 1.0))
    run = mixture.simulate(_record(0.0, 2)[0], n_init=4, num_samples=8, propagation=MeanOnly(), seed=0)
    np.testing.assert_allclose(run.mean[0], 0.75 * members[0].mean + 0.25 * members[1].mean)


def test_a_mixture_may_be_a_member():
    zero, two, four = (_constant(level, i) for i, level in enumerate((0.0, 2.0, 4.0)))
    nested = MixturePredictor((MixturePredictor((zero, two)), four))
    run = nested.simulate(_record(0.0, 2)[0], n_init=4, num_samples=100, seed=0)
    assert len(run.signals) == 100
    np.testing.assert_allclose(run.mean[0], 0.25 * zero.mean + 0.25 * two.mean + 0.5 * four.mean)


def test_the_noise_is_that_of_the_members_by_their_shares():
    members = (_constant(0.0, 0), _constant(0.0, 1))
    run = MixturePredictor(members, (1.0, 3.0)).simulate(_record(0.0, 2)[0], n_init=4, num_samples=40, seed=0)
    np.testing.assert_allclose(run.noise_std**2, 0.25 * members[0].std ** 2 + 0.75 * members[1].std ** 2)


@pytest.mark.parametrize(
    ("weights", "words"), [((1.0,), "one for each"), ((0.0, 0.0), "all zero"), ((1.0, -1.0), "negative")]
)
def test_bad_weights_are_refused(weights: tuple[float, ...], words: str):
    members = (_constant(0.0, 0), _constant(2.0, 1))
    with pytest.raises(ValueError, match=words):
        MixturePredictor(members, weights)


def test_a_narrower_mixture_keeps_the_medians_of_its_members():
    train = _record(0.0, 0)
    members = tuple(learnt(train, ARX(lags)) for lags in (1, 2))
    usual, narrow = (
        MixturePredictor(members, (1.0, 2.0), width).simulate(train[0], n_init=4, num_samples=300, seed=0)
        for width in (1.0, 0.5)
    )
    assert usual.signals.std(axis=0).min() > 0.0
    np.testing.assert_allclose(narrow.noise_std, 0.5 * usual.noise_std)
    for own in (slice(0, 100), slice(100, 300)):
        middle = np.median(usual.signals[own], axis=0)
        np.testing.assert_allclose(narrow.signals[own] - middle, 0.5 * (usual.signals[own] - middle), atol=1e-12)
        np.testing.assert_allclose(narrow.samples[own] - middle, 0.5 * (usual.samples[own] - middle), atol=1e-12)


@dataclass(frozen=True)
class _Explodes(AbstractPredictor):
    """Two of three trajectories leave all bounds."""

    channels: Channels
    history: Any = None

    @property
    def least_context(self) -> int:
        return 1

    def describe(self) -> dict[str, str]:
        return {}

    def _free_run(self, context: Any, controls: Any, request: Any) -> gpssm.Rollout:
        signals = np.full((request.num_samples, len(controls), 1), np.inf)
        signals[::3] = 1.0
        states = np.zeros((*signals.shape[:2], 0))
        return gpssm.Rollout(len(context), signals, signals, states, np.ones(1), ("y",))

    def _ahead(self, episode: Any, horizon: int, request: Any) -> gpssm.Rollout:
        return self._free_run(episode[:horizon], episode.u[horizon:], request)


def test_a_member_that_explodes_does_not_spoil_the_others():
    members = (_constant(0.0, 0), _Explodes(Channels(("y0",), ())))
    run = MixturePredictor(members, (3.0, 1.0), 0.8).simulate(_record(0.0, 2)[0], n_init=4, num_samples=40, seed=0)
    assert np.isfinite(run.median).all()


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
def test_a_width_must_be_positive(width: float):
    with pytest.raises(ValueError, match="width"):
        MixturePredictor((_constant(0.0, 0),), width=width)
