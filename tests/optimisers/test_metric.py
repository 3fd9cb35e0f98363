"""L-BFGS in the posterior's own metric: the same optimum by a shorter way, and everything else that a stage must do."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Run, Status
from gpssm.fitting._problem import Tree, prepare
from gpssm.inference import (
    BiRNN,
    Explicit,
    GaussHermite,
    MeanField,
    NaturalGradient,
    PerStepStates,
    linearised_posterior,
)
from gpssm.models import Batch
from gpssm.optimisers import LBFGS, MetricLBFGS, Trained, _metric
from tests.fitting.test_checkpointed_fits import killed_and_resumed, went_on_at
from tests.optimisers.small_task import Listening, Task, equal, finite, free_states, padded, small_episodes
from tests.optimisers.test_lbfgs import Fragile, Interrupting, _linear_model, problem
from tests.optimisers.test_lbfgs import Positive as Noise


@pytest.fixture(scope="module")
def data() -> Batch:
    """Two records, the second shorter."""
    return padded((20, 14), seed=4, length=20)


@eqx.filter_jit
def bound_of(tree: Tree, data: Batch):
    """In one program: outside of one, each operation would be another."""
    return tree[1].bound(tree[0], data, key=jr.key(0))[0].total()


@pytest.fixture(scope="module")
def plain(data: Batch) -> Trained:
    """L-BFGS without a metric."""
    return problem(data).train(LBFGS(3000, tolerance=1e-14, memory=50), key=jr.key(0))


@pytest.fixture(scope="module")
def done(data: Batch) -> Trained:
    """The same with it."""
    return problem(data).train(MetricLBFGS(400, tolerance=1e-12), key=jr.key(0))


def test_it_reaches_the_same_optimum(plain: Trained, done: Trained):
    """That of plain L-BFGS is the maximum of the evidence, as its own tests show."""
    assert done.history.bound[-1] == pytest.approx(plain.history.bound[-1], abs=1e-4)
    found, known = (np.log(d.model.transition.noise_variance()) for d in (done, plain))
    np.testing.assert_allclose(found, known, atol=0.1)


def test_about_the_exact_posterior_the_bound_is_round(data: Batch):
    """Of a linear model q(X) can be the exact posterior, and the bound is -KL[q || posterior]: in these coordinates its
    curvature is one in all directions, whether they move means, gains or factors."""
    model = _linear_model()
    exact = linearised_posterior(model, data, np.zeros((*data.valid.shape, 1)), rounds=1)
    inference = MeanField(PerStepStates.from_posterior(exact), Explicit(), GaussHermite(3))
    _, there = _metric.whitened(prepare((model, inference), np.float64), data)
    states = there.recognition

    def coordinates(states):
        return states.means_at, states.gains_at, states.factors_at

    @jax.jit
    def slope(at):
        def bound(at):
            moved = eqx.tree_at(lambda i: coordinates(i.recognition), there, at)
            return moved.bound(model, data, key=jr.key(0))[0].total()

        return jax.grad(bound)(at)

    rng, valid = np.random.default_rng(0), np.asarray(data.valid)
    direction = [rng.standard_normal(part.shape) for part in coordinates(states)]
    # Padding does not count, nor does the first gain.
    direction = [part * valid.reshape(*valid.shape, *[1] * (part.ndim - 2)) for part in direction]
    direction[1][:, 0] = 0.0
    ends = [slope(tuple(jnp.asarray(step * part) for part in direction)) for step in (1e-5, -1e-5)]
    spread = _metric.SHARE * valid.sum() ** 0.5
    for part, ahead, back in zip(direction, *ends, strict=True):
        np.testing.assert_allclose((np.asarray(ahead) - back) / 2e-5, -(spread**2) * part, atol=1e-4)


def test_it_only_rises_whatever_the_round(done: Trained):
    assert len(done.history.bound) > _metric.FIRST * 3, "the test wants several rounds"
    assert np.all(np.diff(done.history.bound) > -1e-9)
    assert done.result.good and "rounds" in done.history.events[-1]
    assert all(len(values) == len(done.history.bound) for values in done.history.terms.values())


def test_what_it_returns_is_plain_states_with_the_bound_that_it_told(data: Batch, done: Trained):
    assert isinstance(done.inference, MeanField) and isinstance(done.inference.recognition, PerStepStates)
    assert float(bound_of(done.tree, data)) / 34 == pytest.approx(float(done.history.bound[-1]), abs=1e-10)


def test_changing_coordinates_changes_nothing_else(data: Batch):
    task = problem(data)
    there = _metric.whitened(task.tree, data)
    back = _metric.unwhitened(there, data)
    bounds = [float(bound_of(tree, data)) for tree in (task.tree, there, back)]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-13)


def test_it_holds_what_is_frozen(data: Batch):
    task = problem(data)
    held = task.train(MetricLBFGS(7), freeze=lambda model, inference: inference.recognition, key=jr.key(0))
    before, after = (_metric._chains(inference, data) for inference in (task.tree[1], held.inference))
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)
    assert held.history.bound[-1] > held.history.bound[0]


@pytest.mark.parametrize("killed_at", [3, 5, 6, 9])
def test_it_goes_on_to_the_same_bits(data: Batch, killed_at: int, tmp_path):
    """Within the first round, at its end, at the start of the second and within it."""
    whole = problem(data).train(MetricLBFGS(12), key=jr.key(1))
    again = killed_and_resumed(problem(data), MetricLBFGS(12), killed_at, tmp_path / "c")
    in_round = (killed_at - 1) if killed_at <= _metric.FIRST else (killed_at - 1 - _metric.FIRST)
    assert went_on_at(again) == ([in_round] if in_round else [])
    assert equal(again.tree, whole.tree)
    np.testing.assert_array_equal(again.history.bound, whole.history.bound)
    assert again.result is whole.result


class Counting(Listening):
    """Keeps also what it is shown."""

    def __init__(self):
        super().__init__()
        self.told: list[Status] = []

    def update(self, status: Status) -> None:
        self.told.append(status)


def test_iterations_are_counted_over_all_rounds(data: Batch):
    heard = Counting()
    problem(data).train(MetricLBFGS(12), run=Run(progress=heard), key=jr.key(1))
    assert [status.step for status in heard.told] == list(range(1, 13))
    assert {(status.stage, status.total) for status in heard.told} == {("L-BFGS", 12)}


def test_interrupted_it_keeps_the_best_so_far(data: Batch):
    ended = problem(data).train(MetricLBFGS(12), run=Run(progress=Interrupting()), key=jr.key(0))
    assert ended.result is gpssm.Result.interrupted
    assert len(ended.history.bound) == 3
    assert isinstance(ended.inference.recognition, PerStepStates)


def test_a_bound_that_is_nan_from_the_start_returns_the_start(data: Batch):
    task = problem(data, _linear_model(Fragile(Noise.of(np.ones(1)), 2.0)))
    ended = task.train(MetricLBFGS(12), key=jr.key(0))
    assert ended.result is gpssm.Result.diverged
    assert finite(ended.tree)
    assert equal(ended.inference, task.tree[1])


def test_what_it_cannot_do_is_said(data: Batch):
    states = free_states(data)
    network = BiRNN.from_data(small_episodes((12, 9), seed=0), state_dim=1, hidden=2, key=jr.key(0))
    for inference, words in (
        (MeanField(states, NaturalGradient(), GaussHermite(3)), "takes no natural-gradient steps"),
        (MeanField(network, Explicit(), GaussHermite(3)), "use q_x=PerStep"),
    ):
        task = Task(_linear_model(), prepare((_linear_model(), inference), np.float64)[1], data)
        with pytest.raises((ValueError, TypeError), match=words):
            task.train(MetricLBFGS(5), key=jr.key(0))
    with pytest.raises(ValueError, match="at least one"):
        replace(MetricLBFGS(1), iterations=0)
