"""The linear baseline against the textbook filter and against the system that made the data."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Prepared, Run
from gpssm.methods import Linear
from gpssm.methods.linear import _kalman
from gpssm.methods.linear._free_run import free_run_and_score
from gpssm.methods.linear._kalman import kalman_evidence, linear_system
from gpssm.methods.linear._objective import Shapes
from gpssm.methods.linear._simulated import free_run_error, noise_factor
from gpssm.methods.linear._start import linear_starts, of_other_kinds, spectral_radius, standardised
from gpssm.methods.linear._subspace import heads_and_tails
from gpssm.predict import LinearSystem, MeanOnly
from gpssm.predict._kalman import grouped
from tests.reference.compiling import constant
from tests.reference.fitting import learnt
from tests.reference.kalman import LinearModel, evidence

TRUTH = LinearModel(
    A=np.array([[0.9, 0.3], [-0.3, 0.8]]),
    B=np.array([[0.0], [0.5]]),
    c=np.array([0.05, 0.0]),
    Q=np.array([0.01, 0.02]),
    W=np.array([[1.0, 0.2]]),
    b=np.array([0.3]),
    R=np.array([0.05]),
)


def record(steps: int, *, seed: int, missing: float = 0.0) -> gpssm.Episode:
    rng = np.random.default_rng(seed)
    x, u, y = rng.standard_normal(2), rng.standard_normal((steps, 1)), np.zeros((steps, 1))
    for t in range(steps):
        y[t] = TRUTH.W @ x + TRUTH.b + np.sqrt(TRUTH.R) * rng.standard_normal(1)
        x = TRUTH.A @ x + TRUTH.B @ u[t] + TRUTH.c + np.sqrt(TRUTH.Q) * rng.standard_normal(2)
    y[rng.uniform(size=y.shape) < missing] = np.nan
    return gpssm.Episode(y=y, u=u, name=f"record {seed}")


def records(missing: float = 0.0) -> gpssm.Episodes:
    return gpssm.Episodes([record(80, seed=1, missing=missing), record(60, seed=2, missing=missing)])


@constant
def fitted() -> gpssm.System:
    return learnt(records(missing=0.1), Linear(2, iterations=60, simulation_weight=0.0))


def as_reference(identified: gpssm.System) -> LinearModel:
    mean, emission = identified.model.transition.mean, identified.model.emission
    return LinearModel(
        A=np.asarray(mean.state_matrix),
        B=np.asarray(mean.control_matrix),
        c=np.asarray(mean.offset),
        Q=np.asarray(identified.model.transition.noise_variance()),
        W=np.asarray(emission.weight),
        b=np.asarray(emission.offset),
        R=np.asarray(emission.noise_variance()),
    )


def test_evidence_is_that_of_the_textbook_filter():
    identified, episodes = fitted(), records(missing=0.1)
    scaled = identified.scaler.apply(episodes)
    expected = sum(evidence(as_reference(identified), e.y, e.u, e.observed) for e in scaled)
    assert kalman_evidence(identified, episodes) == pytest.approx(expected, rel=1e-8)


def test_found_model_is_at_least_as_likely_as_the_true_one():
    identified, episodes = fitted(), records(missing=0.1)
    true = sum(evidence(TRUTH, e.y, e.u, e.observed) for e in episodes)
    # From standardised to original units, each measured value changes the log-density by the logarithm of the scale.
    count = sum(int(e.observed.sum()) for e in episodes)
    shift = count * np.log(identified.scaler.undo_std(np.ones(1)).item())
    assert kalman_evidence(identified, episodes) - shift >= true


def test_one_step_predictions_are_nearly_those_of_the_true_system():
    new = record(150, seed=9)
    found = fitted().predict(new, horizon=1, num_samples=1, propagation=MeanOnly(), key=jr.key(0)).mean
    mean, covariance, expected = np.zeros(2), np.eye(2), []
    for t in range(len(new)):
        expected.append((TRUTH.W @ mean + TRUTH.b).item())
        variance = (TRUTH.W @ covariance @ TRUTH.W.T + TRUTH.R).item()
        gain = (covariance @ TRUTH.W.T / variance)[:, 0]
        mean = mean + gain * (new.y[t, 0] - expected[-1])
        covariance = covariance - np.outer(gain, TRUTH.W @ covariance)
        mean = TRUTH.A @ mean + TRUTH.B @ new.u[t] + TRUTH.c
        covariance = TRUTH.A @ covariance @ TRUTH.A.T + np.diag(TRUTH.Q)
    error = np.sqrt(np.mean((found[20:, 0] - np.asarray(expected)[21:]) ** 2))
    assert error < 0.25 * np.std(new.y)


def test_what_stands_at_missing_entries_does_not_matter():
    episodes = records(missing=0.1)
    hidden = gpssm.Episodes(
        [gpssm.Episode(y=np.where(e.observed, e.y, 7.0), u=e.u, mask=e.observed, name=e.name) for e in episodes]
    )
    again = learnt(hidden, Linear(2, iterations=60, simulation_weight=0.0))
    np.testing.assert_array_equal(again.model.transition.mean.state_matrix, fitted().model.transition.mean.state_matrix)


def test_free_run_does_not_see_later_outputs():
    new = record(50, seed=5)
    other = gpssm.Episode(y=np.concatenate([new.y[:10], -3.0 * new.y[10:]]), u=new.u)
    runs = [fitted().simulate(e, n_init=10, num_samples=8, key=jr.key(3)).samples for e in (new, other)]
    np.testing.assert_array_equal(*runs)


def test_growing_data_give_a_model_that_does_not_explode():
    rng = np.random.default_rng(0)
    y = np.exp(0.05 * np.arange(60.0))[:, None] + 0.01 * rng.standard_normal((60, 1))
    identified = learnt(gpssm.Episodes.from_arrays(y=y), Linear(1, iterations=30, max_radius=0.98))
    assert spectral_radius(np.asarray(identified.model.transition.mean.state_matrix)) <= 0.98 + 1e-9


@pytest.mark.parametrize("outputs, order", [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)])
def test_every_start_is_stable_and_in_standard_coordinates(outputs, order):
    rng = np.random.default_rng(order)
    episodes = gpssm.Episodes.from_arrays(
        y=rng.standard_normal((40, outputs)).cumsum(axis=0), u=rng.standard_normal((40, 1))
    )
    starts = linear_starts(gpssm.Scaler.from_episodes(episodes).apply(episodes), order, max_radius=0.9)
    assert starts
    for start in starts:
        assert spectral_radius(start.A) <= 0.9 + 1e-9
        assert start.A.shape == (order, order) and start.C.shape == (outputs, order)
        np.testing.assert_array_equal(start.P0, np.eye(order))
        np.testing.assert_array_equal(start.Q, np.diag(np.diagonal(start.Q)))


def test_change_of_coordinates_keeps_the_distribution_of_the_outputs():
    rng = np.random.default_rng(3)
    Q, P0 = (m @ m.T + 0.1 * np.eye(2) for m in rng.standard_normal((2, 2, 2)))
    system = LinearSystem(TRUTH.A, TRUTH.B, TRUTH.c, TRUTH.W, TRUTH.b, Q, TRUTH.R, rng.standard_normal(2), P0)
    u = rng.standard_normal((4, 1))

    def moments(s: LinearSystem) -> tuple[np.ndarray, np.ndarray]:
        mean, covariance, means, variances = s.m0, s.P0, [], []
        for t in range(4):
            means.append(s.C @ mean + s.b)
            variances.append(s.C @ covariance @ s.C.T)
            mean, covariance = s.A @ mean + s.B @ u[t] + s.c, s.A @ covariance @ s.A.T + s.Q
        return np.stack(means), np.stack(variances)

    for before, after in zip(moments(system), moments(standardised(system)), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


def test_free_run_log_density_is_that_of_the_marginals():
    identified, episodes = fitted(), records(missing=0.1)
    model, total = as_reference(identified), 0.0
    for e in identified.scaler.apply(episodes):
        mean, covariance = np.zeros(2), np.eye(2)
        for t in range(len(e)):
            variance = (model.W @ covariance @ model.W.T + np.diag(model.R)).item()
            error = (e.y[t] - model.W @ mean - model.b).item()
            total += e.observed[t, 0] * -0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
            mean, covariance = (
                model.A @ mean + model.B @ e.u[t] + model.c,
                model.A @ covariance @ model.A.T + np.diag(model.Q),
            )
    assert free_run(identified, episodes) == pytest.approx(total, rel=1e-9)


def free_run(identified: gpssm.System, episodes: gpssm.Episodes) -> float:
    return free_run_and_score(linear_system(identified.model), grouped(identified.scaler.apply(episodes)))[0]


@pytest.mark.system
def test_free_run_share_trades_evidence_for_free_runs():
    episodes = records(missing=0.1)
    free = learnt(episodes, Linear(2, iterations=60, simulation_weight=1.0))
    assert free_run(free, episodes) > free_run(fitted(), episodes)
    assert kalman_evidence(free, episodes) < kalman_evidence(fitted(), episodes)


def small_system(seed: int) -> tuple[LinearModel, gpssm.Episodes]:
    """A system of one to three states with noises over orders of magnitude, and two records of it."""
    rng = np.random.default_rng(seed)
    order = int(rng.integers(1, 4))
    A = rng.standard_normal((order, order))
    A *= rng.uniform(0.6, 0.98) / spectral_radius(A)
    true = LinearModel(
        A=A,
        B=rng.standard_normal((order, 1)),
        c=0.05 * rng.standard_normal(order),
        Q=10.0 ** rng.uniform(-3.0, -0.5, order),
        W=rng.standard_normal((1, order)),
        b=0.3 * rng.standard_normal(1),
        R=10.0 ** rng.uniform(-2.5, 0.0, 1),
    )
    episodes = []
    for steps in (150, 75):
        x, u, y = rng.standard_normal(order), rng.standard_normal((steps, 1)), np.zeros((steps, 1))
        for t in range(steps):
            y[t] = true.W @ x + true.b + np.sqrt(true.R) * rng.standard_normal(1)
            x = true.A @ x + true.B @ u[t] + true.c + np.sqrt(true.Q) * rng.standard_normal(order)
        episodes.append(gpssm.Episode(y=y, u=u))
    return true, gpssm.Episodes(episodes)


def above_the_truth(seed: int) -> float:
    """How much more likely the found model is than the one that made the data, in nats."""
    true, episodes = small_system(seed)
    identified = learnt(episodes, Linear(len(true.c), simulation_weight=0.0))
    log_scale = np.log(identified.scaler.output_scale.item())
    found = kalman_evidence(identified, episodes) - episodes.num_steps * log_scale
    return found - sum(evidence(true, e.y, e.u, e.observed) for e in episodes)


@pytest.mark.system
@pytest.mark.parametrize("seed", [0, 1])
def test_no_model_is_much_more_likely_than_the_one_found(seed):
    assert above_the_truth(seed) > 0.0


@pytest.mark.system
@pytest.mark.parametrize("seed", range(2, 12))
def test_the_true_model_is_not_more_likely_than_the_one_found(seed):
    assert above_the_truth(seed) > 0.0


@pytest.mark.system
def test_a_start_without_measurement_noise_does_not_keep_the_search_from_it():
    """Nearly all of what varies is the sensor's noise; a start that has none of it ends in a lesser maximum."""
    rng = np.random.default_rng(4)
    u, x, y = rng.standard_normal((200, 1)), 0.0, np.zeros((200, 1))
    for t in range(200):
        y[t] = x + rng.standard_normal()
        x = 0.9 * x + 0.3 * u[t, 0]
    identified = learnt(gpssm.Episodes.from_arrays(y=y, u=u), Linear(1))
    noise = identified.scaler.undo_std(np.sqrt(np.asarray(identified.model.emission.noise_variance())))
    assert noise.item() == pytest.approx(1.0, rel=0.12)


