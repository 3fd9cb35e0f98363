"""Output-error identification: its pieces against definitions, and what the whole must find."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpssm
from gpssm._core._params import Positive
from gpssm.data import DataError, Scaler
from gpssm.fitting import Prepared, Room
from gpssm.methods.output_error._levenberg import minimise
from gpssm.methods.output_error._noise import split_noise
from gpssm.methods.output_error._parameters import Correction, Frame, Parameters, flat, free_run, linearised, residuals
from gpssm.methods.output_error._problem import Problem
from gpssm.methods.output_error._records import Records, correlation_time
from gpssm.methods.output_error._start import signed_start, unsigned_start
from gpssm.models.emission import LinearGaussian
from gpssm.models.transition._stable import StableMatrices
from gpssm.predict import MeanOnly
from tests.reference.compiling import jit
from tests.reference.fitting import learnt


def _parameters(rng: np.random.Generator, dims: int = 2, size: int = 4) -> tuple[Parameters, Frame]:
    stable = StableMatrices.around(0.6 * np.eye(dims) + 0.1 * rng.standard_normal((dims, dims)))
    emission = LinearGaussian(jnp.asarray(rng.standard_normal((1, dims))), jnp.zeros(1), Positive.of(jnp.ones(1)))
    parameters = Parameters(
        jax.device_put(0.1 * rng.standard_normal((dims, dims))),
        jax.device_put(rng.standard_normal((dims, 1))),
        jax.device_put(0.1 * rng.standard_normal(dims)),
        emission,
        jax.device_put(np.full(dims + 1, 0.3)),
        jax.device_put(rng.standard_normal((dims, size))),
        jax.device_put(rng.standard_normal((2, dims))),
    )
    points, amplitudes = rng.standard_normal((size, dims + 1)), np.array([0.1, 0.2])
    return parameters, Frame(jax.device_put(points), jax.device_put(amplitudes), stable)


def _episodes(rng: np.random.Generator, lengths: tuple[int, ...]) -> gpssm.Episodes:
    return gpssm.Episodes([gpssm.Episode(y=rng.standard_normal(n), u=rng.standard_normal(n)) for n in lengths])


def test_the_free_run_is_the_recursion_of_each_episode():
    rng = np.random.default_rng(0)
    parameters, frame = _parameters(rng)
    episodes = _episodes(rng, (7, 5))
    records = Records.of(episodes)
    states, outputs, matrix = jit(lambda p, f, r: (*free_run(p, f, r), f.stable(p.state_change)))(
        parameters, frame, records
    )
    states, outputs, state_matrix = np.asarray(states), np.asarray(outputs), np.asarray(matrix)
    scales, points = np.exp(np.asarray(parameters.log_scales)), np.asarray(frame.inducing)

    def kernel(a, b):
        return np.exp(-0.5 * (((a[:, None] - b[None]) / scales) ** 2).sum(-1))

    matrix = kernel(points, points)
    factor = np.linalg.cholesky(matrix + 1e-6 * np.mean(np.diag(matrix)) * np.eye(len(points)))
    weights = np.linalg.solve(factor.T, np.asarray(parameters.values).T) * np.asarray(frame.amplitudes)
    at = 0
    for e, episode in enumerate(episodes):
        x = np.asarray(parameters.starts[e])
        for u in episode.u:
            np.testing.assert_allclose(states[at], x, atol=1e-10)
            np.testing.assert_allclose(outputs[at], np.asarray(parameters.emission.weight) @ x, atol=1e-10)
            linear = state_matrix @ x + np.asarray(parameters.control_matrix) @ u + np.asarray(parameters.offset)
            x = linear + kernel(np.concatenate([x, u])[None], points)[0] @ weights
            at += 1


def test_derivatives_are_those_of_differences():
    rng = np.random.default_rng(1)
    parameters, frame = _parameters(rng)
    records = Records.of(_episodes(rng, (9,)))
    found, slopes = linearised(parameters, frame, records)
    np.testing.assert_allclose(found, residuals(parameters, frame, records))
    vector, unravel = flat(parameters), jax.flatten_util.ravel_pytree(parameters)[1]
    direction = rng.standard_normal(vector.size)
    at = jit(lambda vector: residuals(unravel(vector), frame, records))
    ahead, behind = (np.asarray(at(vector + s * 1e-6 * direction)) for s in (1.0, -1.0))
    np.testing.assert_allclose(np.asarray(slopes) @ direction, (ahead - behind) / 2e-6, atol=1e-5)


def test_least_squares_with_a_prior_end_where_the_normal_equations_say():
    rng = np.random.default_rng(2)
    design, target = rng.standard_normal((20, 3)), rng.standard_normal(20)
    precision, centre = np.array([1.0, 4.0, 9.0]), np.array([0.5, 0.0, -1.0])
    found = minimise(
        np.zeros(3),
        linearise=lambda p: (design @ p - target, design),
        residuals=lambda p: design @ p - target,
        centre=centre,
        precision=precision,
        iterations=50,
    )
    exact = np.linalg.solve(design.T @ design + np.diag(precision), design.T @ target + precision * centre)
    np.testing.assert_allclose(found.at, exact, atol=2e-3)
    np.testing.assert_allclose(found.curvature, design.T @ design)


def test_a_step_to_where_nothing_is_finite_is_refused():
    def wall(p):
        return np.where(p > 1.5, np.nan, p - 3.0)

    found = minimise(
        np.zeros(1),
        linearise=lambda p: (wall(p), np.ones((1, 1))),
        residuals=wall,
        centre=np.zeros(1),
        precision=np.full(1, 1e-3),
        iterations=60,
    )
    assert 0.5 < found.at[0] <= 1.5


@pytest.mark.parametrize(("pole", "expected"), [(0.0, 1.0), (0.8, 9.0)])
def test_the_correlation_time_is_that_of_an_autoregression(pole: float, expected: float):
    rng = np.random.default_rng(3)
    noise, values = rng.standard_normal(20_000), np.zeros(20_000)
    for t in range(1, len(noise)):
        values[t] = pole * values[t - 1] + noise[t]
    records = Records.of(gpssm.Episodes([gpssm.Episode(y=values)]))
    padded = np.zeros((len(records.first), 1))
    padded[: len(values), 0] = values
    # (1 + pole) / (1 - pole); the sum stops at small correlations, hence a little less.
    assert correlation_time(padded, records) == pytest.approx(expected, rel=0.15)


def test_noise_is_split_as_it_was_made():
    rng = np.random.default_rng(4)
    x, outputs, inputs = 0.0, [], rng.standard_normal(1500)
    for u in inputs:
        outputs.append(x + 0.1 * rng.standard_normal())
        x = 0.9 * x + 0.5 * u + 0.1 * rng.standard_normal()
    episodes = gpssm.Episodes([gpssm.Episode(y=np.asarray(outputs), u=inputs)])
    emission = LinearGaussian(jnp.ones((1, 1)), jnp.zeros(1), Positive.of(jnp.ones(1)))
    linear = (jnp.zeros((1, 1)), jnp.full((1, 1), 0.5), jnp.zeros(1))
    parameters = Parameters(*linear, emission, jnp.zeros(2), jnp.zeros((1, 2)), jnp.zeros((2, 1)))
    stable = StableMatrices.around(np.full((1, 1), 0.9))
    frame, records = Frame(jnp.asarray([[0.0, 0.0], [1.0, 1.0]]), jnp.ones(1), stable), Records.of(episodes)
    left = np.asarray(residuals(parameters, frame, records))[: len(inputs)]
    process, measured = split_noise(parameters, frame, records, (left**2).mean(axis=0))
    assert process == pytest.approx(0.01, rel=0.5)
    assert measured[0] == pytest.approx(0.01, rel=0.5)
    # Together they explain the free run: q / (1 - 0.9^2) + r.
    assert process / (1 - 0.81) + measured[0] == pytest.approx((left**2).mean(), rel=0.05)


def test_free_runs_are_on_average_as_uncertain_as_they_were_said_to_be():
    """Two states and two outputs, the records of which begin anew: the variance of each output is that of the noises
    that have added up since."""
    rng = np.random.default_rng(12)
    A, C, lengths = np.array([[0.8, 0.4], [-0.3, 0.7]]), np.array([[1.0, 0.5], [-0.2, 1.5]]), (30, 18)
    emission = LinearGaussian(jnp.asarray(C), jnp.zeros(2), Positive.of(jnp.ones(2)))
    linear = (jnp.zeros((2, 2)), jnp.ones((2, 1)), jnp.zeros(2))
    parameters = Parameters(*linear, emission, jnp.zeros(3), jnp.zeros((2, 2)), jnp.zeros((2, 2)))
    frame = Frame(jnp.asarray(rng.standard_normal((2, 3))), jnp.ones(2), StableMatrices.around(A))
    episodes = [gpssm.Episode(y=rng.standard_normal((n, 2)), u=rng.standard_normal(n)) for n in lengths]
    variances = np.array([0.5, 2.0])
    process, measured = split_noise(parameters, frame, Records.of(gpssm.Episodes(episodes)), variances)
    total = 0.0
    for length in lengths:
        spread = np.zeros((2, 2))
        for _ in range(length):
            total += (np.diag(C @ spread @ C.T) * process + measured).sum()
            spread = A @ spread @ A.T + np.eye(2)
    assert process > 1e-3, "there must be process noise to add up"
    assert total / (2 * sum(lengths)) == pytest.approx(variances.mean(), rel=1e-6)
    np.testing.assert_allclose(measured / measured.mean(), variances / variances.mean(), rtol=1e-9)


def test_the_linear_start_reproduces_a_linear_system():
    episodes = _second_order(np.random.default_rng(5), saturated=False)
    scaler = Scaler.from_episodes(episodes)
    start = signed_start(scaler.apply(episodes), scaler, 2)
    outputs = start.emission.mean(jnp.asarray(start.states[0]))
    assert np.sqrt(np.mean((np.asarray(outputs) - scaler.apply(episodes)[0].y) ** 2)) < 0.1
    np.testing.assert_allclose(np.cov(start.states[0].T), np.eye(2), atol=1e-3)


def _second_order(rng: np.random.Generator, *, saturated: bool, steps: int = 160) -> gpssm.Episodes:
    u = np.repeat(rng.uniform(-1.5, 1.5, steps // 8), 8)
    x, y = np.zeros(2), []
    for now in u:
        y.append(x[0] + 0.02 * rng.standard_normal())
        pushed = np.tanh(2.0 * now) if saturated else now
        x = np.array([0.8 * x[0] + 0.3 * x[1], 0.7 * x[1] + 0.5 * pushed])
    return gpssm.Episodes([gpssm.Episode(y=np.asarray(y), u=u)])


@pytest.mark.system
def test_a_saturated_input_is_learnt_and_a_linear_model_is_beaten():
    whole = _second_order(np.random.default_rng(6), saturated=True, steps=280)[0]
    train, test = gpssm.Episodes([whole[:200]]), whole[200:]
    found = learnt(train, gpssm.OutputError(2, num_inducing=10, rounds=3))
    linear = learnt(train, gpssm.ARX(2))
    errors = [
        gpssm.metrics.rmse(test.y[8:], model.simulate(test, n_init=8, propagation=MeanOnly(), key=jr.key(1)).mean)
        for model in (found, linear)
    ]
    assert errors[0] < 0.6 * errors[1]
    assert found.history is not None and len(found.history.events) == 3


def test_magnitudes_start_with_the_sign_that_the_input_tells():
    rng = np.random.default_rng(7)
    signed = _second_order(rng, saturated=False)[0]
    episodes = gpssm.Episodes([gpssm.Episode(y=np.abs(signed.y), u=signed.u)])
    scaler = Scaler.from_episodes(episodes)
    start = unsigned_start(scaler.apply(episodes), scaler, 2)
    shown = scaler.undo_mean(np.asarray(start.emission.mean(jnp.asarray(start.states[0]))))
    assert np.corrcoef(shown[:, 0], np.abs(signed.y[:, 0]))[0, 1] > 0.9
    assert (shown >= -1e-9).all()


def test_magnitudes_need_an_input():
    episodes = gpssm.Episodes([gpssm.Episode(y=np.abs(np.sin(np.arange(50.0))))])
    scaler = Scaler.from_episodes(episodes)
    with pytest.raises(DataError, match="guessed from inputs"):
        unsigned_start(scaler.apply(episodes), scaler, 2)


def test_the_correction_vanishes_far_from_its_points():
    parameters, frame = _parameters(np.random.default_rng(8))

    @jit
    def correction(parameters: Parameters, frame: Frame, x: jax.Array, u: jax.Array) -> jax.Array:
        return Correction.of(parameters, frame.inducing, frame.amplitudes)(x, u)

    far, near = (correction(parameters, frame, np.full(2, value), np.zeros(1)) for value in (50.0, 0.0))
    np.testing.assert_allclose(far, 0.0, atol=1e-12)
    assert np.all(np.abs(near) > 1e-3)


@jit
def state_matrix(stable: StableMatrices, change: jax.Array) -> jax.Array:
    return stable(change)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), dims=st.sampled_from([1, 3]), radius=st.floats(0.0, 0.995), far=st.floats(0.0, 30.0)
)
def test_every_change_of_a_stable_matrix_is_stable(seed: int, dims: int, radius: float, far: float):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((dims, dims))
    A *= radius / np.abs(np.linalg.eigvals(A)).max()
    stable = StableMatrices.around(A)
    np.testing.assert_allclose(state_matrix(stable, np.zeros((dims, dims))), A, atol=1e-6)
    moved = np.asarray(state_matrix(stable, far * rng.standard_normal((dims, dims))))
    assert np.abs(np.linalg.eigvals(moved)).max() < 1.0


def test_a_small_change_moves_the_matrix_by_as_much_where_it_is_far_from_the_edge():
    change = 1e-3 * np.random.default_rng(9).standard_normal((3, 3))
    moved = state_matrix(StableMatrices.around(np.zeros((3, 3))), change)
    np.testing.assert_allclose(moved, change, atol=1e-6)


def test_a_change_is_relative_to_the_room_that_is_left():
    """By definition: in coordinates in which P = A P A' + I has the solution I, A is M R^-1 with R'R = I + M'M, and M
    moves by a root of I + M M' times the change."""
    rng = np.random.default_rng(10)
    A = rng.standard_normal((3, 3))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    change = 0.7 * rng.standard_normal((3, 3))
    P, term = np.zeros((3, 3)), np.eye(3)
    for _ in range(2000):
        P, term = P + term, A @ term @ A.T
    root = np.linalg.cholesky(P)
    before, after = (
        np.linalg.solve(root, matrix @ root)
        for matrix in (A, np.asarray(state_matrix(StableMatrices.around(A), change)))
    )
    M = before @ np.linalg.inv(np.linalg.cholesky(np.eye(3) - before.T @ before)).T
    moved = M + np.linalg.cholesky(np.eye(3) + M @ M.T) @ change
    np.testing.assert_allclose(after @ after.T, moved @ np.linalg.inv(np.eye(3) + moved.T @ moved) @ moved.T, atol=1e-8)


