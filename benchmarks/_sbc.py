"""Simulation-based calibration: does the truth lie anywhere in the posterior, as often as the posterior says?

Everything is drawn from the prior, function and hyper-parameters included, and records are simulated. Where a
posterior is right, the rank of the truth among its draws is uniform (Talts et al. 2018). Particle Gibbs is asked for
all unknowns, marginal inference for the function with known hyper-parameters, which is what it approximates.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from scipy.special import ndtri
from scipy.stats import kstest

from gpssm._core._compile import compile_soon
from gpssm.fitting import Run
from gpssm.fitting._problem import Training, prepare
from gpssm.inference.gibbs import Gibbs, HyperPrior, Target, Unknowns
from gpssm.inference.marginal import FilterLaplace, GivenFunction, PointMass, function_posterior
from gpssm.models import GPSSM, Batch, FadingMean, LinearGaussian, SparseGP
from gpssm.optimisers import LBFGS

LENGTHS = (24, 18)
WARMUP, DRAWS, THINNING = 60, 60, 5
"""Of a chain for each set of records: sweeps before the first draw, draws, and sweeps from one to the next."""
POINTS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the visited states at which functions are compared."""
WIDTHS = (0.8, 1.0, 1.25)
"""By which posteriors are stretched, to see whether that is noticed."""
DOUBT = 2.5
"""Standard errors beyond which a spread is called wrong."""


def small_model() -> GPSSM:
    """One state, a wavy function on six inducing points, even noises."""
    kernel = RBF(lengthscale=jnp.ones(1), variance=0.5)  # pyright: ignore[reportArgumentType]
    inducing = jnp.linspace(-2.5, 2.5, 6)[:, None]
    transition = SparseGP.create(kernel, inducing, state_dim=1, noise=0.05, mean=FadingMean(0.7))
    return GPSSM(transition, LinearGaussian.first_states(1, 1, noise=0.05), 1)


def simulated(
    target: Target, lengths: tuple[int, ...], inputs: int, *, missing: int, key: PRNGKeyArray
) -> tuple[Batch, Unknowns, Float[Array, "E T D"]]:
    """Everything from the prior: outputs of some records, unknowns and states. Step `missing` is not measured."""
    dims, longest, centre, prior = target.model.state_dim, max(lengths), target.centre(), target.prior
    keys, count = jr.split(key, 7), len(lengths)
    unknowns = Unknowns(
        jr.normal(keys[0], centre.values.shape),
        centre.process + prior.process * jr.normal(keys[1], centre.process.shape),
        centre.noise + prior.noise * jr.normal(keys[2], centre.noise.shape),
        tuple(
            part + prior.kernel * jr.normal(jr.fold_in(keys[3], g), part.shape) for g, part in enumerate(centre.kernels)
        ),
    )
    drawn = target.model_at(unknowns)
    assert isinstance(drawn.transition, SparseGP)
    function, noise = GivenFunction.of(drawn.transition, unknowns.values), drawn.transition.noise_variance()

    def path(u: Float[Array, "T P"], key: PRNGKeyArray) -> Float[Array, "T D"]:
        start_key, key = jr.split(key)

        def step(x: Array, now: tuple[Array, PRNGKeyArray]) -> tuple[Array, Array]:
            u, key = now
            spread = noise + function.unexplained(x, u) if target.fitc else noise
            return function(x[None], u)[0][0] + jnp.sqrt(spread) * jr.normal(key, x.shape), x

        return lax.scan(step, jr.normal(start_key, (dims,)), (u, jr.split(key, longest)))[1]

    valid = jnp.arange(longest)[None, :] < jnp.asarray(lengths)[:, None]
    u = jnp.where(valid[..., None], 0.5 * jr.normal(keys[4], (count, longest, inputs)), 0.0)
    paths = jnp.where(valid[..., None], jax.vmap(path)(u, jr.split(keys[5], count)), 0.0)
    signals = drawn.emission.mean(paths)
    observed = jnp.broadcast_to((valid & (jnp.arange(longest)[None, :] != missing))[..., None], signals.shape)
    y = jnp.where(observed, drawn.emission.sample(signals, key=keys[6]), 0.0)
    batch = Batch(y, u, observed, valid, jnp.arange(count, dtype=jnp.int32), jnp.ones(count))
    return batch, unknowns, paths


def asked(target: Target, unknowns: Unknowns, points: Float[Array, " K"]) -> Float[Array, " Q"]:
    """What is compared with the truth: the function at some points, and the hyper-parameters that are not held."""
    drawn = target.model_at(unknowns)
    assert isinstance(drawn.transition, SparseGP)
    function = GivenFunction.of(drawn.transition, unknowns.values)(points[:, None], jnp.zeros(0))[0][:, 0]
    held = (unknowns.process, target.prior.process), (unknowns.noise, target.prior.noise)
    kernels = [(part, target.prior.kernel) for part in unknowns.kernels]
    return jnp.concatenate([function, *(part for part, spread in (*held, *kernels) if spread)])


