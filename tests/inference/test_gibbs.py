"""Particle Gibbs against definitions: the Kalman smoother, dense regressions, and what must not change the prior."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax
import pytest
from gpjax.kernels import RBF

from benchmarks._sbc import simulated
from gpssm.inference.gibbs import Chain, Gibbs, HyperPrior, Target, conditional_smc
from gpssm.inference.gibbs._moving import Moving
from gpssm.inference.gibbs._regression import Features, regression
from gpssm.inference.gibbs._slice import elliptical_step, slice_step
from gpssm.inference.marginal import GivenFunction
from gpssm.models import GPSSM, Batch, LinearGaussian, Magnitude, SparseGP
from tests.inference.test_marginal import KALMAN, LEVEL, linear_model, records
from tests.reference.compiling import jit
from tests.reference.kalman import LinearModel, evidence, posterior

VALUES = np.array([[0.3], [-0.2]])
"""Of the linear model, each of which shifts a state."""


def shifted() -> LinearModel:
    """The linear model of these values in plain NumPy."""
    return LinearModel(**{**vars(KALMAN), "c": KALMAN.c + np.sqrt(LEVEL) * VALUES[:, 0]})


def small_model(*, dims: int = 1, magnitude: bool = False) -> GPSSM:
    """A wavy function with few inducing points."""
    inducing = jnp.linspace(-2.0, 2.0, 4)[:, None] * jnp.ones((1, dims + 1))
    kernels = [RBF(lengthscale=jnp.full(dims + 1, 1.0), variance=0.5) for _ in range(dims)]  # pyright: ignore[reportArgumentType]
    transition = SparseGP.create(kernels, inducing, state_dim=dims, noise=0.1)
    linear = LinearGaussian.first_states(1, dims, noise=0.2)
    if not magnitude:
        return GPSSM(transition, linear, dims)
    weight, offset = jnp.eye(1, dims), jnp.full(1, 0.3)
    return GPSSM(transition, Magnitude(weight, offset, paramax.non_trainable(jnp.zeros(1)), linear.noise), dims)


@pytest.mark.parametrize("particles", [2, pytest.param(10, marks=pytest.mark.system)])
def test_paths_of_a_linear_model_stay_those_of_the_kalman_smoother(particles: int):
    # From exact draws, so that nothing depends on how fast two particles forget: a step that leaves the posterior as it
    # is keeps their moments, any other drives them away, sweep by sweep.
    batch, model, sweeps, chains = Batch.of(records()), linear_model(), 40, 3000
    rng, exact = np.random.default_rng(0), []
    start = np.zeros((chains, 2, 6, 2))
    for i, episode in enumerate(records()):
        mean, covariance, _ = posterior(shifted(), episode.y, episode.u, episode.observed)
        drawn = rng.multivariate_normal(mean.ravel(), covariance, chains)
        start[:, i, : len(episode)] = drawn.reshape(chains, -1, 2)
        exact.append((mean.ravel(), covariance))

    @jit
    def walked(start, key):
        assert isinstance(model.transition, SparseGP)
        function = GivenFunction.of(model.transition, jnp.asarray(VALUES))
        noise = model.transition.noise_variance()

        def one(episode, path, key):
            return conditional_smc(
                function, noise, model.emission, episode, path, particles=particles, fitc=False, key=key
            )

        def chain(paths, key):
            return jax.lax.scan(
                lambda paths, key: (jax.vmap(one)(batch, paths, jr.split(key, 2)), None), paths, jr.split(key, sweeps)
            )[0]

        return jax.vmap(chain)(start, jr.split(key, chains))

    after = np.asarray(walked(jnp.asarray(start), jr.key(0)))
    for i, (mean, covariance) in enumerate(exact):
        away = after[:, i].reshape(chains, -1)[:, : len(mean)] - mean
        # Covariances of neighbours, too, which a smoother of single states would not have.
        for found, expected in ((away, 0.0 * mean), (away[:, :, None] * away[:, None, :], covariance)):
            error = found.std(axis=0) / np.sqrt(chains)
            assert (np.abs(found.mean(axis=0) - expected) < 5.0 * error).all()
    inside = np.asarray(batch.valid)
    changed = (after != start).any(axis=-1)[:, inside].mean()
    assert changed > 0.9


def test_a_regression_is_the_dense_one():
    rng = np.random.default_rng(3)
    features, left = rng.standard_normal((4, 9)), rng.uniform(0.0, 0.3, 9)
    targets, weights, variance = rng.standard_normal(9), (np.arange(9) < 7).astype(float), 0.4
    seen = Features(jnp.asarray(features), jnp.asarray(left))
    found = jit(regression)(seen, jnp.asarray(targets), jnp.asarray(weights), jnp.asarray(variance))
    rows, noise = features[:, :7].T, variance + left[:7]
    dense = rows @ rows.T + np.diag(noise)
    log_evidence = -0.5 * (targets[:7] @ np.linalg.solve(dense, targets[:7]) + np.linalg.slogdet(2 * np.pi * dense)[1])
    np.testing.assert_allclose(found.log_evidence, log_evidence, rtol=1e-9)
    covariance = np.eye(4) - rows.T @ np.linalg.solve(dense, rows)
    mean = rows.T @ np.linalg.solve(dense, targets[:7])
    drawn = np.asarray(jit(lambda key: jax.vmap(found.draw)(jr.split(key, 40_000)))(jr.key(1)))
    chol = np.asarray(found.precision.chol)
    np.testing.assert_allclose(chol @ chol.T, np.linalg.inv(covariance), rtol=1e-7)
    errors = np.sqrt(np.diag(covariance) / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - mean) < 5.0 * errors).all()
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) * 2.0 / len(drawn))
    assert (np.abs(np.cov(drawn.T) - covariance) < 5.0 * scale).all()


def test_slice_steps_keep_a_distribution_and_forget_their_start():
    # Of the logarithm of a gamma variable: not symmetric.
    def log_density(x):
        return 2.0 * x - jnp.exp(x)

    exact = jnp.asarray(np.log(np.random.default_rng(0).gamma(2.0, size=5_000)))
    step = jit(lambda x, key: jax.vmap(partial(slice_step, log_density, width=0.7))(x, key=jr.split(key, len(x))))
    kept = np.asarray(step(exact, jr.key(1)))
    assert_same_moments(kept, np.asarray(exact))
    far = jnp.asarray(np.full(5_000, -3.0))
    for i in range(25):
        far = step(far, jr.key(2 + i))
    assert_same_moments(np.asarray(far), np.asarray(exact))


def test_elliptical_steps_keep_a_distribution_whatever_the_ellipse():
    # The target is N(1, 0.5^2); the ellipse is about elsewhere, and wider.
    def log_excess(x):
        return -2.0 * jnp.sum((x - 1.0) ** 2) + 0.5 * jnp.sum((x - 0.4) ** 2), 2.0 * x

    def one(x, key):
        draw_key, step_key = jr.split(key)
        other = 0.4 + jr.normal(draw_key, x.shape)
        return elliptical_step(log_excess, x, other, jnp.full_like(x, 0.4), x, key=step_key)

    exact = 1.0 + 0.5 * np.random.default_rng(0).standard_normal((5_000, 2))
    moved, told = jit(lambda x, key: jax.vmap(one)(x, jr.split(key, 5_000)))(jnp.asarray(exact), jr.key(1))
    np.testing.assert_allclose(told, 2.0 * np.asarray(moved), rtol=1e-12)
    assert np.mean(np.asarray(moved) != exact) > 0.99
    for i in range(2):
        assert_same_moments(np.asarray(moved)[:, i], exact[:, i])


def assert_same_moments(found: np.ndarray, exact: np.ndarray) -> None:
    for power in (1, 2):
        a, b = found**power, exact**power
        assert abs(a.mean() - b.mean()) < 5.0 * np.sqrt((a.var() + b.var()) / len(a))


def test_whitened_paths_of_a_linear_model_do_not_depend_on_the_noises():
    batch, model, episodes = Batch.of(records()), linear_model(), records()
    target = Target(model, HyperPrior(), False)
    unknowns = jit(target.centre)()._replace(values=jnp.asarray(VALUES))
    expected = sum(evidence(shifted(), e.y, e.u, e.observed) for e in episodes)
    rng, inside = np.random.default_rng(0), np.asarray(batch.valid)[..., None]

    @jit
    def there_and_back(reference, coordinates):
        moving = Moving(target, batch, reference)
        lines = moving.lines(unknowns)
        paths, log_density = moving.run(unknowns, lines, coordinates)
        return log_density, moving.whitened(unknowns, lines, paths)

    for _ in range(3):
        reference, coordinates = (np.where(inside, rng.standard_normal((2, 6, 2)), 0.0) for _ in range(2))
        log_density, found = there_and_back(jnp.asarray(reference), jnp.asarray(coordinates))
        # The kernel's jitter is all that differs.
        np.testing.assert_allclose(log_density, expected, rtol=1e-6)
        np.testing.assert_allclose(np.where(inside, found, 0.0), coordinates, atol=1e-10)


@pytest.mark.system
def test_what_the_last_output_tells_of_the_function_is_one_over_the_sum_of_three_variances():
    target = Target(small_model(), HyperPrior(), False)
    batch, unknowns = simulated(target, (4, 3), 1, missing=0, key=jr.key(0))[:2]
    moving = Moving(target, batch, 0.3 * jr.normal(jr.key(2), (2, 4, 1)))
    variances = jnp.full((2, 4, 1), 0.7)

    @jit
    def told(unknowns):
        lines = moving.lines(unknowns)
        return moving.information(unknowns, lines, variances), lines.tangents.slopes

    information, slopes = told(unknowns)
    process, noise = np.exp(unknowns.process).item(), np.exp(unknowns.noise).item()
    for episode, last in ((0, 3), (1, 2)):
        # The output is the state, and after the last nothing is told of it.
        slope = float(slopes[episode, last - 1, 0, 0])
        expected = 1.0 / (process + noise + slope**2 * 0.7)
        np.testing.assert_allclose(float(information[episode, last - 1, 0]), expected, rtol=1e-6)
    assert float(information[1, 2, 0]) == 0.0, "the second record has ended"


@pytest.mark.system
@pytest.mark.parametrize("fitc", [False, True])
def test_whitened_paths_count_the_volume_of_their_coordinates(fitc: bool):
    model = small_model(dims=2, magnitude=True)
    target = Target(model, HyperPrior(), fitc)
    batch, unknowns = simulated(target, (4, 3), 1, missing=2, key=jr.key(0))[:2]
    moving = Moving(target, batch, 0.3 * jr.normal(jr.key(2), (2, 4, 2)))
    coordinates = jnp.where(batch.valid[..., None], jr.normal(jr.key(3), (2, 4, 2)), 0.0)

    def run(flat):
        return moving.run(unknowns, moving.lines(unknowns), flat.reshape(coordinates.shape))

    paths, log_density = jit(run)(coordinates.ravel())
    inside = np.repeat(np.asarray(batch.valid).ravel(), 2)
    slopes = np.asarray(jit(jax.jacfwd(lambda flat: run(flat)[0].ravel()))(coordinates.ravel()))
    volume = np.linalg.slogdet(slopes[inside][:, inside])[1]
    own = -0.5 * (np.log(2 * np.pi) * inside.sum() + np.sum(np.asarray(coordinates) ** 2))
    gibbs = Gibbs(target)
    chain = Chain(paths, unknowns, *(jnp.zeros(()),) * 5)  # pyright: ignore[reportArgumentType]
    joint = gibbs._told(chain, batch, batch.valid).log_joint
    others = -0.5 * jnp.sum(unknowns.values**2) + target.log_prior(unknowns) + 0.5 * 4 * np.log(2 * np.pi)
    np.testing.assert_allclose(log_density, joint - others + volume - own, rtol=1e-9)


@pytest.mark.system
@pytest.mark.parametrize(
    ("dims", "magnitude", "fitc"), [(1, False, False), (1, False, True), (2, True, False)], ids=["dtc", "fitc", "two"]
)
def test_sweeps_leave_the_prior_as_it_is(dims: int, magnitude: bool, fitc: bool):
    # Unknowns from the prior with outputs that they make are a draw from the posterior of these outputs: after any
    # number of sweeps they must still be distributed as the prior (Geweke 2004).
    target = Target(small_model(dims=dims, magnitude=magnitude), HyperPrior(0.5, 0.5, 0.3), fitc)
    gibbs, count = Gibbs(target, 5), 1500

    def one(key):
        draw_key, start_key, sweep_key = jr.split(key, 3)
        batch, unknowns, paths = simulated(target, (7, 5), 1, missing=2, key=draw_key)
        # How to move is learnt from the outputs alone.
        guess = jnp.where(batch.valid[..., None], jnp.repeat(batch.y, dims, axis=-1), 0.0)
        chain = gibbs.start(target.centre(), guess, batch, key=start_key)
        chain = chain._replace(paths=paths, unknowns=unknowns, variances=jnp.full_like(paths, 0.05))
        sweep = lambda chain, key: (gibbs.sweep(chain, batch, warm=jnp.asarray(True), key=key)[0], None)  # noqa: E731
        after = jax.lax.scan(sweep, chain, jr.split(sweep_key, 6))[0]
        inside = jnp.where(batch.valid[..., None], after.paths, 0.0), jnp.where(batch.valid[..., None], paths, 0.0)
        return after.unknowns, unknowns, *inside

    after, before, moved, paths = jit(lambda keys: jax.lax.map(one, keys, batch_size=50))(jr.split(jr.key(5), count))
    pairs = zip(jax.tree.leaves((after, moved)), jax.tree.leaves((before, paths)), strict=True)
    for new, old in ((np.asarray(a).reshape(count, -1), np.asarray(b).reshape(count, -1)) for a, b in pairs):
        assert np.isfinite(new).all()
        varying = old.std(axis=0) > 0.0
        assert (new != old)[:, varying].mean() > 0.9
        for power in (1, 2):
            change = new[:, varying] ** power - old[:, varying] ** power
            error = change.std(axis=0) / np.sqrt(count)
            assert (np.abs(change.mean(axis=0)) < 4.5 * error).all(), change.mean(axis=0) / error


@pytest.mark.system
def test_the_model_of_some_unknowns_has_them_and_their_prior():
    target = Target(small_model(dims=2), HyperPrior(0.7, 1.1, 0.4), False)
    centre = target.centre()
    moved = jax.tree.map(lambda part: part + 0.1 * jnp.arange(part.size, dtype=float).reshape(part.shape), centre)
    back = Target(target.model_at(moved), HyperPrior(), False).centre()
    for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(moved), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    spreads = {"process": 0.7, "noise": 1.1, "kernels": 0.4}
    ratio = 0.0
    for name, spread in spreads.items():
        parts = zip(jax.tree.leaves(getattr(moved, name)), jax.tree.leaves(getattr(centre, name)), strict=True)
        ratio -= sum(0.5 * float(jnp.sum((a - b) ** 2)) for a, b in parts) / spread**2
    np.testing.assert_allclose(target.log_prior(moved) - target.log_prior(centre), ratio, rtol=1e-10)
