"""Moments of predictions with a joint posterior, in the user's units, against dense Gaussians of all that they draw."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._params import Positive
from gpssm.models import GPSSM, JointPosterior, LinearGaussian, LinearMean, SparseGP
from gpssm.predict import Channels
from tests.reference import sparse_gp as plain
from tests.reference.compiling import constant
from tests.reference.kalman import LinearModel
from tests.reference.kernels import rbf
from tests.reference.montecarlo import assert_covariance

pytestmark = pytest.mark.system
D, M, STEPS, READ, HORIZON, SAMPLES = 2, 3, 14, 6, 3, 4000
NEVER = 1e7
"""Length-scale of the states: functions depend on the input alone, so that states are linear in all that is drawn."""
LINEAR = LinearModel(
    A=np.array([[0.8, 0.3], [-0.4, 0.7]]),
    B=np.array([[0.5], [-1.0]]),
    c=np.array([0.3, -0.2]),
    Q=np.array([0.2, 0.05]),
    W=np.array([[1.0, 0.4], [-0.3, 0.9]]),
    b=np.array([0.1, -0.5]),
    R=np.array([0.1, 0.4]),
)
SCALER = gpssm.Scaler(
    output_mean=np.array([5.0, -3.0]),
    output_scale=np.array([2.0, 0.5]),
    input_mean=np.array([1.0]),
    input_scale=np.array([4.0]),
)
INDUCING = np.random.default_rng(0).uniform(-1.5, 1.5, (M, D + 1))


@dataclass(frozen=True)
class Known:
    """A model but for its inducing values: what is linear, and an RBF kernel of the input for each state."""

    linear: LinearModel
    scales: tuple[float, ...]
    variances: tuple[float, ...]
    residual: bool
    """Whether the function has what the inducing values leave open."""

    def kernels(self) -> list[RBF]:
        return [
            RBF(lengthscale=jnp.asarray([NEVER, NEVER, s]), variance=v)  # pyright: ignore[reportArgumentType]
            for s, v in zip(self.scales, self.variances, strict=True)
        ]

    def gps(self) -> list[plain.SparseGP]:
        kernels = [rbf(np.array([NEVER, NEVER, s]), v) for s, v in zip(self.scales, self.variances, strict=True)]
        return [plain.SparseGP(kernel, INDUCING, np.zeros(M), np.eye(M)) for kernel in kernels]

    def model(self, values: np.ndarray) -> GPSSM:
        linear = self.linear
        mean = LinearMean(*map(jnp.asarray, (linear.A, linear.B, linear.c)))
        created = SparseGP.create(self.kernels(), jnp.asarray(INDUCING), state_dim=D, mean=mean)
        parts = Positive.of(jnp.asarray(linear.Q)), jnp.asarray(values)
        transition = eqx.tree_at(lambda t: (t.noise, t.q_mean), created, parts)
        noise = Positive.of(jnp.asarray(linear.R))
        return GPSSM(transition, LinearGaussian(jnp.asarray(linear.W), jnp.asarray(linear.b), noise), D)


@constant
def record() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs, inputs and what was observed, in scaled units."""
    rng = np.random.default_rng(1)
    # Some inputs far from all inducing ones, and some twice: there one function has the same value again.
    y, u = 2.0 * rng.standard_normal((STEPS, D)), rng.uniform(-4.0, 4.0, (STEPS, 1))
    u[[3, 4, 5]], u[7], u[-2] = [[3.0], [-2.5], [0.4]], u[6], u[-3]
    observed = np.ones((STEPS, D), bool)
    # Wherever predictions start from below, something is missing, so that what was known before counts.
    observed[0, 1] = observed[2, 0] = observed[4] = observed[READ - 1, 1] = observed[STEPS - HORIZON - 1, 0] = False
    return y, u, observed


def episode() -> gpssm.Episode:
    y, u, observed = record()
    return gpssm.Episode(y=SCALER.undo_mean(y), u=u * SCALER.input_scale + SCALER.input_mean, mask=observed)


def states(known: Known, u: np.ndarray, start: np.ndarray, *, one_function: bool) -> tuple[np.ndarray, ...]:
    """Of the states before and after each input, in one vector: mean for v = 0, derivative by v, covariance.

    From x[0] ~ N(0, start) on. What the inducing values leave open belongs to one function, or is drawn at each step.
    """
    linear, steps, points = known.linear, len(u), np.concatenate([np.zeros((len(u), D)), u], axis=1)
    pushed, by_value, noise = np.zeros((steps + 1, D)), np.zeros((steps + 1, D, D, M)), np.zeros((steps + 1, D) * 2)
    pushed[1:], noise[0, :, 0] = u @ linear.B.T + linear.c, start
    for d, gp in enumerate(known.gps()):
        projection, left_open = gp.conditional(points)
        # u = L v.
        by_value[1:, d, d] = projection @ np.linalg.cholesky(gp.prior())
        left_open = left_open if one_function else np.diag(np.diagonal(left_open))
        noise[1:, d, 1:, d] = linear.Q[d] * np.eye(steps) + (left_open if known.residual else 0.0)
    # x[t+1] - A x[t] = what pushes and noise, all steps at once.
    reach = np.linalg.inv(np.eye(pushed.size) - np.kron(np.eye(steps + 1, k=-1), linear.A))
    spread = noise.reshape(pushed.size, pushed.size)
    return reach @ pushed.ravel(), reach @ by_value.reshape(-1, D * M), reach @ spread @ reach.T