@pytest.mark.system
def test_no_free_run_leaves_the_range_of_the_data_for_good():
    """An integrator that feedback keeps in place: without a constraint, the fit to this record has a radius of 1.07."""
    rng = np.random.default_rng(11)
    x, v, y, u = 0.0, 0.0, [], []
    for _ in range(200):
        u.append(-0.3 * x - 0.8 * v + 0.3 * rng.standard_normal())
        y.append(x + 0.05 * rng.standard_normal())
        x, v = x + v, v + 0.3 * u[-1] + 0.02 * rng.standard_normal()
    train = gpssm.Episodes([gpssm.Episode(y=np.asarray(y), u=np.asarray(u))])
    found = learnt(train, gpssm.OutputError(2, num_inducing=10, rounds=2))
    long = gpssm.Episode(y=np.zeros(3000), u=np.tile(u, 15))
    run = found.simulate(long, n_init=10, num_samples=20, key=jr.key(1))
    assert np.abs(np.linalg.eigvals(np.asarray(found.model.transition.mean.state_matrix))).max() < 1.0
    assert np.abs(run.signals).max() < 100.0 * np.std(y)


def test_room_for_more_records_changes_no_number():
    """A fit to a part of some records has room for all of them, so that both are of one size."""
    rng = np.random.default_rng(5)
    data = Prepared.of(_episodes(rng, (50, 30)))
    start = signed_start(data.scaled, data.scaler, 2)

    def searched(room: Room) -> Problem:
        return Problem.of(start, data.scaled, 4, 2.0, jr.key(0), room).trusting().search(3)

    plain, roomy = searched(Room(0, 0)), searched(Room(7, 300))
    assert len(roomy.records.first) == 320 and roomy.parameters.starts.shape == (7, 2)
    assert roomy.error() == pytest.approx(plain.error(), rel=1e-9)
    np.testing.assert_allclose(roomy.parameters.values, plain.parameters.values, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(roomy.parameters.starts[:2], plain.parameters.starts, rtol=1e-7, atol=1e-9)
    assert not np.asarray(roomy.parameters.starts[2:]).any(), "at their prior"
    assert roomy.reweighed().time == pytest.approx(plain.reweighed().time, rel=1e-9)
