"""Learning a system in one call, and the precision it is done in."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Prepared, Status
from gpssm.inference import BiRNN, Cubature, GaussHermite, MeanField, default_rule
from gpssm.methods import _polished
from gpssm.methods._variational import bound_of
from gpssm.optimisers import _step
from tests.optimisers.small_task import Listening
from tests.reference.small_system import LENGTHS, fit, identified, identify, record, records

pytestmark = pytest.mark.system  # it trains from beginning to end

ROOT = Path(__file__).resolve().parents[2]
QUICK = gpssm.Polished(states=1, num_inducing=6, hidden=4, steps=100, iterations=20, network_steps=50)
"""As `small_system.fit` has it, so that nothing is compiled anew."""


def _leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def _equal(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(_leaves(a), _leaves(b), strict=True))


def _is_finite(system: gpssm.System) -> bool:
    return all(np.isfinite(leaf).all() for leaf in _leaves((system.model, system.recognition)))


def test_the_result_is_complete():
    system = identified()
    assert _is_finite(system)
    assert system.output_names == ("level",)
    assert system.input_names == ("valve",)
    assert system.dt == 0.5
    assert isinstance(system.recognition, BiRNN)
    assert all(leaf.dtype == np.float64 for leaf in _leaves(system.model))


def test_the_history_covers_both_stages():
    history = identified().history
    assert history.num_steps == sum(LENGTHS)
    assert 100 < len(history.bound) <= 120, "100 steps of Adam, then up to 20 of L-BFGS"
    assert all(len(values) == len(history.bound) for values in history.terms.values())
    assert any(event.startswith("Adam") for event in history.events)
    assert any(event.startswith("L-BFGS") for event in history.events)
    assert any(event.startswith("two starts ended at") for event in history.events)
    assert history.bound[-1] > history.bound[:20].mean()
    assert history.seconds > 0.0


def test_of_two_starts_the_one_with_the_higher_bound_is_kept():
    """The polish begins at the network's states, and once more at states that the data show."""
    fitted = fit(records())
    (event,) = [event for event in fitted.history.events if event.startswith("two starts")]
    ends = [float(word.rstrip(".")) for word in (event.split()[4], event.split()[6])]
    assert fitted.best_bound == pytest.approx(max(ends), abs=1e-4)


TWO = replace(QUICK, states=2, steps=5, iterations=3, network_steps=0)


def test_with_two_states_few_nodes_are_enough_and_a_finer_rule_agrees():
    fitted = gpssm.fit(records(), TWO, progress=gpssm.Silent(), seed=0)
    assert isinstance(fitted.inference, MeanField) and fitted.inference.expectation == Cubature()
    data = Prepared.of(records())
    # The rule of the fit gives the fit's own bound, another one nearly that.
    assert bound_of(fitted, Cubature(), data) == pytest.approx(fitted.best_bound, abs=1e-9)
    finer = bound_of(fitted, GaussHermite(5), data)
    assert 1e-9 < abs(finer - fitted.best_bound) < _polished.COARSE


def test_where_few_nodes_are_too_few_the_polish_goes_on_with_more(monkeypatch):
    monkeypatch.setattr(_polished, "COARSE", -1.0)
    fitted = gpssm.fit(records(), TWO, progress=gpssm.Silent(), seed=0)
    assert isinstance(fitted.inference, MeanField) and fitted.inference.expectation == default_rule(2)
    assert any("finer rule" in event for event in fitted.history.events)


def test_a_second_call_gives_the_same_model_and_compiles_nothing(monkeypatch):
    first, traces = identified(), 0
    one_step = _step._one_step

    def counting(*args):
        nonlocal traces
        traces += 1
        return one_step(*args)

    monkeypatch.setattr(_step, "_one_step", counting)
    again = identify(records())
    assert traces == 0
    assert _equal((again.model, again.recognition), (first.model, first.recognition))
    assert np.array_equal(again.history.bound, first.history.bound)


def test_double_precision_whatever_the_caller_has_set():
    """In a thread that works in single precision everything is still learnt and predicted in double precision."""
    first = identified()
    assert jax.config.jax_enable_x64
    with jax.enable_x64(False):
        assert jnp.ones(()).dtype == jnp.float32, "the caller is in single precision"
        again = identify(records())
        free = again.simulate(record(30, seed=99), n_init=5, num_samples=64, seed=0)
        smooth, filtered = again.smooth(record(30, seed=99)), again.filter(record(30, seed=99))
        online = again.online(reader=gpssm.filters.EKF())
        online.update(0.3, 0.1)
        mean, covariance = online.update(0.3, 0.1)
        assert jnp.ones(()).dtype == jnp.float32, "the caller is still in single precision"
    assert _equal((again.model, again.recognition), (first.model, first.recognition))
    for array in (free.samples, free.states, smooth.means, filtered.means, mean, covariance):
        assert array.dtype == np.float64
    expected = first.simulate(record(30, seed=99), n_init=5, num_samples=64, seed=0)
    assert np.array_equal(free.samples, expected.samples)


