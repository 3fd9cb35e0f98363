"""Reports on models that have no states, and on a model that only a test knows."""

from dataclasses import dataclass

import numpy as np
import pytest

import gpssm
from gpssm import reporting
from gpssm.predict import AbstractPredictor, Autoregression, Channels, RepeatPredictor, Rollout
from gpssm.predict._base import Request
from gpssm.reporting import Grade
from gpssm.reporting._kind import kind_as_learnt, kind_of
from tests.report.conftest import HORIZONS, constant
from tests.report.linear_case import KEY, records, system

STATES = ("state", "inducing")


@dataclass(frozen=True)
class Runaway(AbstractPredictor):
    """Predicts well for some steps, and then nothing that is a number."""

    channels: Channels
    history: gpssm.History | None = None

    @property
    def least_context(self) -> int:
        return 2

    def describe(self) -> dict[str, str]:
        return {"runs away": "after 40 steps"}

    def _free_run(self, context: gpssm.Episode, controls: np.ndarray, request: Request) -> Rollout:
        return self._rollout(len(context), len(controls), request)

    def _ahead(self, episode: gpssm.Episode, horizon: int, request: Request) -> Rollout:
        first = self.least_context - 1 + horizon
        return self._rollout(first, len(episode) - first, request)

    def _rollout(self, first: int, steps: int, request: Request) -> Rollout:
        rng = np.random.default_rng(0)
        signals = 10.0 + rng.standard_normal((request.count, steps, 1))
        signals[:, 40:] = np.inf
        return Rollout(
            first, signals, signals + rng.standard_normal(signals.shape), signals[..., :0], np.ones(1), ("level",), 0.1
        )


def test_an_autoregression_is_judged_without_states(lagged, lagged_fit):
    assert isinstance(lagged_fit.system, Autoregression)
    assert lagged.title == "level: a linear autoregression"
    assert lagged.state_space is None
    assert [score.name for score in lagged.scores] == ["1 step", "free run"], "one step is always there"
    assert lagged.settings["lags"] == "3 outputs, 3 inputs"
    assert lagged.settings["the fit ended"] == gpssm.Result.finished.value
    assert lagged.verdict.grade("Was it trained") is Grade.good
    assert lagged.free_run.facts() == gpssm.judge(lagged_fit, records(), seed=KEY).free_run.facts()
    assert not any(f.question.startswith("Are the noise levels") for f in lagged.verdict.findings)


def test_a_mixture_is_judged_without_states(mixed):
    assert mixed.title == "level: a mixture of 2 models"
    assert mixed.state_space is None
    assert mixed.settings["mixture of"] == "2 models"
    assert mixed.training_score is not None
    assert any("members" in line for line in mixed.verdict.advice)


def test_a_constant_is_told_to_be_replaced_and_nothing_else(trivial):
    assert trivial.verdict.headline.startswith("Do not use this model yet")
    assert trivial.verdict.advice == ("Learn a model: gpssm fit --method auto.",)
    assert abs(trivial.free_run.fit_overall) < 15.0, "a constant has a fit of zero"
    assert trivial.verdict.grade("Was it trained") is Grade.unknown


def test_advice_fits_the_kind_of_model(lagged_fit):
    for model in (lagged_fit.system, constant(), RepeatPredictor(np.zeros((5, 1)), np.ones(1), system().channels)):
        kind = kind_of(model)
        told = " ".join((kind.richer, kind.calmer, kind.mends)).replace("state-space model", "")
        assert not any(word in told for word in STATES), told
        assert kind.measurement_noise is None
    assert "more lags (now 3 of outputs, 3 of inputs)" in kind_of(lagged_fit.system).richer
    linear = kind_of(system())
    assert "states=3" in linear.richer and "inducing" not in linear.richer
    assert linear.measurement_noise == pytest.approx(2.0 * np.sqrt(0.05))


def test_to_let_methods_compete_is_no_remedy_where_they_have(lagged_fit):
    before = kind_as_learnt(lagged_fit.system)
    after = kind_as_learnt(lagged_fit.with_event("chosen: arx, the only one that could be judged").system)
    assert "--method auto" in before.richer and "--method auto" in before.mends
    for told in (after.richer, after.sensor, after.mends):
        assert "--method auto" not in told and "gpssm fit --effort thorough" in told


def test_any_predictor_can_be_reported_on_and_one_that_runs_away_is_told_so(tmp_path):
    model = Runaway(system().channels)
    found = reporting.report(model, records(), tmp_path / "page.html", horizons=HORIZONS, seed=KEY)
    assert found.free_run.broken == 330 - 3 * (18 + 40)
    assert found.free_run.log_density == -np.inf, "what is certain to be wrong has no density"
    assert found.free_run.poor
    assert found.verdict.grade("Can it simulate") is Grade.bad
    assert "runs away" in found.verdict.findings[0].text
    assert found.verdict.headline in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_runs_away_comes_last():
    compared = reporting.compare({"runaway": Runaway(system().channels), "constant": constant()}, records())
    assert [entry.name for entry in compared.entries] == ["constant", "runaway"]
    assert compared.entries[1].p_value is None
    assert "more than chance" in compared.headline


def test_what_was_judged_before_must_be_of_the_same_records():
    model, episodes = constant(), records()
    runs = gpssm.judge(model, episodes, horizons=(5,), seed=KEY)
    whole = reporting.build(model, episodes, horizons=HORIZONS, seed=KEY)
    from_runs = reporting.build(model, episodes, horizons=HORIZONS, judged=runs)
    assert [s.facts() for s in from_runs.scores] == [s.facts() for s in whole.scores]
    assert from_runs.verdict == whole.verdict
    assert from_runs.simulations is runs.simulations
    with pytest.raises(ValueError, match="other records"):
        reporting.build(model, records(seed=7), judged=runs)
    with pytest.raises(ValueError, match="n_init=3"):
        reporting.build(model, episodes, n_init=3, judged=runs)
    with pytest.raises(ValueError, match="key of its own"):
        reporting.build(model, episodes, seed=1, judged=runs)
