"""What a candidate is judged by: the middle of its trajectories, which a few that run away do not move."""

import numpy as np
import pytest
from scipy.special import ndtr

import gpssm
from gpssm.evaluate._folds import Fold
from gpssm.evaluate._held_out import HeldOut
from gpssm.evaluate._trial import Task, _held_out
from gpssm.predict import Rollout

STEPS, N_INIT, SAMPLES, NOISE = 12, 4, 200, np.array([0.3, 0.02])
SCALE = np.array([5.0, 0.1])


def record() -> gpssm.Episode:
    y = np.random.default_rng(0).standard_normal((STEPS, 2)) * SCALE
    y[6, 0], y[8] = np.nan, np.nan
    return gpssm.Episode(y=y)


def runs(*, away: int) -> Rollout:
    """Trajectories of a skewed law, the last few of which leave all bounds."""
    rng = np.random.default_rng(1)
    signals = rng.gamma(1.5, size=(SAMPLES, STEPS - N_INIT, 2)) * SCALE
    signals[SAMPLES - away :] = 1e6 * SCALE
    return Rollout(
        start=N_INIT,
        signals=signals,
        samples=signals,
        states=np.zeros((SAMPLES, STEPS - N_INIT, 0)),
        noise_std=NOISE,
        output_names=("y0", "y1"),
    )


def judged(run: Rollout) -> HeldOut:
    episodes = gpssm.Episodes([record()])
    nothing = np.zeros(0)
    scaler = gpssm.Scaler(output_mean=np.zeros(2), output_scale=SCALE, input_mean=nothing, input_scale=nothing)
    task = Task(
        "a",
        gpssm.Constant(),
        Fold("f", episodes, tuple(episodes)),
        0,
        scaler,
        N_INIT,
        SAMPLES,
        np.zeros(2, np.uint32),
        "",
    )
    return _held_out([run], task)


@pytest.mark.parametrize("away", [0, 10])
def test_misses_are_from_the_median_and_spreads_from_the_middle_two_thirds(away):
    run, y = runs(away=away), record()
    found = judged(run)
    some = y.observed[N_INIT:].any(axis=1)
    assert len(found.missed) == some.sum() == STEPS - N_INIT - 1, "a step without any output tells nothing"
    assert np.array_equal(found.known, y.observed[N_INIT:][some])
    middle = np.sort(run.signals, axis=0)[SAMPLES // 2 - 1 : SAMPLES // 2 + 1].mean(axis=0)
    missed = ((y.y[N_INIT:] - middle) / SCALE)[some]
    np.testing.assert_allclose(found.missed[found.known], missed[found.known], rtol=1e-12)
    low, high = (np.quantile(run.signals, ndtr(z), axis=0) for z in (-1.0, 1.0))
    spread = np.sqrt((0.5 * (high - low)) ** 2 + NOISE**2) / SCALE
    np.testing.assert_allclose(found.spread, spread[some], rtol=1e-12)


def test_a_few_trajectories_that_run_away_hardly_change_the_score():
    calm, wild = judged(runs(away=0)), judged(runs(away=10))
    assert wild.error == pytest.approx(calm.error, rel=0.1)
    assert wild.log_density == pytest.approx(calm.log_density, abs=0.2)
    assert np.abs(runs(away=10).mean / SCALE).min() > 1e3, "as the mean of the trajectories would"


def test_scores_are_those_of_gaussians_at_the_outputs_that_were_observed():
    found = judged(runs(away=0))
    known = found.known
    logs = -0.5 * np.log(2.0 * np.pi * found.spread**2) - 0.5 * found.missed**2 / found.spread**2
    assert found.log_density == pytest.approx(logs[known].mean(), rel=1e-12)
    assert found.error == pytest.approx(np.sqrt((found.missed[known] ** 2).mean()), rel=1e-12)
    wide = -0.5 * np.log(2.0 * np.pi * 4.0 * found.spread**2) - 0.5 * found.missed**2 / (4.0 * found.spread**2)
    np.testing.assert_allclose(found.log_densities(2.0), np.where(known, wide, 0.0).sum(axis=1), rtol=1e-12)
