"""The pieces of linear identification, each against its definition: dense Gaussians, least squares, differences."""

from dataclasses import replace

import numpy as np
import pytest

import gpssm
from gpssm.methods.linear import _objective, _score, _simulated, _start
from gpssm.predict import LinearSystem
from gpssm.predict import _kalman as _kalman_filter
from gpssm.predict._chain import chain
from gpssm.predict._kalman import grouped, kalman
from tests.reference.gaussian import chain_covariance, log_density

STEPS, ORDER, OUTPUTS = 30, 2, 2


def system() -> LinearSystem:
    return LinearSystem(
        A=np.array([[0.8, 0.3], [-0.2, 0.7]]),
        B=np.array([[0.5, -0.1], [1.0, 0.4]]),
        c=np.array([0.1, -0.2]),
        C=np.array([[1.0, 0.3], [0.4, 1.2]]),
        b=np.array([0.3, -0.1]),
        Q=np.array([[0.05, 0.01], [0.01, 0.02]]),
        R=np.array([0.04, 0.1]),
        m0=np.array([0.5, -0.3]),
        P0=np.array([[0.9, 0.2], [0.2, 0.5]]),
    )


def record(seed: int = 0) -> gpssm.Episode:
    rng = np.random.default_rng(seed)
    true, x = system(), rng.multivariate_normal(system().m0, system().P0)
    u, y = rng.standard_normal((STEPS, 2)), np.empty((STEPS, OUTPUTS))
    for t in range(STEPS):
        y[t] = true.C @ x + true.b + np.sqrt(true.R) * rng.standard_normal(OUTPUTS)
        x = true.A @ x + true.B @ u[t] + true.c + rng.multivariate_normal(np.zeros(ORDER), true.Q)
    y[3, 0], y[11] = np.nan, np.nan
    return gpssm.Episode(y=y, u=u)


def prior(true: LinearSystem, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of all outputs of a record before any is seen."""
    states = np.empty((len(u), ORDER))
    states[0] = true.m0
    for t in range(1, len(u)):
        states[t] = true.A @ states[t - 1] + true.B @ u[t - 1] + true.c
    joint = chain_covariance(np.stack([true.A] * len(u)), np.stack([true.P0] + [true.Q] * (len(u) - 1)))
    read = np.kron(np.eye(len(u)), true.C)
    noise = np.tile(true.R, len(u))
    return (states @ true.C.T + true.b).ravel(), read @ joint @ read.T + np.diag(noise)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_evidence_is_that_of_the_dense_gaussian(outputs):
    true, data = system(), record()
    true = replace(true, C=true.C[:outputs], b=true.b[:outputs], R=true.R[:outputs])
    y, observed = data.y[:, :outputs], data.observed[:, :outputs]
    seen = observed.ravel()
    mean, covariance = prior(true, data.u)
    dense = log_density(y.ravel()[seen], mean[seen], covariance[np.ix_(seen, seen)])
    assert kalman(true, y, data.u, observed).log_evidence == pytest.approx(dense, rel=1e-9)


def free_run() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs that follow the samples read, and their mean and variance given those, from the dense Gaussian."""
    true, data = system(), record()
    mean, covariance = prior(true, data.u)
    n_init = STEPS // 5
    first = np.flatnonzero(data.observed.ravel()[: n_init * OUTPUTS])
    rest = np.arange(n_init * OUTPUTS, STEPS * OUTPUTS)
    gain = np.linalg.solve(covariance[np.ix_(first, first)], covariance[np.ix_(first, rest)]).T
    given = mean[rest] + gain @ (data.y.ravel()[first] - mean[first])
    left = np.diagonal(covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(first, rest)])
    seen = data.observed.ravel()[rest]
    return data.y.ravel()[rest][seen], given[seen], left[seen]


def test_the_error_of_a_free_run_is_that_of_the_dense_conditional():
    y, mean, _ = free_run()
    assert _simulated.free_run_error(system(), [record()]) == pytest.approx(((y - mean) ** 2).mean(), rel=1e-9)
    with np.errstate(all="ignore"):
        assert _simulated.free_run_error(replace(system(), A=1e200 * np.eye(2)), [record()]) == np.inf


def test_noises_are_judged_by_single_steps_and_free_runs_alike():
    y, mean, variance = free_run()
    free = -0.5 * (np.log(2.0 * np.pi * variance) + (y - mean) ** 2 / variance).sum()
    steps = kalman(system(), record().y, record().u, record().observed).log_evidence
    assert _simulated._log_densities(system(), record()) == pytest.approx(0.5 * (free + steps), rel=1e-9)


