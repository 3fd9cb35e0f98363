"""The whole bound of a small GP model against brute force."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jaxtyping import Array

from gpssm._core._params import Positive, val
from gpssm.data import Episode, Episodes
from gpssm.inference import (
    AbstractExpectation,
    AbstractInducing,
    Bound,
    Collapsed,
    Explicit,
    GaussHermite,
    MeanField,
    MonteCarlo,
    PerStepStates,
    _mean_field,
)
from gpssm.models import GPSSM, GaussMarkov, LinearGaussian
from gpssm.models._batch import Batch
from tests.reference.compiling import constant, jit
from tests.reference.gaussian import chain_covariance, log_density
from tests.reference.montecarlo import assert_mean
from tests.reference.transition_cases import NOISE, Case, D, P, make

OUTPUTS, LENGTHS, DRAWS = 3, (4, 3), 20_000


@constant
def case() -> Case:
    return make("RBF", "ArcCosine0", seed=5)


@constant
def model() -> GPSSM:
    rng = np.random.default_rng(6)
    weight, offset = jnp.asarray(rng.standard_normal((OUTPUTS, D))), jnp.asarray(rng.standard_normal(OUTPUTS))
    return GPSSM(case().transition, LinearGaussian(weight, offset, Positive.of(np.array([0.3, 0.5, 0.9]))), D)


@constant
def data() -> Batch:
    rng = np.random.default_rng(7)
    y = [rng.standard_normal((length, OUTPUTS)) for length in LENGTHS]
    y[0][1, 2] = y[1][0] = np.nan
    return Batch.of(Episodes([Episode(y=a, u=rng.standard_normal((len(a), P))) for a in y]))


@constant
def states() -> PerStepStates:
    rng = np.random.default_rng(8)
    shape = (len(LENGTHS), max(LENGTHS))
    chols = 0.3 * np.tril(rng.standard_normal((*shape, D, D))) + 0.6 * np.eye(D)
    chols[..., np.arange(D), np.arange(D)] = np.abs(chols[..., np.arange(D), np.arange(D)])
    arrays = (0.7 * rng.standard_normal((*shape, D)), 0.5 * rng.standard_normal((*shape, D, D)), chols)
    return PerStepStates.from_posterior(GaussMarkov(*map(jnp.asarray, arrays)))


@jit
def bounds(inducing: AbstractInducing, expectation: AbstractExpectation, keys: jax.Array) -> Bound:
    inference = MeanField(states(), inducing, expectation)
    return jax.vmap(lambda key: inference.bound(model(), data(), key=key)[0])(keys)


@constant
def by_quadrature(inducing: AbstractInducing = Explicit()) -> Bound:
    twice = bounds(inducing, GaussHermite(24), jr.split(jr.key(0), 2))
    # Without random paths the key plays no part.
    jax.tree.map(lambda leaf: np.testing.assert_array_equal(leaf[0], leaf[1]), twice)
    return jax.tree.map(lambda leaf: leaf[0], twice)


@constant
def posteriors() -> tuple[jax.Array, jax.Array, jax.Array]:
    q = jit(lambda d: jax.vmap(states().posterior)(d))(data())
    return q.means, q.gains, q.chols


def chain(episode: int) -> tuple[np.ndarray, np.ndarray]:
    """Dense mean and covariance of q(X) of one episode."""
    length = LENGTHS[episode]
    means, gains, chols = (np.asarray(a)[episode, :length] for a in posteriors())
    return means.ravel(), chain_covariance(gains, chols @ chols.transpose(0, 2, 1))


@constant
def brute_force() -> dict[str, np.ndarray]:
    """Draws of each term: states from the dense joint, inducing values from q(u), functions jointly given them."""
    rng, emission = np.random.default_rng(9), model().emission
    W, b, R = (np.asarray(a) for a in (emission.weight, emission.offset, val(emission.noise)))
    inducing = [rng.multivariate_normal(gp.mean, gp.covariance, DRAWS, method="cholesky") for gp in case().gps]
    terms = {name: np.zeros(DRAWS) for name in ("likelihood", "initial", "transition", "entropy")}
    for i, length in enumerate(LENGTHS):
        y, u, seen = (np.asarray(a)[i, :length] for a in (data().y, data().u, data().observed))
        mean, covariance = chain(i)
        flat = rng.multivariate_normal(mean, covariance, DRAWS, method="cholesky")
        x = flat.reshape(DRAWS, length, D)
        errors = y - x @ W.T - b
        terms["likelihood"] += np.sum(np.where(seen, -0.5 * (np.log(2 * np.pi * R) + errors**2 / R), 0.0), axis=(1, 2))
        terms["initial"] += log_density(x[:, 0], np.zeros(D), np.eye(D))
        terms["entropy"] -= log_density(flat, mean, covariance)
        z = np.concatenate([x[:, :-1], np.broadcast_to(u[:-1], (DRAWS, length - 1, P))], axis=2)
        for d, gp in enumerate(case().gps):
            projection, unexplained = gp.conditional(z)
            root = np.linalg.cholesky(unexplained + 1e-9 * np.eye(length - 1))
            spread = np.einsum("kij,kj->ki", root, rng.standard_normal((DRAWS, length - 1)))
            errors = x[:, 1:, d] - x[:, :-1, d] - np.einsum("kim,km->ki", projection, inducing[d]) - spread
            terms["transition"] += np.sum(-0.5 * (np.log(2 * np.pi * NOISE[d]) + errors**2 / NOISE[d]), axis=1)
    return terms


@pytest.mark.parametrize("name", ["likelihood", "initial", "transition", "entropy"])
def test_each_term_equals_brute_force(name):
    assert_mean(brute_force()[name], by_quadrature()[name])


def test_the_whole_bound_equals_brute_force():
    """E_q[log p(y, x | f) - log q(x)] - KL[q(u) || p(u)]."""
    bound = by_quadrature()
    divergence = sum(gp.kl() for gp in case().gps)
    np.testing.assert_allclose(bound["inducing"], -divergence, rtol=1e-8)
    assert_mean(sum(brute_force().values()) - divergence, bound.total())
    np.testing.assert_allclose(sum(bound.terms().values()), bound.total(), rtol=1e-12)
    assert bound.jitter == 1e-6


@pytest.mark.parametrize("expectation", [MonteCarlo(1), MonteCarlo(2, antithetic=True)], ids=str)
def test_bounds_from_paths_scatter_around_the_one_from_quadrature(expectation):
    scattered = bounds(Explicit(), expectation, jr.split(jr.key(1), 4_000))
    assert np.unique(scattered["transition"]).size == 4_000
    assert_mean(scattered["transition"], by_quadrature()["transition"])
    for name in ("likelihood", "initial", "entropy", "inducing"):
        exact = by_quadrature()[name]
        np.testing.assert_allclose(scattered[name], np.full(4_000, exact), rtol=1e-9)


def test_the_collapsed_bound_is_higher_and_shares_the_other_terms():
    collapsed = by_quadrature(Collapsed())
    assert collapsed.total() > by_quadrature().total()
    for name in ("likelihood", "initial", "entropy"):
        np.testing.assert_allclose(collapsed[name], by_quadrature()[name], rtol=1e-10)


def test_collapsed_bounds_from_one_path_are_too_high():
    """q(u) is then at its optimum for the path that it is judged on: a mean of maxima, not the maximum of the mean."""
    scattered = bounds(Collapsed(), MonteCarlo(1), jr.split(jr.key(2), 4_000)).total()
    excess = np.asarray(scattered) - float(by_quadrature(Collapsed()).total())
    assert excess.mean() > 4.0 * excess.std() / np.sqrt(len(excess))


@pytest.mark.parametrize(
    ("rows", "paths"), [(10**9, 32), (8 * 11, 10), (1, 2)], ids=["enough memory", "an even number", "two at least"]
)
def test_the_last_q_u_comes_from_as_many_pairs_of_paths_as_memory_allows(monkeypatch, rows: int, paths: int):
    seen: list[MeanField] = []

    def finish(model: GPSSM, inference: MeanField, batch: Batch, key: Array):
        seen.append(inference)
        return model.transition

    monkeypatch.setattr(_mean_field, "_finish", finish)
    monkeypatch.setattr(_mean_field, "FINAL_ROWS", rows)
    assert data().valid.size == 8
    MeanField(states(), Collapsed(), MonteCarlo(1)).finish(model(), data(), key=jr.key(0))
    rule = seen[0].expectation
    assert isinstance(rule, MonteCarlo) and rule.num == paths
