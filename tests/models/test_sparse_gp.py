"""The sparse-GP transition against plain NumPy, GPJax and brute force."""

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp
import jax.random as jr
import jaxtyping
import numpy as np
import pytest

from gpssm._core._params import LowerTriangular, Positive, cast, val
from gpssm.models import IdentityMean, LinearMean, LinearTransition, SparseGP
from gpssm.models.transition import Conditioned, Transitions
from tests.reference import sparse_gp as plain
from tests.reference.compiling import constant, jit
from tests.reference.kernel_cases import CASES
from tests.reference.kernels import variances
from tests.reference.montecarlo import assert_mean
from tests.reference.transition_cases import NOISE, D, M, N, P, make, random_transitions

VARIANTS = {
    "shared kernel": dict(names=("RBF",)),
    "shared kernel, not whitened": dict(names=("RBF",), whitened=False),
    "a kernel each": dict(names=("RBF + Matern12", "Manifold, 1 layer")),
    "a kernel each, not whitened": dict(names=("Matern32", "ArcCosine0"), whitened=False),
    "inducing inputs each": dict(names=("RBF",), per_dimension=True),
    "both each": dict(names=("Matern52", "RBF"), per_dimension=True),
}
every_variant = pytest.mark.parametrize("name", VARIANTS)


@constant
def case(name: str):
    settings = dict(VARIANTS[name])
    return make(*settings.pop("names"), **settings)


@constant
def table() -> Transitions:
    return random_transitions(np.random.default_rng(1))


@jit
def answers(transitions: dict[str, SparseGP], rows: Transitions) -> dict:
    """All that a conditioned transition says, for all variants in one compiled function."""

    def one(transition: SparseGP) -> dict:
        dynamics = transition.condition()
        return {
            "function": dynamics.function_moments(rows.states, rows.controls),
            "point": dynamics.moments(rows.states[0], rows.controls[0]),
            "log_prob": dynamics.expected_log_prob(rows),
            "kl": dynamics.kl(),
            "jitter": dynamics.jitter(),
            "noise": dynamics.noise_variance(),
            "bases": len(dynamics.bases),
        }

    return {name: one(transition) for name, transition in transitions.items()}


@constant
def results() -> dict:
    return answers({name: case(name).transition for name in VARIANTS}, table())


def points() -> np.ndarray:
    return np.concatenate([np.asarray(table().states), np.asarray(table().controls)], axis=1)


@every_variant
def test_predictions_equal_numpy(name):
    means, spreads = results()[name]["function"]
    for d, gp in enumerate(case(name).gps):
        mean, covariance = gp.predict(points())
        np.testing.assert_allclose(means[:, d], np.asarray(table().states)[:, d] + mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(spreads[:, d], np.diag(covariance), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(results()[name]["point"][0], means[0], rtol=1e-10)
    np.testing.assert_allclose(results()[name]["point"][1], spreads[0], rtol=1e-10)


@every_variant
def test_divergence_equals_numpy(name):
    np.testing.assert_allclose(results()[name]["kl"], sum(gp.kl() for gp in case(name).gps), rtol=1e-8)


@every_variant
def test_expected_log_density_equals_brute_force_over_functions_and_next_states(name):
    """Inducing values are drawn, then functions given them, then next states; nothing is integrated by hand."""
    rng, draws = np.random.default_rng(2), 4_000
    rows = jax.tree.map(np.asarray, table())
    total = np.zeros(draws)
    for d, gp in enumerate(case(name).gps):
        values = rng.multivariate_normal(gp.mean, gp.covariance, draws, method="cholesky")
        projection, unexplained = gp.conditional(points())
        spread = np.sqrt(np.maximum(np.diag(unexplained), 0.0)) * rng.standard_normal((draws, N))
        function = rows.states[:, d] + values @ projection.T + spread
        following = rows.next_means[:, d] + np.sqrt(rows.next_variances[:, d]) * rng.standard_normal((draws, N))
        log_densities = -0.5 * (np.log(2.0 * np.pi * NOISE[d]) + (following - function) ** 2 / NOISE[d])
        total += log_densities @ rows.weights
    assert_mean(total, results()[name]["log_prob"])


def test_a_shared_kernel_is_factorised_once_and_copies_give_the_same():
    assert results()["shared kernel"]["bases"] == 1
    shared = case("shared kernel").transition
    copies = eqx.tree_at(lambda t: t.kernels, shared, shared.kernels * D)
    sets = eqx.tree_at(lambda t: t.inducing, shared, jnp.stack([shared.inducing] * D))
    others = answers({"copies": copies, "sets": sets}, table())
    for other in others.values():
        assert other.pop("bases") == D
        expected = {key: value for key, value in results()["shared kernel"].items() if key != "bases"}
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), other, expected)