SCRIPT = """
import json
import jax
import gpssm
from tests.reference.small_system import record, records

before = jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion
method = gpssm.Polished(states=1, num_inducing=5, hidden=3, steps=50, iterations=2, network_steps=50)
system = gpssm.fit(records(), method, progress=gpssm.Silent()).system
free = system.simulate(record(20, seed=9), n_init=4, num_samples=10, key=jax.random.key(0))
filtered = system.filter(record(20, seed=9))
after = jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion
dtypes = {str(x.dtype) for x in jax.tree.leaves(system.model) if isinstance(x, jax.Array)}
print(json.dumps({
    "before": before, "after": after, "types": [*dtypes, str(free.samples.dtype), str(filtered.means.dtype)],
    "outside": str(jax.numpy.ones(()).dtype),
}))
"""


def test_a_fresh_process_in_single_precision_stays_so():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["before"][0] is False
    assert said["after"] == said["before"], "the global configuration was changed"
    assert set(said["types"]) == {"float64"}
    assert said["outside"] == "float32"


def test_missing_outputs_are_no_trouble():
    system = identify(records(missing=0.3))
    assert _is_finite(system)
    unseen = record(30, seed=99, missing=0.3)
    free = system.simulate(unseen, n_init=5, num_samples=64, seed=0)
    error = (free.mean - unseen.y[5:])[unseen.observed[5:]]
    assert np.sqrt(np.mean(error**2)) < 0.6 * np.nanstd(unseen.y_with_nan)


class Interrupting:
    """Presses Ctrl-C when a stage is heard of, and keeps what it heard."""

    def __init__(self, stage: str):
        self.stage, self.heard = stage, []

    def update(self, status: Status) -> None:
        self.heard.append(status.stage)
        if status.stage == self.stage:
            raise KeyboardInterrupt

    def say(self, message: str) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("stage", "heard"), [("Adam", ["Adam"]), ("L-BFGS", ["Adam", "Adam", "L-BFGS"])], ids=["Adam", "L-BFGS"]
)
def test_an_interruption_ends_all_stages(stage, heard):
    progress = Interrupting(stage)
    stopped = gpssm.fit(records(), QUICK, progress=progress)
    assert progress.heard == heard
    assert stopped.result is gpssm.Result.interrupted
    assert _is_finite(stopped.system)
    assert any("interrupted" in event for event in stopped.history.events)


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([(0.5, False)], 0),
        ([(0.1, True), (0.5, False)], 1),
        ([(0.1, True), (0.3, True), (0.2, True)], 1),
    ],
    ids=["good at once", "good at last", "never good"],
)
def test_other_seeds_are_tried_while_the_model_is_poor_and_the_best_is_kept(monkeypatch, scores, kept):
    told = iter(scores)

    def judged(system, validation) -> SimpleNamespace:
        value, poor = next(told)
        return SimpleNamespace(free_run=SimpleNamespace(value=value, poor=poor))

    monkeypatch.setattr(_polished, "judge", judged)
    short = gpssm.Polished(states=1, num_inducing=6, hidden=4, steps=100, iterations=0)
    held_out = gpssm.Episodes([record(30, seed=50)])
    made = gpssm.fit(records(), short, validation=held_out, progress=gpssm.Silent(), seed=0)
    assert next(told, None) is None, "as many were tried as had to be"
    if len(scores) == 1:
        assert made.parts == ()
        return
    assert len(made.parts) == len(scores)
    assert _equal(made.system.model, made.parts[kept].system.model)
    assert not _equal(made.parts[0].system.model, made.parts[1].system.model)


@pytest.mark.parametrize("better", [True, False], ids=["the polish helps", "it does not"])
def test_validation_episodes_decide_whether_the_polish_is_kept(monkeypatch, better):
    """The polished model is judged first, then the one before it, then the one that is kept."""
    told = iter([1.0, 0.5, 1.0] if better else [0.5, 1.0, 1.0])

    def judged(system, validation) -> SimpleNamespace:
        return SimpleNamespace(free_run=SimpleNamespace(value=next(told), poor=False))

    monkeypatch.setattr(_polished, "judge", judged)
    made = gpssm.fit(records(), replace(QUICK, network_steps=0), validation=records(), progress=gpssm.Silent(), seed=0)
    before = gpssm.fit(records(), replace(QUICK, iterations=0), progress=gpssm.Silent(), seed=0)
    assert _equal(made.system.model, before.system.model) != better
    assert made.method.iterations == (QUICK.iterations if better else 0)
    assert any("the polish made free runs" in event for event in made.history.events) != better


