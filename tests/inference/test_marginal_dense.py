"""Marginal inference with several inducing values to each state, against dense Gaussians of states and values
together."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from gpjax.kernels import RBF
from scipy.linalg import block_diag

from gpssm._core._params import Positive
from gpssm.inference import Cubature, GaussHermite
from gpssm.inference.marginal import ExactMoments, OnNodes, Tangent, evidence_of
from gpssm.models import GPSSM, Batch, LinearGaussian, LinearMean, SparseGP
from tests.inference.test_marginal import KALMAN, records
from tests.reference import sparse_gp as plain
from tests.reference.compiling import jit
from tests.reference.gaussian import log_density
from tests.reference.kernels import rbf

D, M = 2, 3
NEVER = 1e7
"""Length-scale of the states: features depend on the input alone, so that outputs are linear in the values."""
SCALES, VARIANCES = (0.7, 1.1), (0.6, 1.3)
CARRIES = {
    "hermite": OnNodes(GaussHermite(3)),
    "cubature": OnNodes(Cubature()),
    "tangent": Tangent(),
    "exact": ExactMoments(),
}


@dataclass(frozen=True)
class Case:
    """How many kernels there are, and sets of inducing inputs; whether what these leave open is process noise."""

    kernels: int
    sets: int
    fitc: bool
    carry: str

    def __str__(self) -> str:
        return f"kernels {self.kernels}, sets {self.sets}, fitc {self.fitc}, {self.carry}"


# Each carry where nothing is shared; each way to share with and without what is left open. All of them with all of
# them would be 32 programs to compile.
CASES = [
    *(Case(2, 2, True, carry) for carry in CARRIES),
    Case(2, 2, False, "exact"),
    Case(2, 1, True, "tangent"),
    Case(2, 1, False, "hermite"),
    Case(1, 2, True, "tangent"),
    Case(1, 2, False, "cubature"),
    Case(1, 1, True, "exact"),
    Case(1, 1, False, "tangent"),
]


def inducing(case: Case) -> np.ndarray:
    sets = np.random.default_rng(2).standard_normal((D, M, D + 1))
    return sets if case.sets == D else sets[0]


def model_of(case: Case) -> GPSSM:
    kernels = [
        RBF(lengthscale=jnp.asarray([NEVER, NEVER, scale]), variance=variance)  # pyright: ignore[reportArgumentType]
        for scale, variance in list(zip(SCALES, VARIANCES, strict=True))[: case.kernels]
    ]
    mean = LinearMean(*map(jnp.asarray, (KALMAN.A, KALMAN.B, KALMAN.c)))
    created = SparseGP.create(kernels, jnp.asarray(inducing(case)), state_dim=D, mean=mean)
    transition = eqx.tree_at(lambda t: t.noise, created, Positive.of(jnp.asarray(KALMAN.Q)))
    emission = LinearGaussian(jnp.asarray(KALMAN.W), jnp.asarray(KALMAN.b), Positive.of(jnp.asarray(KALMAN.R)))
    return GPSSM(transition, emission, D)


def plain_gps(case: Case) -> list[plain.SparseGP]:
    """That of each state dimension."""
    kernels = [rbf(np.array([NEVER, NEVER, s]), v) for s, v in zip(SCALES, VARIANCES, strict=True)]
    sets = np.broadcast_to(inducing(case), (D, M, D + 1))
    return [plain.SparseGP(kernels[d % case.kernels], sets[d], np.zeros(M), np.eye(M)) for d in range(D)]


def states(case: Case, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All states of a record in one vector: mean where v = 0, derivative by v, covariance for known v."""
    steps, points = len(u) - 1, np.concatenate([np.zeros((len(u) - 1, D)), u[:-1]], axis=1)
    pushed, by_value, noise = np.zeros((steps + 1, D)), np.zeros((steps + 1, D, D, M)), np.ones((steps + 1, D))
    pushed[1:], noise[1:] = u[:-1] @ KALMAN.B.T + KALMAN.c, KALMAN.Q
    for d, gp in enumerate(plain_gps(case)):
        projection, left_open = gp.conditional(points)
        # u = L v.
        by_value[1:, d, d] = projection @ np.linalg.cholesky(gp.prior())
        noise[1:, d] += np.diagonal(left_open) if case.fitc else 0.0
    # x[t+1] - A x[t] = what pushes and noise, all steps at once.
    reach = np.linalg.inv(np.eye(noise.size) - np.kron(np.eye(steps + 1, k=-1), KALMAN.A))
    return reach @ pushed.ravel(), reach @ by_value.reshape(-1, D * M), reach @ np.diag(noise.ravel()) @ reach.T