def test_whitened_and_unwhitened_are_two_forms_of_the_same():
    """q over v = L^-1 u, turned into q over u, gives the same answers."""
    whitened, others = case("a kernel each").transition, case("a kernel each").gps
    unwhitened = SparseGP(
        kernels=whitened.kernels,
        inducing=whitened.inducing,
        q_mean=jnp.asarray(np.stack([gp.mean for gp in others])),
        q_chol=LowerTriangular.of(jnp.asarray(np.stack([np.linalg.cholesky(gp.covariance) for gp in others]))),
        noise=whitened.noise,
        mean=whitened.mean,
        whitened=False,
    )
    result = answers({"a kernel each": unwhitened}, table())["a kernel each"]
    expected = results()["a kernel each"]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9), result, expected)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("shared kernel", gpx.variational_families.WhitenedVariationalGaussian),
        ("a kernel each, not whitened", gpx.variational_families.VariationalGaussian),
    ],
)
def test_predictions_and_divergence_equal_those_of_gpjax(name, family):
    transition = case(name).transition
    # GPJax adds a fixed amount to the diagonal; ours is relative to it.
    jitters = [plain.JITTER * float(np.mean(variances(gp.kernel, gp.inducing))) for gp in case(name).gps]
    divergence = 0.0
    for d, jitter in enumerate(jitters):
        kernel = transition.kernels[d % len(transition.kernels)]
        prior = gpx.gps.Prior(kernel=kernel, mean_function=gpx.mean_functions.Zero(), jitter=jitter)
        model = prior * gpx.likelihoods.Gaussian()
        q = family(
            model=model,
            inducing_inputs=transition.inducing,
            variational_mean=transition.q_mean[d][:, None],
            variational_root_covariance=val(transition.q_chol)[d],
        )

        @jit
        def predict(q, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            distribution = q.predict(x)
            return distribution.mean, jnp.diagonal(distribution.covariance()), q.prior_kl()

        with jax.numpy_rank_promotion("allow"):
            mean, variance, kl = predict(q, points())
        divergence += kl
        means, spreads = results()[name]["function"]
        np.testing.assert_allclose(means[:, d], np.asarray(table().states)[:, d] + mean.ravel(), rtol=1e-7, atol=1e-8)
        # GPJax also adds its jitter to the predicted covariance.
        np.testing.assert_allclose(spreads[:, d], variance, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(results()[name]["kl"], divergence, rtol=1e-7)


@every_variant
def test_good_kernels_need_no_more_than_the_base_jitter(name):
    assert results()[name]["jitter"] == plain.JITTER
    np.testing.assert_allclose(results()[name]["noise"], NOISE, rtol=1e-12)


def test_a_linear_mean_is_added_to_the_function():
    rng = np.random.default_rng(3)
    mean = LinearMean(
        *map(jnp.asarray, (rng.standard_normal((D, D)), rng.standard_normal((D, P)), rng.standard_normal(D)))
    )
    keep = case("shared kernel").transition
    result = answers({"shared kernel": eqx.tree_at(lambda t: t.mean, keep, mean)}, table())["shared kernel"]
    states, controls = np.asarray(table().states), np.asarray(table().controls)
    added = states @ np.asarray(mean.state_matrix).T + controls @ np.asarray(mean.control_matrix).T + mean.offset[None]
    expected_means, expected_variances = results()["shared kernel"]["function"]
    np.testing.assert_allclose(result["function"][0], expected_means - states + added, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(result["function"][1], expected_variances, rtol=1e-10)


def test_a_new_transition_keeps_the_state_and_is_not_at_the_prior():
    kernel = cast(CASES["RBF"]()[0], np.float64)
    inducing = jnp.asarray(np.random.default_rng(4).standard_normal((M, D + P)))
    made = SparseGP.create(kernel, inducing, state_dim=D, noise=0.2, tied_noise=True, key=jr.key(0))
    assert isinstance(made.mean, IdentityMean) and made.whitened and made.state_dim == D
    np.testing.assert_allclose(made.noise_variance(), [0.2, 0.2], rtol=1e-12)
    assert np.all(made.q_mean != 0.0) and val(made.noise).shape == (1,)
    np.testing.assert_array_equal(SparseGP.create(kernel, inducing, state_dim=D).q_mean, 0.0)


def test_counts_must_fit_the_state_dimension(monkeypatch):
    kernel, inducing = CASES["RBF"]()[0], jnp.zeros((M, D + P))
    with pytest.raises(ValueError, match="3 kernels for 2"):
        SparseGP.create([kernel] * 3, inducing, state_dim=D)
    # The check of annotated shapes would be first to complain.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match="3 sets of inducing inputs for 2"):
        SparseGP.create(kernel, jnp.zeros((3, M, D + P)), state_dim=D)


def test_linear_transition_is_a_gaussian_around_its_mean():
    rng = np.random.default_rng(5)
    mean = LinearMean(
        *map(jnp.asarray, (rng.standard_normal((D, D)), rng.standard_normal((D, P)), rng.standard_normal(D)))
    )
    rows = jax.tree.map(np.asarray, table())
    dynamics = LinearTransition(mean, Positive.of(NOISE)).condition()
    predicted = np.asarray(mean(table().states, table().controls))
    spread = np.sqrt(rows.next_variances) * rng.standard_normal((4_000, N, D))
    log_densities = -0.5 * (np.log(2.0 * np.pi * NOISE) + (rows.next_means + spread - predicted) ** 2 / NOISE)
    assert_mean(np.sum(log_densities, axis=2) @ rows.weights, dynamics.expected_log_prob(table()))
    assert dynamics.kl() == 0.0 and dynamics.jitter() == 0.0
    moments = dynamics.moments(table().states[0], table().controls[0])
    np.testing.assert_allclose(moments[0], predicted[0], rtol=1e-12)
    np.testing.assert_array_equal(moments[1], 0.0)
    drawn = dynamics.draw(num_features=3, key=jr.key(0))(table().states[0], table().controls[0], key=jr.key(1))
    np.testing.assert_allclose(drawn, predicted[0], rtol=1e-12)


def test_a_conditioned_transition_gives_back_its_dynamics():
    dynamics = case("shared kernel").transition.condition()
    held = Conditioned(dynamics)
    assert held.condition() is dynamics
    np.testing.assert_allclose(held.noise_variance(), NOISE, rtol=1e-12)