@pytest.mark.parametrize("direct", [False, True])
def test_inputs_are_refitted_by_least_squares_over_whole_runs(direct):
    """The optimum of the ridge problem in (B, c, b), a direct term D if there is one, and the first states of two
    records, solved as one dense system."""
    true, records = system(), [record(0), record(1)]
    if direct:
        found, term = _simulated.with_direct_refitted(true, records)
    else:
        found, term = _simulated.with_inputs_refitted(true, records), np.zeros((OUTPUTS, 2))

    def outputs(vector: np.ndarray) -> np.ndarray:
        B, c, b, starts, D = np.split(vector, np.cumsum([4, 2, 2, 2 * ORDER]))
        runs = []
        for data, x in zip(records, starts.reshape(2, ORDER), strict=True):
            for u in data.u:
                runs.append(true.C @ x + b + (D.reshape(OUTPUTS, 2) @ u if direct else 0.0))
                x = true.A @ x + B.reshape(ORDER, 2) @ u + c
        return np.concatenate(runs)

    size = 4 + 2 + 2 + 2 * ORDER + 4 * direct
    seen = np.concatenate([data.observed.ravel() for data in records])
    y = np.concatenate([data.y.ravel() for data in records])[seen]
    design = np.stack([outputs(one)[seen] for one in np.eye(size)], axis=1)
    best = np.linalg.solve(design.T @ design + _simulated.DOUBT * np.eye(size), design.T @ y)
    np.testing.assert_allclose(found.B, best[:4].reshape(ORDER, 2), rtol=1e-8)
    np.testing.assert_allclose(np.concatenate([found.c, found.b]), best[4:8], rtol=1e-8)
    np.testing.assert_allclose(term, best[12:].reshape(OUTPUTS, 2) if direct else 0.0, rtol=1e-8)


@pytest.mark.system
def test_noises_that_are_wrong_by_orders_of_magnitude_are_found():
    """On a long record of the system itself: closer to the truth than a factor of two, from a hundredth of it."""
    rng, true = np.random.default_rng(5), system()
    x, u, y = true.m0, rng.standard_normal((400, 2)), np.empty((400, OUTPUTS))
    for t in range(400):
        y[t] = true.C @ x + true.b + np.sqrt(true.R) * rng.standard_normal(OUTPUTS)
        x = true.A @ x + true.B @ u[t] + true.c + rng.multivariate_normal(np.zeros(ORDER), true.Q)
    wrong = replace(true, Q=0.01 * true.Q, R=30.0 * true.R)
    found = _simulated.with_noises_found(wrong, [gpssm.Episode(y=y, u=u)])
    assert np.all(np.abs(np.log(found.R / true.R)) < np.log(2.0))
    assert np.all(np.abs(np.log(np.diag(found.Q) / np.diag(true.Q))) < np.log(2.0))


def test_records_that_were_not_fitted_tell_how_much_more_noise_there_is():
    """Of a sixteenth of the process noise about sixteen times is asked for; of the true one, none more."""
    rng, true = np.random.default_rng(6), system()
    x, u, y = true.m0, rng.standard_normal((400, 2)), np.empty((400, OUTPUTS))
    for t in range(400):
        y[t] = true.C @ x + true.b + np.sqrt(true.R) * rng.standard_normal(OUTPUTS)
        x = true.A @ x + true.B @ u[t] + true.c + rng.multivariate_normal(np.zeros(ORDER), true.Q)
    unseen = [gpssm.Episode(y=y, u=u)]
    assert _simulated.noise_factor(replace(true, Q=true.Q / 16.0), unseen) in (8.0, 16.0, 32.0)
    assert _simulated.noise_factor(true, unseen) == 1.0


def standard(A: np.ndarray) -> LinearSystem:
    """With x[0] ~ N(0, I) and diagonal noises, as they are searched for."""
    Q, R = np.diag([0.1, 0.2]), np.array([0.3, 0.4])
    return replace(system(), A=A, Q=Q, R=R, m0=np.zeros(2), P0=np.eye(2))


VANISHING = _objective.NOISE_FLOOR * (1 / 0.1 + 1 / 0.2 + 1 / 0.3 + 1 / 0.4)


@pytest.mark.parametrize(("radius", "allowed"), [(0.7, 0.9), (0.95, 0.9), (1.05, 1.0), (1.05, 1.2)])
def test_growth_beyond_the_allowed_radius_costs_its_square(radius, allowed):
    """A is a rotation times its radius, so that log |A^k| / k is the logarithm of the radius but for a part in k."""
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    # The norm is the root of the sum of squares, sqrt(2) for a rotation.
    rate = np.log(radius) + 0.5 * np.log(2.0) / 2.0**_objective.SQUARINGS
    excess = max(rate - np.log(allowed) - _objective.GROWTH, 0.0)
    expected = STEPS * _objective.STEEPNESS * excess**2 + VANISHING
    cost, _ = _objective.Objective(grouped([record()]), allowed).costs(standard(radius * turn))
    assert cost == pytest.approx(expected, rel=1e-9)