@dataclass(frozen=True)
class Outputs:
    """All that were observed, in one vector y ~ N(mean + slope v, noise)."""

    y: np.ndarray
    mean: np.ndarray
    slope: np.ndarray
    noise: np.ndarray


def outputs(case: Case) -> Outputs:
    parts = []
    for episode in records():
        mean, slope, covariance = states(case, episode.u)
        seen = episode.observed.ravel()
        read = np.kron(np.eye(len(episode)), KALMAN.W)[seen]
        offset, noise = (np.tile(part, len(episode))[seen] for part in (KALMAN.b, KALMAN.R))
        covariance = read @ covariance @ read.T + np.diag(noise)
        parts.append((episode.y.ravel()[seen], read @ mean + offset, read @ slope, covariance))
    y, mean, slope, noise = zip(*parts, strict=True)
    # Records have nothing in common but v.
    return Outputs(np.concatenate(y), np.concatenate(mean), np.concatenate(slope), block_diag(*noise))


@jit
def told(model, values, batch, carry, fitc):
    return evidence_of(model, values, batch, carry, fitc=fitc)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_information_posterior_and_evidence_are_those_of_the_dense_gaussian(case: Case):
    model, batch, dense = model_of(case), Batch.of(records()), outputs(case)
    # The posterior of v by conditioning, the evidence with v integrated out: neither as Laplace has them.
    together = dense.slope @ dense.slope.T + dense.noise
    gain = np.linalg.solve(together, dense.slope).T
    mean, covariance = gain @ (dense.y - dense.mean), np.eye(D * M) - gain @ dense.slope
    log_evidence = log_density(dense.y, dense.mean, together)

    other = np.random.default_rng(3).standard_normal(D * M)
    carry = CARRIES[case.carry]
    at_mean, at_other = (
        told(model, jnp.asarray(values.reshape(D, M)), batch, carry, case.fitc) for values in (mean, other)
    )
    # The filter adds a ridge of 1e-10 to covariances.
    given_other = log_density(dense.y, dense.mean + dense.slope @ other, dense.noise)
    np.testing.assert_allclose(at_other.log_evidence, given_other, rtol=1e-8)
    information = dense.slope.T @ np.linalg.solve(dense.noise, dense.slope)
    for found in (at_mean, at_other):
        np.testing.assert_allclose(found.information, information, rtol=1e-7, atol=1e-8)
    precision = np.eye(D * M) + np.asarray(at_mean.information)
    np.testing.assert_allclose(np.linalg.inv(precision), covariance, rtol=1e-7, atol=1e-8)
    laplace = float(at_mean.log_evidence) - 0.5 * mean @ mean - 0.5 * np.linalg.slogdet(precision)[1]
    np.testing.assert_allclose(laplace, log_evidence, rtol=1e-8)


def test_what_the_inducing_values_leave_open_is_no_trifle_here():
    """Else the cases with and without it would not tell one from the other."""
    dense = [outputs(Case(2, 2, fitc, "tangent")) for fitc in (False, True)]
    without, counted = (log_density(d.y, d.mean, d.noise + d.slope @ d.slope.T) for d in dense)
    assert abs(counted - without) > 0.5
