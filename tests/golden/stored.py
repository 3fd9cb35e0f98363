"""Values of that time, and what it means to agree with them."""

import json
from functools import cache
from pathlib import Path

import jax.random as jr
import numpy as np

import gpssm
from gpssm.fitting import Fit
from gpssm.predict import MeanOnly

HERE = Path(__file__).parent
STORED = np.load(HERE / "golden.npz")
TOLD = json.loads((HERE / "golden.json").read_text())
SETTINGS = TOLD["settings"]


def key(name: str):
    return jr.key(TOLD["keys"][name])


@cache
def episodes(system: str) -> gpssm.Episodes:
    count = sum(name.startswith(f"data/{system}/y") for name in STORED.files)
    return gpssm.Episodes.from_arrays(
        y=[STORED[f"data/{system}/y{i}"] for i in range(count)],
        u=[STORED[f"data/{system}/u{i}"] for i in range(count)],
        **SETTINGS["data"][system],
    )


@cache
def test_record(system: str) -> gpssm.Episode:
    return gpssm.Episode(
        y=STORED[f"data/{system}/test_y"], u=STORED[f"data/{system}/test_u"], name="test", **SETTINGS["data"][system]
    )


test_record.__test__ = False  # type: ignore[attr-defined]


def same(found, name: str, *, tolerance: float = 1e-9) -> None:
    """Agrees with what is stored, relative to its largest value."""
    wanted = STORED[name]
    size = float(np.max(np.abs(wanted), initial=1e-12))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=0.0, atol=tolerance * size, err_msg=name)


def same_rollout(rollout: gpssm.Rollout, name: str, *, tolerance: float = 1e-6) -> None:
    assert rollout.start == STORED[f"{name}/start"]
    same(rollout.mean, f"{name}/mean", tolerance=tolerance)
    same(rollout.std, f"{name}/std", tolerance=tolerance)
    for level in (0.05, 0.5, 0.95):
        same(rollout.quantile(level), f"{name}/quantile_{round(100 * level):02d}", tolerance=tolerance)


def same_predictions(predictor, name: str, system: str, *, tolerance: float = 1e-6) -> None:
    record, inputs = test_record(system), STORED[f"data/{system}/future_u"]
    same_simulation(predictor, name, system, tolerance=tolerance)
    if f"{name}/predict/mean" in STORED.files:
        ahead = predictor.predict(record, horizon=3, num_samples=40, key=key("predict"))
        same_rollout(ahead, f"{name}/predict", tolerance=tolerance)
        beyond = predictor.forecast(record, inputs=inputs, num_samples=40, key=key("forecast"))
        same_rollout(beyond, f"{name}/forecast", tolerance=tolerance)


def same_simulation(predictor, name: str, system: str, *, tolerance: float = 1e-6) -> None:
    record = test_record(system)
    free = predictor.simulate(record, n_init=8, num_samples=40, key=key("simulate"))
    same_rollout(free, f"{name}/simulate", tolerance=tolerance)
    if f"{name}/simulate_mean_only/mean" in STORED.files:
        mean = predictor.simulate(record, n_init=8, propagation=MeanOnly(), key=key("simulate")).mean
        same(mean, f"{name}/simulate_mean_only/mean", tolerance=tolerance)


def like_predictions(predictor, name: str, system: str) -> None:
    """As far as 40 stored trajectories can tell, where others are drawn today: means within four standard errors, and
    spreads likewise."""
    record, inputs, many = test_record(system), STORED[f"data/{system}/future_u"], 4000
    runs = {
        "simulate": predictor.simulate(record, n_init=8, num_samples=many, key=key("simulate")),
        "predict": predictor.predict(record, horizon=3, num_samples=many, key=key("predict")),
        "forecast": predictor.forecast(record, inputs=inputs, num_samples=many, key=key("forecast")),
    }
    for verb, run in runs.items():
        assert run.start == STORED[f"{name}/{verb}/start"]
        off = np.abs(STORED[f"{name}/{verb}/mean"] - run.mean) / (run.std / np.sqrt(40.0))
        assert off.max() < 4.5 and np.mean(off) < 1.5, verb
        assert np.all(np.abs(np.log(STORED[f"{name}/{verb}/std"] / run.std)) < 4.5 / np.sqrt(80.0)), verb


def same_fit(fit: Fit, name: str, system: str, *, tolerance: float = 1e-9, predicted: float = 1e-6) -> None:
    """Where a search ends depends on how a processor rounds: the optimum to the tolerance, what it is made of to the
    root of that."""
    same(fit.history.bound, f"{name}/bound", tolerance=tolerance)
    assert isinstance(fit.system, gpssm.System)
    model = fit.system.model
    same(model.transition.noise_variance(), f"{name}/process_noise", tolerance=1e3 * tolerance)
    same(model.emission.noise_variance(), f"{name}/measurement_noise", tolerance=1e3 * tolerance)
    same_predictions(fit.system, name, system, tolerance=predicted)