def test_growth_is_the_norm_of_a_high_power():
    matrix = np.array([[0.7, 1.0], [0.0, 0.6]])
    expected = np.log(np.linalg.norm(np.linalg.matrix_power(matrix, 1024))) / 1024
    assert _objective.growth(matrix).rate == pytest.approx(expected, rel=1e-6)
    assert np.isfinite(_objective.growth(np.zeros((2, 2))).rate)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_slope_is_that_of_differences(share):
    """Over records of two lengths, of which some outputs are missing, with a radius that costs something."""
    long = [record(seed) for seed in range(2)]
    data = grouped([*long, long[0][:20]])
    assert len(data) == 2 and data[0].y.shape[2] == 2
    shapes, objective = _objective.Shapes(2, 2, 2), _objective.Objective(data, 0.8, share)
    first = shapes.flat(standard(system().A))
    value, score = objective(shapes.system(first))
    moved = 1e-6 * np.eye(len(first))
    values = [[objective(shapes.system(first + sign * step))[0] for sign in (1.0, -1.0)] for step in moved]
    differences = np.array([(up - down) / 2e-6 for up, down in values])
    found = shapes.slope(shapes.system(first), score)
    np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-5 * np.abs(found).max())
    assert np.isfinite(value) and np.all(np.abs(found) > 0.0), "everything matters"


def test_records_that_settle_have_the_evidence_and_the_slope_of_those_that_are_stepped_through(monkeypatch):
    """Long enough for all shortcuts, with a gap in the middle."""
    rng = np.random.default_rng(1)
    y, u = rng.standard_normal((160, 2)), rng.standard_normal((160, 2))
    y[80:83, 0] = np.nan
    data = grouped([gpssm.Episode(y=y, u=u)])
    true = standard(system().A)
    short = _score.evidence_and_score(true, data)
    settled = _kalman_filter.gains(true, data[0].observed).settled
    assert len(settled) == 2 and all(stop - start > 30 for start, stop in settled)
    monkeypatch.setattr(_kalman_filter, "SETTLED", -1.0)
    assert _kalman_filter.gains(true, data[0].observed).settled == ()
    stepped = _score.evidence_and_score(true, data)
    assert short[0] == pytest.approx(stepped[0], rel=1e-12)
    for one, other in zip(short[1], stepped[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_chain_is_its_recurrence():
    rng, A = np.random.default_rng(0), system().A
    led = rng.standard_normal((37, 2, 3))
    x = [led[0]]
    for row in led[1:]:
        x.append(A @ x[-1] + row)
    np.testing.assert_allclose(chain(A, led), x, rtol=1e-12)
    np.testing.assert_allclose(chain(A, led[:, :, 0]), np.stack(x)[:, :, 0], rtol=1e-12)
    assert not np.isfinite(chain(np.full((2, 2), np.nan), led)[-1]).any()


@pytest.mark.parametrize("outputs", [1, 2])
def test_outputs_without_any_noise_have_no_evidence_and_end_no_search(outputs):
    """A step that is far too long makes noises vanish: the search has to see that, and turn back."""
    true, data = system(), record()
    silent = replace(true, C=true.C[:outputs], b=true.b[:outputs], R=np.zeros(outputs), Q=np.zeros((2, 2)))
    silent = replace(silent, A=np.zeros((2, 2)))
    one = gpssm.Episode(y=np.nan_to_num(data.y[:, :outputs]), u=data.u)
    with np.errstate(all="ignore"):
        value, score = _score.evidence_and_score(silent, grouped([one]))
    assert not np.isfinite(value) and not np.isfinite(score.A).any()


@pytest.mark.parametrize("window", [3, 6, 10])
def test_rounding_errors_do_not_become_states(window):
    """All that the past tells of these records is one number: a second state has nothing to say, and stays still."""
    first = np.random.default_rng(0).standard_normal(4)
    records = [((start * 0.97 ** np.arange(60.0))[:, None], np.zeros((60, 0))) for start in first]
    states = _start._subspace_states(records, 2, window)
    assert states is not None
    lively, still = np.concatenate(states).std(axis=0)
    assert 0.5 < lively < 1.5 and still < 1e-5


def test_of_what_an_autoregression_misses_a_twentieth_is_the_sensors_noise():
    whole = record()
    y, u = np.where(whole.observed, whole.y, 0.0), whole.u
    found = _start._autoregression([(y, u)], 1)
    assert found is not None
    rows = np.concatenate([y[:-1], u[:-1], np.ones((STEPS - 1, 1))], axis=1)
    missed = y[1:] - rows @ np.linalg.lstsq(rows, y[1:])[0]
    np.testing.assert_allclose(found.Q, missed.T @ missed / (STEPS - 1) + _start.FLOOR * np.eye(2), rtol=1e-6)
    np.testing.assert_allclose(found.R, 0.05 * (missed**2).mean(axis=0), rtol=1e-6)
