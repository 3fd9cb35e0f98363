"""The evidence and the verdict for a system that is known."""

import dataclasses

import numpy as np
import pytest

import gpssm
from gpssm import reporting
from gpssm.evaluate import judge
from gpssm.reporting import Direction, Grade
from gpssm.reporting._explained import noise_levels, residuals, training_went_well
from gpssm.reporting._kind import kind_of
from gpssm.reporting._residuals import residual_tests
from tests.report.conftest import constant, history
from tests.report.linear_case import CONTEXT, KEY, records, system


def finding(report: reporting.Report, question: str) -> reporting.Finding:
    return next(f for f in report.verdict.findings if f.question.startswith(question))


def test_the_true_system_is_trusted(exact):
    verdict = exact.verdict
    assert verdict.grade("Can its bands") is Grade.good
    assert verdict.grade("Has it explained") is Grade.good
    assert verdict.grade("Was it trained") is Grade.good
    assert verdict.grade("Does it carry over") is Grade.good
    assert "its bands can be believed" in verdict.headline
    assert not any("states=3" in line for line in verdict.advice), "disturbances are not a fault of the model"


def test_narrow_bands_are_named_in_the_verdict(narrow):
    found = finding(narrow, "Can its bands")
    assert found.grade is Grade.bad
    assert found.direction is Direction.narrow
    assert "they are too narrow" in narrow.verdict.headline
    assert found.advice
    assert set(found.advice) <= set(narrow.verdict.advice)


def test_numbers_are_complete(exact):
    assert [score.name for score in exact.scores] == ["1 step", "5 steps", "free run"]
    assert exact.free_run.horizon is None
    assert all(len(r) == len(e) - CONTEXT for r, e in zip(exact.simulations, exact.episodes, strict=True))
    assert exact.training_score is not None
    assert exact.data.records == 3 and exact.data.steps == 330
    assert exact.training_data is not None and exact.training_data.steps == 240
    assert exact.settings["states"] == "2"
    assert exact.settings["method"].startswith("Linear(")
    assert exact.settings["the fit ended"] == gpssm.Result.converged.value
    assert exact.settings["random key of this report"] == f"0 {KEY}"
    assert exact.versions["gpssm"] == gpssm.__version__
    assert exact.state_space is not None
    assert exact.state_space.states.means.shape == (len(exact.episodes[exact.shown[0]]), 2)
    assert len(exact.state_space.slices) == 2 * 3, "each of two states along two states and one input"
    assert set(exact.shown) == {0, 1, 2}
    errors = [exact.record_errors[i] for i in exact.shown]
    assert errors == sorted(errors, reverse=True)


def test_the_page_shows_the_numbers_of_the_console(exact):
    printed = judge(system(), records(), n_init=CONTEXT, seed=KEY).free_run
    assert exact.free_run.facts() == printed.facts()
    assert exact.free_run.sentence() == printed.sentence()


def test_a_comparison_shows_the_numbers_of_the_report(exact, narrow, compared, trivial):
    by_name = {entry.name: entry for entry in compared.entries}
    for alone, name in ((exact, "<i>right</i>"), (narrow, "narrow")):
        entry = by_name[name]
        assert [s.name for s in entry.scores] == [s.name for s in alone.scores]
        for one, other in zip(entry.scores, alone.scores, strict=True):
            assert one.facts() == other.facts()
        assert entry.bands.grade is alone.verdict.grade("Can its bands")
    assert by_name["constant"].judged.n_init == CONTEXT
    assert trivial.judged.n_init == 18, "a fifth of 90"


def test_models_are_ranked_by_their_free_runs(compared):
    assert compared.entries[-1].name == "constant"
    assert compared.entries[0].p_value is None
    assert compared.entries[-1].p_value is not None and compared.entries[-1].p_value < 0.01
    best, last = compared.entries[0].free_run, compared.entries[-1].free_run
    assert best.log_density > last.log_density
    assert best.crps < last.crps
    assert "cannot tell it from" in compared.headline, "the narrow one has the same means"
    assert "Bands that do not hold what they promise: narrow." in compared.headline


