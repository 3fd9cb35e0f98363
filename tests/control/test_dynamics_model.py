"""Hyper-parameter fits and the planning model against plain NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from gpssm.control import Gaussian, Hyperparameters, condition, fit_dynamics, fit_hyperparameters
from gpssm.control._dynamics_model import select_support
from gpssm.control._hyperparameters import negative_log_evidence, squared_exponential


def kernel_by_hand(x, z, lengthscales, signal):
    return np.array([[signal**2 * np.exp(-0.5 * (((a - b) / lengthscales) ** 2).sum()) for b in z] for a in x])


def sample_problem(seed=0, count=60):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(count, 2))
    y = np.stack([np.sin(2 * x[:, 0]), x[:, 1] ** 2], axis=1) + rng.normal(size=(count, 2)) * [0.05, 0.1]
    hyper = Hyperparameters(np.array([[0.8, 3.0], [4.0, 1.2]]), np.array([1.0, 2.0]), np.array([0.05, 0.1]))
    return x, y, hyper


def test_kernel_matrix():
    x, _, hyper = sample_problem(count=7)
    ours = squared_exponential(x[:4], x[4:], hyper.lengthscales[0], 1.3)
    np.testing.assert_allclose(ours, kernel_by_hand(x[:4], x[4:], hyper.lengthscales[0], 1.3), atol=1e-12)


def test_loss_is_the_negative_log_evidence():
    x, y, hyper = sample_problem(count=20)
    log_params = np.log(np.concatenate([hyper.lengthscales[0], [1.5, 30.0]]))
    covariance = kernel_by_hand(x, x, hyper.lengthscales[0], 1.5) + 0.05**2 * np.eye(20)
    expected = -multivariate_normal(np.zeros(20), covariance).logpdf(y[:, 0])
    np.testing.assert_allclose(negative_log_evidence(log_params, x, y[:, 0])[0], expected, rtol=1e-8)


def test_loss_gradient():
    x, y, _ = sample_problem(count=20)
    for log_params in (np.log([0.8, 3.0, 1.0, 10.0]), np.log([20.0, 0.5, 3.0, 200.0])):
        numeric = approx_fprime(log_params, lambda p: negative_log_evidence(p, x, y[:, 0])[0], 1e-7)
        np.testing.assert_allclose(negative_log_evidence(log_params, x, y[:, 0])[1], numeric, rtol=1e-4, atol=1e-3)


def test_noise_free_and_constant_targets_keep_the_signal_to_noise_ratio_in_bounds():
    x = np.linspace(0, 1, 15)[:, None]
    found = fit_hyperparameters(x, np.concatenate([np.sin(3 * x), 0 * x], axis=1))
    assert (found.signal_sd / found.noise_sd < 500 * (1 + 1e-9)).all()
    assert np.isfinite(np.concatenate([found.lengthscales.ravel(), found.signal_sd, found.noise_sd])).all()


def test_fit_recovers_the_noise():
    x, y, _ = sample_problem(count=150)
    found = fit_hyperparameters(x, y)
    np.testing.assert_allclose(found.noise_sd, [0.05, 0.1], rtol=0.3)
    # An input that does not matter gets a long lengthscale.
    assert found.lengthscales[0, 1] > 3 * found.lengthscales[0, 0]


def reference_predictions(x, y, hyper, points):
    means, variances = [], []
    for e, (lengthscales, signal, noise) in enumerate(zip(*hyper, strict=True)):
        inverse = np.linalg.inv(kernel_by_hand(x, x, lengthscales, signal) + noise**2 * np.eye(len(x)))
        row = kernel_by_hand(points, x, lengthscales, signal)
        means.append(row @ inverse @ y[:, e])
        variances.append(signal**2 - (row @ inverse * row).sum(1))
    return np.stack(means, 1), np.stack(variances, 1)


def test_conditioning_on_few_points_is_exact_and_padding_is_harmless():
    x, y, hyper = sample_problem(count=25)
    points = np.random.default_rng(1).uniform(-2, 2, size=(6, 2))
    means, variances = reference_predictions(x, y, hyper, points)
    given = Gaussian(jnp.asarray(points[0]), 0.1 * jnp.eye(2))
    outcomes = []
    for num_points in (25, 40):
        gp = condition(x, y, hyper, num_points=num_points)
        assert gp.weights.shape == (2, num_points)
        np.testing.assert_allclose(jax.vmap(gp.mean)(jnp.asarray(points)), means, atol=1e-8)
        np.testing.assert_allclose(jax.vmap(gp.variance)(jnp.asarray(points)), variances, atol=1e-8)
        outcomes.append(eqx.filter_jit(gp.moments)(given))
    for plain, padded in zip(*outcomes, strict=True):
        np.testing.assert_allclose(plain, padded, atol=1e-9)


def test_sparse_conditioning_stays_close_to_the_exact_one():
    x, y, hyper = sample_problem(count=200)
    points = np.random.default_rng(2).uniform(-1.8, 1.8, size=(40, 2))
    means, variances = reference_predictions(x, y, hyper, points)
    gp = condition(x, y, hyper, num_points=60)
    error = np.asarray(jax.vmap(gp.mean)(jnp.asarray(points))) - means
    assert np.abs(error / np.sqrt(variances)).max() < 0.5
    sparse = np.asarray(jax.vmap(gp.variance)(jnp.asarray(points)))
    # The support points cannot know more than the data, and lose little here.
    assert (sparse > variances - 1e-5).all() and (sparse < 1.3 * variances + 1e-4).all()


def test_support_points_are_distinct_and_prefer_the_unknown():
    rng = np.random.default_rng(3)
    crowd = 0.01 * rng.normal(size=(50, 2))
    outliers = np.array([[2.0, 0.0], [-2.0, 1.0], [0.0, 2.0]])
    hyper = Hyperparameters(np.ones((1, 2)), np.ones(1), np.full(1, 0.1))
    chosen = select_support(np.concatenate([crowd, outliers]), hyper, count=10)
    assert len(set(chosen)) == 10
    assert set(chosen[:4]) >= {50, 51, 52}


def test_fit_dynamics_predicts_held_out_changes():
    x, y, _ = sample_problem(count=150)
    model = fit_dynamics(x, y, num_points=50, max_fit_points=80)
    fresh = sample_problem(seed=9)[0]
    clean = np.stack([np.sin(2 * fresh[:, 0]), fresh[:, 1] ** 2], axis=1)
    error = np.asarray(jax.vmap(model.gp.mean)(jnp.asarray(fresh))) - clean
    assert (np.sqrt((error**2).mean(0)) < [0.05, 0.1]).all()
