"""The evidence and the verdict for a system that is known."""

import dataclasses

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm import report
from gpssm.data._episodes import part_of
from gpssm.reporting import Grade
from gpssm.reporting._explained import noise_levels, residuals, training_went_well
from gpssm.reporting._residuals import residual_tests
from gpssm.reporting._runs import checked, default_n_init, judged_part, run
from tests.report.conftest import history
from tests.report.linear_case import records, system


def build(sigma: float, **options) -> report.Report:
    return report.build(
        system(sigma=sigma), records((120, 120, 90), seed=1), n_init=20, horizons=(1, 5), key=jr.key(3), **options
    )


def test_the_true_system_is_trusted(exact):
    verdict = exact.verdict
    assert verdict.grade("Can its bands") is Grade.good
    assert verdict.grade("Has it explained") is Grade.good
    assert verdict.grade("Was it trained") is Grade.good
    assert verdict.grade("Does it carry over") is Grade.good
    assert "its bands can be believed" in verdict.headline
    assert not any("states=3" in line for line in verdict.advice), "disturbances are not a fault of the model"


@pytest.mark.parametrize(("sigma", "words"), [(0.8, "too narrow"), (1.25, "too wide")])
def test_wrong_bands_are_named_in_the_verdict(sigma, words):
    found = build(sigma)
    finding = next(f for f in found.verdict.findings if f.question.startswith("Can its bands"))
    assert finding.grade is (Grade.bad if sigma < 1.0 else Grade.caution)
    assert words in finding.text
    assert finding.advice
    assert any(line in found.verdict.advice for line in finding.advice)


def test_numbers_are_complete(exact):
    assert [score.name for score in exact.scores] == ["1 step", "5 steps", "free run"]
    assert exact.free_run.horizon is None
    assert all(len(r) == len(e) - 20 for r, e in zip(exact.simulations, exact.episodes, strict=True))
    assert exact.training_score is not None
    assert exact.data.records == 3 and exact.data.steps == 330
    assert exact.training_data is not None and exact.training_data.steps == 240
    assert exact.settings["states"] == "2"
    assert exact.settings["random key of this report"] == "0 3"
    assert exact.versions["gpssm"] == gpssm.__version__
    assert len(exact.slices) == 2 * 3, "each of two states along two states and one input"
    assert set(exact.shown) == {0, 1, 2}
    errors = [exact.record_errors[i] for i in exact.shown]
    assert errors == sorted(errors, reverse=True)


def test_padding_changes_nothing():
    """Records of unequal length are filled up to compile once; the fill must not be seen."""
    both = records((60, 40), seed=4)
    together = run(system(), both, n_init=8, horizons=(1,), key=jr.key(0))
    alone = run(system(), gpssm.Episodes([both[1], both[1]]), n_init=8, horizons=(1,), key=jr.key(0))
    assert together.simulations[1].samples.shape == (200, 32, 1)
    for one, other in (
        (together.simulations[1], alone.simulations[1]),
        (together.predictions[1][1], alone.predictions[1][1]),
    ):
        # Random numbers depend on the length, so the two agree within sampling error only.
        spread = other.std / np.sqrt(200)
        assert np.abs(one.mean - other.mean).max() < 6 * np.sqrt(2) * spread.max()
        assert one.start == other.start


def test_a_missed_response_is_named():
    episodes = records((150, 150), seed=5, missed=0.5)
    runs = run(system(), episodes, n_init=10, horizons=(1,), key=jr.key(0))
    finding = residuals(residual_tests(runs.predictions[1], episodes), ("level",), ("valve",), 2)
    assert finding.grade is not Grade.good
    assert "most on valve 3 steps before" in finding.text
    assert any("states=3" in line for line in finding.advice)


def test_training_is_judged():
    assert training_went_well(history()).grade is Grade.good
    rising = dataclasses.replace(history(), bound=np.linspace(0.0, 2.0, 200))
    assert training_went_well(rising).grade is Grade.caution
    assert training_went_well(None).grade is Grade.unknown
    for result in (gpssm.Result.diverged, gpssm.Result.interrupted):
        ended = dataclasses.replace(history(), events=[f"Adam: {result.value}"])
        assert training_went_well(ended).grade is Grade.bad
    overfit = dataclasses.replace(history(), held_out=[(100, 0.9), (200, 0.2)])
    assert "held-out" in training_went_well(overfit).text


def test_odd_noise_levels_are_named():
    assert noise_levels(np.array([0.1]), np.array([0.1]), ["y"]) is None
    odd = noise_levels(np.array([0.7, 1e-6]), np.array([1e-5, 0.9]), ["a", "b"])
    assert odd is not None
    for words in ("noise of a has shrunk", "81 % of the variance of b", "State 1 jumps", "state 2 has shrunk"):
        assert words in odd.text


def test_settings_are_checked():
    episodes = records((30, 24), seed=6)
    assert default_n_init(episodes) == 4
    assert checked(4, (1, 5, 25), episodes) == (1, 5)
    with pytest.raises(gpssm.DataError, match="n_init=24"):
        checked(24, (1,), episodes)
    with pytest.raises(gpssm.DataError, match="at least one step"):
        checked(4, (0,), episodes)
    with pytest.raises(gpssm.DataError, match="no records"):
        judged_part(part_of(()))


def test_long_records_are_cut():
    episodes = gpssm.Episodes.from_arrays(y=[np.random.default_rng(0).standard_normal(6000)] * 5)
    kept = judged_part(episodes)
    assert [len(e) for e in kept] == [5000] * 4


def test_models_are_compared():
    right, wrong = system(), system()
    wrong = dataclasses.replace(wrong, scaler=dataclasses.replace(wrong.scaler, output_mean=np.array([13.0])))
    result = report.compare(
        [("biased", wrong), ("right", right)],
        records((120, 120, 90), seed=1),
        n_init=20,
        horizons=(1, 5),
        key=jr.key(3),
    )
    assert [entry.name for entry in result.entries] == ["right", "biased"]
    assert result.entries[0].p_value is None
    assert result.entries[1].p_value is not None and result.entries[1].p_value < 0.01
    assert "right" in result.headline and "more than chance" in result.headline
    assert result.entries[0].log_density > result.entries[1].log_density
    assert result.entries[0].crps < result.entries[1].crps