def by_particle_gibbs(count: int, seed: int) -> tuple[Float[np.ndarray, "R Q"], Float[np.ndarray, "R N Q"]]:
    """The truth and draws of so many sets of records, hyper-parameters from a prior that is not wide."""
    with jax.enable_x64(True):
        target = Target(small_model(), HyperPrior(0.5, 0.5, 0.3), False)
        gibbs = Gibbs(target, 12)

        def one(key: PRNGKeyArray) -> tuple[Array, Array]:
            draw_key, start_key, sweep_key = jr.split(key, 3)
            batch, truth, paths = simulated(target, LENGTHS, 0, missing=2, key=draw_key)
            points = jnp.quantile(paths[batch.valid.shape[0] - 1], jnp.asarray(POINTS))
            chain = gibbs.start(target.centre(), batch.y, batch, key=start_key)

            def sweeps(chain, now: tuple[Array, PRNGKeyArray]):
                warm, key = now
                step = lambda chain, key: (gibbs.sweep(chain, batch, warm=warm, key=key)[0], None)  # noqa: E731
                chain = lax.scan(step, chain, jr.split(key, THINNING))[0]
                return chain, asked(target, chain.unknowns, points)

            parts = WARMUP // THINNING + DRAWS
            warm: Bool[Array, " S"] = jnp.arange(parts) >= WARMUP // THINNING
            found = lax.scan(sweeps, chain, (warm, jr.split(sweep_key, parts)))[1]
            return asked(target, truth, points), found[WARMUP // THINNING :]

        run = compile_soon(lambda keys: lax.map(one, keys, batch_size=min(count, 50)))
        truth, draws = run(jr.split(jr.key(seed), count))
        return np.asarray(truth), np.asarray(draws)


def by_marginal(count: int, seed: int) -> tuple[Float[np.ndarray, "R Q"], Float[np.ndarray, "R N Q"]]:
    """The same for the function alone, by Laplace about the optimum, with hyper-parameters known."""
    truths, draws = [], []
    with jax.enable_x64(True):
        target = Target(small_model(), HyperPrior(0.0, 0.0, 0.0), False)
        make = jax.jit(lambda key: simulated(target, LENGTHS, 0, missing=2, key=key))

        def one(values: Array, points: Array) -> Array:
            return asked(target, target.centre()._replace(values=values), points)

        ask = jax.jit(jax.vmap(one, in_axes=(0, None)))
        for i in range(count):
            draw_key, fit_key, sample_key = jr.split(jr.fold_in(jr.key(seed), i), 3)
            batch, truth, paths = make(draw_key)
            inference = FilterLaplace.about(target.model, batch, exact=PointMass())
            training = Training(batch, freeze=_hyper_parameters)
            tree = prepare((target.model, inference), np.float64)
            found = LBFGS(100, tolerance=1e-10).run(tree, training, Run().stage("search"), key=fit_key)
            at = found.inference
            assert isinstance(at, FilterLaplace)
            posterior = function_posterior(at, target.model, batch, draws=12, key=fit_key)
            rng = np.random.default_rng(np.asarray(jr.key_data(sample_key)))
            unit = rng.standard_normal((DRAWS, len(posterior.covariance)))
            values = np.asarray(at.values()).ravel() + unit @ np.linalg.cholesky(posterior.covariance).T
            points = np.quantile(np.asarray(paths)[batch.valid.shape[0] - 1], POINTS)
            truths.append(ask(truth.values[None], points)[0])
            draws.append(ask(jnp.asarray(values.reshape(DRAWS, *truth.values.shape)), points))
    return np.asarray(truths), np.asarray(draws)


def _hyper_parameters(model: GPSSM, inference: FilterLaplace):
    assert isinstance(model.transition, SparseGP)
    return model.transition.kernels, model.transition.inducing, model.transition.noise, model.emission


BY: dict[str, Callable[[int, int], tuple[np.ndarray, np.ndarray]]] = {
    "particle Gibbs": by_particle_gibbs,
    "marginal, hyper-parameters known": by_marginal,
}


def verdict(
    truth: Float[np.ndarray, "R Q"], draws: Float[np.ndarray, "R N Q"], *, width: float = 1.0
) -> dict[str, float]:
    """How uniform the ranks are, with the draws stretched about their mean by `width`.

    `spread` is the mean square of the ranks as normal scores over what it is for uniform ones: above one, the posterior
    is too narrow. `errors` is how many standard errors it is from one; sets of records are independent, what is asked
    of one is not. `p_value` is the smallest of a Kolmogorov-Smirnov test for each quantity, times their number.
    """
    middle = draws.mean(axis=1, keepdims=True)
    stretched = middle + width * (draws - middle)
    count = draws.shape[1] + 1
    places = (np.sum(stretched < truth[:, None], axis=1) + 0.5) / count
    scores = ndtri(places) ** 2 / np.mean(ndtri((np.arange(count) + 0.5) / count) ** 2)
    each = scores.mean(axis=1)
    error = each.std(ddof=1) / np.sqrt(len(each))
    p_values = [kstest(column, "uniform").pvalue for column in places.T]
    return {
        "spread": float(each.mean()),
        "errors": float((each.mean() - 1.0) / error),
        "p_value": float(min(1.0, len(p_values) * min(p_values))),
    }