def signals(known: Known, row: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the outputs without noise so many steps after a row, from the outputs up to the row on: mean for v = 0,
    derivative by v, covariance for known v. In the user's units.

    By definition a model with known v reads its start as filters do, which have the function drawn at each step, and
    runs on with one function.
    """
    linear, (y, u, observed) = known.linear, record()
    mean, by_value, covariance = states(known, u[:row], np.eye(D), one_function=False)
    seen = observed[: row + 1].ravel()
    read = np.kron(np.eye(row + 1), linear.W)[seen]
    offset, noise = (np.tile(part, row + 1)[seen] for part in (linear.b, linear.R))
    cross = covariance[-D:] @ read.T
    gain = np.linalg.solve(read @ covariance @ read.T + np.diag(noise), cross.T).T
    start = mean[-D:] + gain @ (y[: row + 1].ravel()[seen] - read @ mean - offset)
    start_by_value = by_value[-D:] - gain @ read @ by_value

    mean, by_value, covariance = states(
        known, u[row : row + steps], covariance[-D:, -D:] - gain @ cross.T, one_function=True
    )
    onward = np.linalg.matrix_power(linear.A, steps)
    read = SCALER.output_scale[:, None] * linear.W
    offset = SCALER.output_scale * linear.b + SCALER.output_mean
    mean, by_value = mean[-D:] + onward @ start, by_value[-D:] + onward @ start_by_value
    return read @ mean + offset, read @ by_value, read @ covariance[-D:, -D:] @ read.T


def noise_covariance(variances: np.ndarray) -> np.ndarray:
    """Of measurements, in the user's units."""
    return np.diag(variances * SCALER.output_scale**2)


VALUES = np.random.default_rng(2).standard_normal((D, M))
FACTOR = 0.5 * np.tril(np.random.default_rng(3).standard_normal((D * M, D * M)))


def case(residual: bool) -> tuple[Known, gpssm.System]:
    known = Known(LINEAR, (0.7, 1.1), (0.6, 1.3), residual)
    joint = JointPosterior(jnp.asarray(FACTOR), residual)
    return known, gpssm.System(known.model(VALUES), SCALER, Channels.of(episode()), joint=joint)


def assert_moments(run: gpssm.predict.Rollout, at: int, known: Known, row: int, steps: int) -> None:
    """Within five standard errors, which follow from the number of samples and from the dense covariance."""
    mean, by_value, covariance = signals(known, row, steps)
    mean, covariance = mean + by_value @ VALUES.ravel(), covariance + by_value @ FACTOR @ FACTOR.T @ by_value.T
    assert len(run.signals) == SAMPLES
    assert_covariance(run.signals[:, at], mean, covariance)
    assert_covariance(run.samples[:, at], mean, covariance + noise_covariance(LINEAR.R))
    # What users are told is of the same samples, and of noise that is known.
    np.testing.assert_allclose(run.mean[at], run.signals[:, at].mean(axis=0), rtol=1e-12)
    spread = np.cov(run.signals[:, at], rowvar=False, bias=True)
    np.testing.assert_allclose(run.covariance[at], spread + noise_covariance(LINEAR.R), rtol=1e-9)


@pytest.mark.parametrize("residual", [True, False])
def test_free_runs_have_the_moments_of_the_dense_gaussian(residual: bool):
    known, system = case(residual)
    run = system.simulate(episode(), n_init=READ, num_samples=SAMPLES, seed=1)
    assert run.start == READ and len(run) == STEPS - READ
    for steps in (1, 3, STEPS - READ):
        assert_moments(run, steps - 1, known, READ - 1, steps)


@pytest.mark.parametrize("residual", [True, False])
def test_predictions_ahead_have_the_moments_of_the_dense_gaussian(residual: bool):
    known, system = case(residual)
    run = system.predict(episode(), horizon=HORIZON, num_samples=SAMPLES, seed=1)
    assert run.start == HORIZON and len(run) == STEPS - HORIZON
    for row in (0, 4, STEPS - HORIZON - 1):
        assert_moments(run, row, known, row, HORIZON)


def test_what_the_inducing_values_leave_open_is_no_trifle_here():
    """Neither in the start that is read nor on the way."""
    (_, _, counted), (_, _, without) = (signals(case(residual)[0], READ - 1, 3) for residual in (True, False))
    assert (np.diagonal(counted) > 1.5 * np.diagonal(without)).all()
