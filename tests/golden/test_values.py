"""What the library computed before its middle floor was rebuilt (commit 178bf9e), computed again.

`golden.npz` holds the values, `golden.json` seeds and settings; names are those of the functions of that time.
Deterministic numbers agree to 1e-9 of their size; the searches that follow each other amplify rounding, and predictions
from their ends agree to 1e-6. Fits through windows are left out: windows are drawn otherwise since then.
"""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from jaxtyping import PRNGKeyArray

import gpssm
from gpssm import History
from gpssm.filters import EKF, UKF, ParticleFilter
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._problem import Training, prepare
from gpssm.inference import BiRNN, Collapsed, Explicit, MeanField, MonteCarlo, NaturalGradient, default_rule
from gpssm.methods import PreviousEpisode, _polished
from gpssm.methods._variational import distilled, fit_of
from gpssm.methods.linear import kalman_evidence
from gpssm.methods.linear._kalman import _model, _ranked, _stabilised, climb
from gpssm.methods.linear._objective import Objective, Shapes
from gpssm.methods.linear._score import evidence
from gpssm.methods.linear._start import linear_starts
from gpssm.models import GPSSM
from gpssm.optimisers import LBFGS, Adam, Alternating, FullBatch, Minibatches
from gpssm.predict import IndependentSteps, MeanOnly, MixturePredictor, Pathwise
from gpssm.predict._kalman import grouped
from tests.golden.stored import (
    HERE,
    SETTINGS,
    STORED,
    TOLD,
    episodes,
    key,
    like_predictions,
    same,
    same_fit,
    same_predictions,
    same_rollout,
    same_simulation,
    test_record,
)

QUIET = {"progress": gpssm.Silent()}
# One system is enough for every day; the other takes as long again.
SYSTEMS = [pytest.param("a", marks=pytest.mark.system), pytest.param("b", marks=pytest.mark.slow)]


@cache
def identified(system: str) -> Fit:
    settings = SETTINGS["identify"]
    # At that time the polish had as many nodes as the rule by which it is checked today.
    with patch.object(_polished, "coarse_rule", default_rule):
        return gpssm.fit(episodes(system), gpssm.Polished(**settings, metric=False), key=key("identify"), **QUIET)


@cache
def untrained(system: str) -> tuple[GPSSM, BiRNN]:
    model = GPSSM.from_data(episodes(system), **SETTINGS["model"], key=key("model"))
    return model, BiRNN.from_data(episodes(system), **SETTINGS["network"], key=key("network"))


VARIANTS = {
    "explicit": (Explicit(), FullBatch()),
    "collapsed": (Collapsed(), FullBatch()),
    "natural": (NaturalGradient(0.1), FullBatch()),
    "natural_minibatches": (NaturalGradient(0.1), Minibatches(2)),
}


@cache
def trained(system: str, variant: str) -> Fit:
    model, network = untrained(system)
    q_u, batches = VARIANTS[variant]
    held = gpssm.Episodes([test_record(system)]) if variant == "explicit" else None
    data = Prepared.of(episodes(system), validation=held)
    tree = prepare((model, MeanField(network, q_u, MonteCarlo(1))), np.float64)
    optimiser = Adam(SETTINGS["fit"]["steps"], batches=batches)
    made = optimiser.run(tree, Training(data.batch(), data.held_out()), Run().stage("Adam"), key=key("fit"))
    return fit_of(made, made.inference.reader(), data, gpssm.Variational(model))