def test_it_goes_on_from_an_earlier_fit_to_other_records():
    """Only the polish is made, from that model and from the states that it sees in these records."""
    earlier = gpssm.fit(records(), QUICK, progress=gpssm.Silent(), seed=0)
    new = gpssm.Episodes([record(45, seed=7), record(20, seed=8)])
    heard = Listening()
    made = gpssm.fit(new, replace(QUICK, iterations=5), start=earlier, progress=heard, seed=0)
    assert made.result.good and _is_finite(made.system)
    first = made.history.bound[len(earlier.history.bound)]
    afresh = gpssm.fit(new, replace(QUICK, iterations=1, steps=1), progress=gpssm.Silent(), seed=0)
    assert first > afresh.best_bound, "a start that knows the system"
    assert made.best_bound > first
    with pytest.raises(gpssm.DataError, match="cannot go on from a ConstantPredictor"):
        gpssm.fit(new, QUICK, start=gpssm.fit(new, gpssm.Constant(), progress=gpssm.Silent()), progress=gpssm.Silent())


def test_the_number_of_states_is_one_more_than_there_are_outputs_unless_told():
    chosen = []

    class ChosenError(Exception):
        pass

    def note(self, states, data, run, key):
        chosen.append(states)
        raise ChosenError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_polished.Polished, "_tried", note)
        for method in (gpssm.Polished(), gpssm.Polished(states=4)):
            with pytest.raises(ChosenError):
                gpssm.fit(records(), method, progress=gpssm.Silent())
    assert chosen == [2, 4]


@pytest.mark.slow
def test_the_number_of_states_is_chosen_by_free_runs_over_what_was_held_out():
    method = gpssm.Polished(states=(1, 2), num_inducing=6, hidden=4, steps=100, iterations=10, network_steps=50)
    made = gpssm.fit(records(), method, progress=gpssm.Silent())
    (event,) = [event for event in made.history.events if "chosen among" in event]
    assert event == f"{made.system.model.state_dim} states, chosen among 1, 2"
    assert made.method == method


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"iterations": -1}, {"network_steps": -1}, {"tries": 0}])
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=.*need at least"):
        gpssm.Polished(**wrong)


def _episodes(outputs: int, inputs: int, *, seed: int = 0) -> gpssm.Episodes:
    """Outputs that mix the states of a stable linear system; two records of unequal length."""
    rng = np.random.default_rng(seed)
    mixing, drive = rng.standard_normal((outputs, 2)), rng.standard_normal((2, inputs))
    ys, us = [], []
    for steps in (24, 17):
        x, u = rng.standard_normal(2), rng.standard_normal((steps, inputs))
        y = np.zeros((steps, outputs))
        for t in range(steps):
            y[t] = mixing @ x + 0.05 * rng.standard_normal(outputs)
            x = np.array([[0.9, 0.3], [-0.3, 0.8]]) @ x + drive @ u[t] + 0.05 * rng.standard_normal(2)
        y[rng.uniform(size=y.shape) < 0.1] = np.nan
        ys.append(y)
        us.append(u)
    return gpssm.Episodes.from_arrays(y=ys, u=us)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outputs", "inputs", "states"),
    [(1, 0, 1), (2, 1, 1), (2, 1, 3), (2, 0, 4)],
    ids=["no inputs", "two outputs one state", "two outputs three states", "hidden states without inputs"],
)
def test_all_kinds_of_systems(outputs, inputs, states):
    episodes = _episodes(outputs, inputs)
    method = gpssm.Polished(states=states, num_inducing=6, hidden=4, steps=50, iterations=5, network_steps=50)
    system = gpssm.fit(episodes, method, progress=gpssm.Silent()).system
    assert _is_finite(system)
    assert np.isfinite(system.history.bound).all()
    free = system.simulate(episodes[0], n_init=4, num_samples=16, key=jr.key(0))
    assert free.samples.shape == (16, 20, outputs)
    assert free.states.shape == (16, 20, states)
    assert np.isfinite(free.samples).all()
    future = {"inputs": np.zeros((7, inputs))} if inputs else {"steps": 7}
    assert np.isfinite(system.forecast(episodes[1], num_samples=16, key=jr.key(0), **future).samples).all()
    for states_of in (system.smooth(episodes[1]), system.filter(episodes[1])):
        assert np.isfinite(states_of.means).all()
        assert np.isfinite(states_of.chols).all()
        assert states_of.outputs.shape == (17, outputs)


@pytest.mark.slow
def test_long_records_are_trained_on_windows(monkeypatch):
    monkeypatch.setattr(_polished, "LONG", 20)
    held_out = gpssm.Episodes([record(30, seed=50)])
    method = gpssm.Polished(states=1, num_inducing=6, hidden=4, steps=200, tries=1)
    history = gpssm.fit(records(), method, validation=held_out, progress=gpssm.Silent()).history
    assert len(history.bound) == 200, "no second stage"
    assert history.bound[-50:].mean() > history.bound[:50].mean()
    assert [step for step, _ in history.held_out] == [200]