def test_no_models_cannot_be_compared():
    with pytest.raises(gpssm.DataError, match="no models to compare"):
        reporting.compare({}, records())


def test_runs_that_were_made_are_used(compared, narrow):
    runs = next(entry.judged for entry in compared.entries if entry.name == "narrow")
    assert narrow.judged is runs, "nothing was missing, so nothing was run again"


def test_a_missed_response_is_named():
    episodes = records((120, 120), seed=5, missed=0.5)
    ahead = judge(system(), episodes, n_init=CONTEXT, horizons=(1,)).predictions[1]
    found = residuals(residual_tests(ahead, episodes), ("level",), ("valve",), kind_of(system()))
    assert found.grade is not Grade.good
    assert "most on valve 3 steps before" in found.text
    assert any("states=3" in line for line in found.advice)


def test_training_is_judged_by_how_it_ended_and_by_its_numbers():
    assert training_went_well(history(), None).grade is Grade.good
    rising = dataclasses.replace(history(), bound=np.linspace(0.0, 2.0, 200))
    assert training_went_well(rising, None).grade is Grade.caution
    assert training_went_well(rising, gpssm.Result.finished).grade is Grade.caution
    assert training_went_well(rising, gpssm.Result.converged).grade is Grade.good
    assert training_went_well(None, None).grade is Grade.unknown
    assert training_went_well(gpssm.History(10.0), gpssm.Result.finished).grade is Grade.good
    for result in (gpssm.Result.diverged, gpssm.Result.interrupted):
        assert training_went_well(history(), result).grade is Grade.bad
        assert training_went_well(None, result).grade is Grade.bad
    lost = dataclasses.replace(history(), bound=np.append(history().bound, np.nan))
    assert training_went_well(lost, None).grade is Grade.bad
    overfit = dataclasses.replace(history(), held_out=[(100, 0.9), (200, 0.2)])
    assert "held-out" in training_went_well(overfit, None).text


def test_sentences_in_the_history_are_not_evidence():
    """A first stage may diverge and a later one converge: only the result says how the whole ended."""
    told = dataclasses.replace(history(), events=[f"Adam: {gpssm.Result.diverged.value}"])
    assert training_went_well(told, gpssm.Result.converged).grade is Grade.good
    assert training_went_well(told, None).grade is Grade.good


def test_odd_noise_levels_are_named():
    assert noise_levels(np.array([0.1]), np.array([0.1]), ["y"]) is None
    odd = noise_levels(np.array([0.7, 1e-6]), np.array([1e-5, 0.9]), ["a", "b"])
    assert odd is not None
    for words in ("noise of a has shrunk", "81 % of the variance of b", "State 1 jumps", "state 2 has shrunk"):
        assert words in odd.text


def test_records_without_measurements_are_refused():
    known = records()[0]
    y = np.array(known.y)
    y[CONTEXT:] = np.nan
    silent = gpssm.Episode(y=y, u=known.u, dt=0.1, output_names=["level"], input_names=["valve"])
    with pytest.raises(gpssm.DataError, match="nothing to judge by"):
        reporting.build(constant(), gpssm.Episodes([silent]), n_init=CONTEXT)


def test_a_quick_look_has_free_runs_and_single_steps_only():
    episodes = records()
    made = reporting.build(system(), episodes, quick=True, seed=KEY)
    assert [score.name for score in made.scores] == ["1 step", "free run"]
    assert made.state_space is None
    assert len(made.simulations[0].samples) == len(made.predictions[1][0].samples) == 40
    assert made.verdict.headline


def test_training_runs_are_no_longer_than_those_held_out():
    held_out, training = records((40, 40), seed=8), records((90, 90, 90), seed=9)
    made = reporting.build(system(), held_out, training=training, quick=True, seed=KEY)
    heads = gpssm.Episodes([episode.head(40) for episode in training][:2])  # as many steps as were held out
    again = judge(system(), heads, n_init=made.n_init, num_samples=40, seed=KEY).free_run
    assert made.training_score is not None
    assert made.training_score.facts() == again.facts()