@pytest.mark.parametrize("system", SYSTEMS)
def test_auto_is_what_identify_was(system: str):
    fit = identified(system)
    same_fit(fit, f"identify/{system}", system, tolerance=1e-7)
    assert isinstance(fit.system, gpssm.System)
    read = fit.system.smooth(test_record(system), reader=fit.system.recognition)
    same(read.means, f"identify/{system}/recognised/means", tolerance=1e-6)
    same(read.chols, f"identify/{system}/recognised/chols", tolerance=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_adam_takes_the_same_steps(system: str, variant: str):
    fit = trained(system, variant)
    same_fit(fit, f"fit/{system}/{variant}", system)
    same(fit.history.gradient_norm, f"fit/{system}/{variant}/gradient_norm", tolerance=1e-7)
    terms = np.stack([fit.history.terms[name] for name in SETTINGS["term_names"]])
    same(terms, f"fit/{system}/{variant}/terms")
    if variant == "explicit":
        same(np.asarray(fit.history.held_out), f"fit/{system}/{variant}/held_out")


@pytest.mark.parametrize("system", SYSTEMS)
def test_going_on_without_the_network_is_what_refine_was(system: str):
    first = trained(system, "collapsed")
    data = Prepared.of(episodes(system), start=first)
    settings = SETTINGS["refine"]
    polish = gpssm.Variational(q_x=gpssm.PerStep(), optimiser=LBFGS(settings["iterations"]))
    second = polish.fit(data, Run(), key=key("refine"))
    assert first.inference is not None
    network = first.inference.reader()
    assert network is not None
    fit = distilled(second, network, settings["network_steps"], data, Run(), key=key("refine")).following(first)
    same_fit(fit, f"refine/{system}", system, tolerance=1e-7)
    assert isinstance(fit.system, gpssm.System)
    read = fit.system.smooth(test_record(system), reader=fit.system.recognition)
    same(read.means, f"refine/{system}/recognised/means", tolerance=1e-6)


@pytest.mark.parametrize("system", SYSTEMS)
def test_states_at_each_step_are_what_fit_free_and_fit_alternating_were(system: str):
    model, _ = untrained(system)
    free = gpssm.Variational(model, q_x=gpssm.PerStep(), optimiser=LBFGS(SETTINGS["fit_free"]["iterations"]))
    same_fit(gpssm.fit(episodes(system), free, **QUIET), f"fit_free/{system}", system, tolerance=1e-7)
    settings = SETTINGS["fit_alternating"]
    in_turn = Alternating(settings["cycles"], LBFGS(settings["iterations"]))
    alternating = gpssm.Variational(model, q_x=gpssm.PerStep(), optimiser=in_turn)
    same_fit(gpssm.fit(episodes(system), alternating, **QUIET), f"fit_alternating/{system}", system, tolerance=1e-7)


class FromOneStart(AbstractMethod):
    """`Linear` as it was then, when the best start was the only one that was searched from."""

    order: int
    iterations: int
    share: float = 0.0

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        history = History(float(data.episodes.num_steps))
        # Records were filled up to a multiple of 32 steps, and growth cost as much as over so many.
        steps = -(-data.scaled.max_length // 32) * 32
        filled = {"y": np.zeros((steps, data.scaled.num_outputs)), "u": np.zeros((steps, data.scaled.num_inputs))}
        unseen = gpssm.Episode(**filled)._replace(observed=np.zeros_like(filled["y"], dtype=bool))
        groups = grouped([*data.scaled, unseen])
        shapes = Shapes(self.order, data.scaled.num_inputs, data.scaled.num_outputs)
        first = _ranked(linear_starts(data.scaled, self.order, max_radius=1.0), Objective(groups, 1.0))[0]
        found = climb(first.system, Objective(groups, 1.0), shapes, self.iterations, run.stage("one"))
        value = found.value
        if self.share:
            blended = Objective(groups, 1.0, self.share)
            found = climb(found.system, blended, shapes, self.iterations, run.stage("two"))
            value = evidence(found.system, groups)
        history.bound = np.asarray([first.value, value]) / data.episodes.num_steps
        made = gpssm.System(_model(_stabilised(found.system, 1.0, history)), data.scaler, data.channels)
        return Fit.of(made, self, gpssm.Result.finished, history)


@cache
def linear(system: str, share: str) -> Fit:
    settings = SETTINGS["linear_kalman"]
    method = FromOneStart(settings["order"], settings["iterations"], settings["free_run_share"][share])
    return gpssm.fit(episodes(system), method, key=key("linear_kalman"), **QUIET)


@pytest.mark.parametrize("share", ["share_0", "share_03"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_linear_models_are_the_same(system: str, share: str):
    fit = linear(system, share)
    same_fit(fit, f"linear_kalman/{system}/{share}", system, tolerance=1e-6, predicted=1e-4)
    assert isinstance(fit.system, gpssm.System)
    same(kalman_evidence(fit.system, episodes(system)), f"linear_kalman/{system}/{share}/evidence", tolerance=1e-6)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_correction_is_what_grow_was(system: str):
    settings = SETTINGS["grow"]
    method = gpssm.GPCorrection(num_inducing=settings["num_inducing"], optimiser=LBFGS(settings["iterations"]))
    data = Prepared.of(episodes(system), start=linear(system, "share_0"))
    same_fit(method.fit(data, Run(), key=key("grow")), f"grow/{system}", system, tolerance=1e-5, predicted=1e-4)


@pytest.mark.system
@pytest.mark.parametrize("warmup", [2, 0])
def test_output_error_fits_are_the_same(warmup: int):
    settings = SETTINGS["output_error"]
    method = gpssm.OutputError(
        settings["states"], num_inducing=settings["num_inducing"], rounds=settings["rounds"], warmup_rounds=warmup
    )
    fit = gpssm.fit(episodes("a"), method, key=key("output_error"), **QUIET)
    assert fit.history.events == TOLD["texts"][f"output_error/a/trusting_{warmup}/events"]
    # Their joint draws came later; what is compared are the draws of each state by itself.
    assert isinstance(fit.system, gpssm.System) and fit.system.joint is not None
    same_predictions(replace(fit.system, joint=None), f"output_error/a/trusting_{warmup}", "a")


@pytest.mark.parametrize("system", SYSTEMS)
def test_baselines_and_mixtures_predict_the_same(system: str):
    arx = gpssm.fit(episodes(system), gpssm.ARX(**SETTINGS["arx"]), **QUIET).system
    narx = gpssm.fit(episodes(system), gpssm.GPNARX(**SETTINGS["argp"]), key=key("argp"), **QUIET).system
    constant = gpssm.fit(episodes(system), gpssm.Constant(), **QUIET).system
    previous = gpssm.fit(episodes(system), PreviousEpisode(), **QUIET).system
    same(arx.log_evidence, f"arx/{system}/log_evidence")  # type: ignore[attr-defined]
    same(narx.log_evidence, f"argp/{system}/log_evidence", tolerance=1e-8)  # type: ignore[attr-defined]
    # Linear autoregressions run in NumPy today, with other random numbers.
    like_predictions(arx, f"arx/{system}", system)
    free = arx.simulate(test_record(system), n_init=8, propagation=MeanOnly())
    same(free.mean, f"arx/{system}/simulate_mean_only/mean", tolerance=1e-9)
    same_predictions(narx, f"argp/{system}", system)
    same_predictions(constant, f"constant/{system}", system)
    same_simulation(previous, f"previous_episode/{system}", system)
    settings = SETTINGS["ensemble"]
    members = (linear(system, "share_0").system, arx, constant)
    mixture = MixturePredictor(members, tuple(settings["weights"]), settings["width"])
    like_predictions(mixture, f"ensemble/{system}", system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_filters_see_the_same_states(system: str):
    model, record = identified(system).system, test_record(system)
    assert isinstance(model, gpssm.System)
    particles = ParticleFilter(SETTINGS["filters"]["particles"]["num_particles"])
    for name, reader in (("ekf", EKF()), ("ukf", UKF()), ("particles", particles)):
        states = model.filter(record, reader=reader, key=key("filter"))
        same(states.means, f"filters/{system}/{name}/means", tolerance=1e-6)
        same(states.chols, f"filters/{system}/{name}/chols", tolerance=1e-6)
        same(states.log_evidence, f"filters/{system}/{name}/log_evidence", tolerance=1e-6)
        online = model.online(reader=reader, key=key("filter"))
        steps = [online.update(y, u) for y, u in zip(record.y_with_nan, record.u, strict=True)]
        same(np.stack([mean for mean, _ in steps]), f"filters/{system}/online_{name}/means", tolerance=1e-6)
    smoothed = model.smooth(record)
    same(smoothed.means, f"filters/{system}/smoother/means", tolerance=1e-6)
    same(smoothed.log_evidence, f"filters/{system}/smoother/log_evidence", tolerance=1e-6)


@pytest.mark.parametrize("system", SYSTEMS)
def test_free_runs_are_the_same(system: str):
    model, record = identified(system).system, test_record(system)
    assert isinstance(model, gpssm.System)
    ways = {"pathwise": Pathwise(), "independent_steps": IndependentSteps(), "mean_only": MeanOnly()}
    for name, propagation in ways.items():
        run = model.simulate(record, n_init=8, num_samples=40, propagation=propagation, key=key("simulate"))
        same_rollout(run, f"free_runs/{system}/{name}")
    read = model.simulate(record, n_init=8, num_samples=40, reader=model.recognition, key=key("simulate"))
    same_rollout(read, f"free_runs/{system}/recognised_start")
    given = SETTINGS["free_runs"]["from_state"]
    inputs = STORED[f"data/{system}/future_u"]
    run = model.simulate_from(given["state"], chol=given["chol"], inputs=inputs, num_samples=40, key=key("simulate"))
    same_rollout(run, f"free_runs/{system}/from_state")


@pytest.mark.parametrize("system", SYSTEMS)
def test_selection_finds_the_same_scores_and_shares(system: str):
    settings = SETTINGS["select"]
    methods = {"constant": gpssm.Constant(), "arx 1": gpssm.ARX(1), "linear 1": FromOneStart(1, 10)}
    found = gpssm.select(
        methods,
        episodes(system),
        n_init=settings["n_init"],
        seeds=settings["seeds"],
        num_samples=settings["num_samples"],
        key=key("select"),
    )
    # Trajectories of the linear autoregression are others today: fifty of them tell its scores to within these.
    drawn_anew = np.array([trial.candidate == "arx 1" for trial in found.trials])
    for quantity, within in (("log_density", 0.6), ("error", 0.15), ("value", 0.6)):
        values = np.array([getattr(trial, quantity) for trial in found.trials])
        stored = STORED[f"select/{system}/{quantity}"]
        assert np.all(np.abs(values - stored)[drawn_anew] < within), quantity
        same(np.where(drawn_anew, stored, values), f"select/{system}/{quantity}", tolerance=1e-6)
    shares = found.stacked(draws=20, key=key("stacked"))
    np.testing.assert_allclose(list(shares.shares.values()), STORED[f"select/{system}/stacked/shares"], atol=0.15)
    assert shares.width == pytest.approx(float(STORED[f"select/{system}/stacked/width"]), rel=0.15)


@pytest.mark.system
@pytest.mark.parametrize("name", ["identify", "output_error", "linear_kalman", "sum_kernel", "magnitude"])
def test_model_files_of_that_time_predict_the_same(name: str):
    system = SETTINGS["models"][name]["system"]
    model = gpssm.load(HERE / "models" / f"{name}.gpssm")
    same_simulation(model, f"models/{name}", system, tolerance=1e-9)
    assert isinstance(model, gpssm.System)
    same(model.smooth(test_record(system)).means, f"models/{name}/smoother/means")
