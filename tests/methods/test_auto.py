"""Learning a system in one call, and the precision it is done in."""

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm._core._params import Positive, cast
from gpssm.fitting._progress import Status
from gpssm.optimisers import _step
from tests.reference.small_system import LENGTHS, identified, identify, record, records

ROOT = Path(__file__).resolve().parents[1]


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
    assert isinstance(system.recognition, gpssm.BiRNN)
    assert all(leaf.dtype == np.float64 for leaf in _leaves(system.model))


def test_the_history_covers_both_stages():
    history = identified().history
    assert history.num_steps == sum(LENGTHS)
    assert 100 < len(history.bound) <= 120, "100 steps of Adam, then up to 20 of L-BFGS"
    assert all(len(values) == len(history.bound) for values in history.terms.values())
    assert any(event.startswith("Adam") for event in history.events)
    assert any(event.startswith("L-BFGS") for event in history.events)
    assert history.bound[-1] > history.bound[:20].mean()
    assert history.seconds > 0.0


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
        free = again.simulate(record(30, seed=99), n_init=5, num_samples=64, key=jr.key(0))
        smooth, filtered = again.smooth(record(30, seed=99)), again.filter(record(30, seed=99))
        online = again.online(estimator=gpssm.EKF())
        online.update(0.3, 0.1)
        mean, covariance = online.update(0.3, 0.1)
        assert jnp.ones(()).dtype == jnp.float32, "the caller is still in single precision"
    assert _equal((again.model, again.recognition), (first.model, first.recognition))
    for array in (free.samples, free.states, smooth.means, filtered.means, mean, covariance):
        assert array.dtype == np.float64
    expected = first.simulate(record(30, seed=99), n_init=5, num_samples=64, key=jr.key(0))
    assert np.array_equal(free.samples, expected.samples)


SCRIPT = """
import json
import jax
import gpssm
from tests.reference.small_system import record, records

before = jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion
system = gpssm.identify(
    records(), states=1, num_inducing=5, hidden=3, steps=50, iterations=2, network_steps=50, progress=gpssm.Silent()
)
free = system.simulate(record(20, seed=9), n_init=4, num_samples=10, key=jax.random.key(0))
filtered = system.filter(record(20, seed=9))
after = jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion
dtypes = {str(x.dtype) for x in jax.tree.leaves(system.model) if isinstance(x, jax.Array)}
print(json.dumps({
    "before": before, "after": after, "types": [*dtypes, str(free.samples.dtype), str(filtered.means.dtype)],
    "outside": str(jax.numpy.ones(()).dtype),
}))
"""


@pytest.mark.slow
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
    free = system.simulate(unseen, n_init=5, num_samples=64, key=jr.key(0))
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
    system = gpssm.identify(records(), states=1, num_inducing=6, hidden=4, steps=100, iterations=20, progress=progress)
    assert progress.heard == heard
    assert _is_finite(system)
    assert any("interrupted" in event for event in system.history.events)


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
    system = gpssm.identify(
        episodes,
        states=states,
        num_inducing=6,
        hidden=4,
        steps=50,
        iterations=5,
        network_steps=50,
        progress=gpssm.Silent(),
    )
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
    monkeypatch.setattr("gpssm.methods._identify.LONG", 20)
    held_out = gpssm.Episodes([record(30, seed=50)])
    system = gpssm.identify(
        records(), states=1, num_inducing=6, hidden=4, steps=200, held_out=held_out, progress=gpssm.Silent()
    )
    assert _is_finite(system)
    assert len(system.history.bound) == 200, "no second stage"
    assert system.history.bound[-50:].mean() > system.history.bound[:50].mean()
    assert [step for step, _ in system.history.held_out] == [200]


def test_a_linear_model_can_be_fitted_without_a_network():
    """A transition without q(u) goes through the same door."""
    mean = gpssm.LinearMean(jnp.full((1, 1), 0.5), jnp.zeros((1, 1)), jnp.zeros(1))
    transition = gpssm.Linear(mean, Positive.of(jnp.full(1, 0.1)))
    model = cast(gpssm.GPSSM(transition, gpssm.LinearGaussian.first_states(1, 1, noise=0.1), 1), np.float64)
    fitted = gpssm.fit_free(model, records(), iterations=100, key=jr.key(0))
    assert fitted.result.good
    assert fitted.history.bound[-1] > fitted.history.bound[0]
    assert float(fitted.identified.model.transition.mean.state_matrix[0, 0]) == pytest.approx(0.7, abs=0.1)
    assert fitted.identified.recognition is None


def test_a_fit_without_episodes_of_the_right_kind_is_refused():
    with pytest.raises(gpssm.DataError, match="outputs"):
        gpssm.fit(
            identified().model,
            gpssm.MeanField(identified().recognition),
            _episodes(2, 1),
            scaler=identified().scaler,
            steps=1,
            key=jr.key(0),
        )