def test_kinds_of_starts_differ_in_what_is_noise():
    episodes = records()
    starts = linear_starts(gpssm.Scaler.from_episodes(episodes).apply(episodes), 2, max_radius=1.0)
    kinds = of_other_kinds(starts)
    assert len(kinds) == 3 * len(starts)
    for start, noisy, lively in zip(starts, *(kinds[i * len(starts) :] for i in (1, 2)), strict=False):
        np.testing.assert_array_equal(noisy.A, start.A)
        assert np.all(noisy.R >= 0.3) and np.all(np.diagonal(noisy.Q) < np.diagonal(start.Q))
        assert np.all(lively.R < start.R) and np.all(np.diagonal(lively.Q) > np.diagonal(start.Q))


@pytest.mark.system
def test_free_runs_have_a_share_where_the_ends_of_the_records_ask_for_it():
    """What was judged is told, decides, and changes nothing else."""
    plain = gpssm.fit(records(), Linear(2, iterations=30), progress=gpssm.Silent())
    (told,) = (event for event in plain.history.events if event.startswith("free run"))
    share = float(told.split("a share of ")[1].split()[0])
    with_it, without = (float(part.split()[0]) for part in (told.split("records ")[1], told.split(", ")[1]))
    assert share == (0.3 if 1.02 * with_it < without else 0.0)
    none = learnt(records(), Linear(2, iterations=30, simulation_weight=share))
    np.testing.assert_array_equal(none.model.emission.weight, plain.system.model.emission.weight)


@pytest.mark.parametrize(("order", "expected"), [(1, 0.3), (2, 0.0)])
def test_shares_are_judged_by_the_root_of_the_mean_squared_miss_over_the_ends(order, expected, monkeypatch):
    """Two states are the truth, and need no share; one is too few, and does."""
    judged = []

    def watched(system: LinearSystem, ends: list[gpssm.Episode]) -> float:
        judged.append(system)
        assert [len(end) for end in ends] == [20 + 10, 15 + 10]
        return free_run_error(system, ends)

    monkeypatch.setattr(_kalman, "free_run_error", watched)
    scaled = Prepared.of(records()).scaled
    share, wider, told = Linear(order, iterations=15)._judged_share(scaled, Shapes(order, 1, 1), Run())
    ends = heads_and_tails(list(scaled))[1]
    without, with_it = (np.sqrt(free_run_error(system, ends)) for system in judged)
    assert f"{with_it:.3g} with 0.3, {without:.3g} with none" in told
    assert share == expected == (0.3 if 1.02 * with_it < without else 0.0)
    assert wider == (noise_factor(judged[1], ends) if share else 1.0)
