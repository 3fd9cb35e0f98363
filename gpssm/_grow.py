"""From a linear model to a nonlinear one: a GP learns what an identified linear system misses."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF, AbstractKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._emission import LinearGaussian
from gpssm._guess import spread_points
from gpssm._identify import FitResult, default_rule
from gpssm._model import GPSSM
from gpssm._params import Positive, cast, val
from gpssm._posterior import GaussMarkov
from gpssm._precision import double_precision
from gpssm.data import Episodes, Padded
from gpssm.fit import Progress, polish, prepare
from gpssm.inference import AbstractExpectation, Collapsed, Variational
from gpssm.predict import Identified
from gpssm.recognition import FreeStates
from gpssm.transition import Linear, SparseGP


@double_precision
def grow(
    linear: Identified,
    episodes: Episodes,
    *,
    kernel: AbstractKernel | None = None,
    num_inducing: int = 50,
    lengthscale: float = 3.0,
    doubt: float = 2.0,
    iterations: int = 150,
    expectation: AbstractExpectation | None = None,
    progress: Progress | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Continue from a linear model (`gpssm.baselines.LinearKalman.fit`): it becomes the mean function of the
    transition, and everything, the linear part included, is learnt on by L-BFGS with free states and q(u) collapsed.

    The GP starts as a small correction: its variance is `doubt` times the process noise of the linear model, its
    length-scales are `lengthscale` standard deviations of the states and inputs visited. A `kernel` of your own is
    taken as it is. Where the linear model was right already, the correction stays small.
    """
    if not isinstance(linear.model.transition, Linear):
        raise TypeError(f"expected a model with a linear transition, not {type(linear.model.transition).__name__}")
    data = linear.scaler.apply(episodes).padded()
    points_key, mean_key, polish_key = jr.split(key, 3)
    states = FreeStates.from_posterior(linear_posterior(linear.model, data))
    transition = _correction(
        linear.model.transition,
        _visited(states.means, data),
        kernel,
        num_inducing,
        lengthscale,
        doubt,
        points_key,
        mean_key,
    )
    model = cast(GPSSM(transition, linear.model.emission, linear.model.state_dim), np.float64)
    inference = Variational(states, Collapsed(), expectation or default_rule(model.state_dim))
    grown = polish(
        *prepare(model, inference, np.float64), data, iterations=iterations, progress=progress, key=polish_key
    )
    identified = replace(linear, model=cast(grown.model, np.float64), history=grown.history)
    return FitResult(identified, grown.inference, grown.history, grown.result)


def linear_posterior(model: GPSSM, data: Padded) -> GaussMarkov:
    """The exact posterior of the states of every episode under a linear model, as a chain that runs forward.

    With beta_t(x) = p(y_t, y_t+1, ... | x_t = x), an information filter run backwards, the chain is
    q(x_t | x_t-1) proportional to p(x_t | x_t-1) beta_t(x_t).
    """
    transition, emission = model.transition, model.emission
    assert isinstance(transition, Linear) and isinstance(emission, LinearGaussian)
    C, offset = np.asarray(val(emission.weight)), np.asarray(val(emission.offset))
    seen = np.asarray(data.observed) / np.asarray(emission.noise_variance())
    precision = np.einsum("bto,oi,oj->btij", seen, C, C)
    shift = np.einsum("bto,oi->bti", seen * (np.asarray(data.y) - offset), C)
    A, B, c = (
        np.asarray(m) for m in (transition.mean.state_matrix, transition.mean.control_matrix, transition.mean.offset)
    )
    noise_precision = 1.0 / np.asarray(transition.noise_variance())
    drive = np.asarray(data.u) @ B.T + c

    means, gains, covariances = np.zeros_like(shift), np.zeros_like(precision), np.zeros_like(precision)
    batch, length, dim = shift.shape
    pulls = np.zeros_like(shift)
    for t in reversed(range(length)):
        # The state before the first one is fixed at zero: x[0] ~ N(0, I).
        q = np.ones(dim) if t == 0 else noise_precision
        covariances[:, t] = np.linalg.inv(precision[:, t] + np.diag(q))
        before = np.zeros((batch, dim)) if t == 0 else drive[:, t - 1]
        pulls[:, t] = np.einsum("bij,bj->bi", covariances[:, t], q * before + shift[:, t])
        if t > 0:
            gains[:, t] = covariances[:, t] * q @ A
            kept = np.diag(q) - q[:, None] * covariances[:, t] * q
            precision[:, t - 1] += A.T @ kept @ A
            shift[:, t - 1] += (q * (pulls[:, t] - before)) @ A
    for t in range(length):
        means[:, t] = pulls[:, t] + (0.0 if t == 0 else np.einsum("bij,bj->bi", gains[:, t], means[:, t - 1]))
    chols = np.linalg.cholesky(covariances)
    # In centred form the gains act on deviations from the mean.
    return GaussMarkov(jnp.asarray(means), jnp.asarray(gains), jnp.asarray(chols))


def _visited(means: Float[Array, "B T D"], data: Padded) -> Float[np.ndarray, "N Q"]:
    valid = np.asarray(data.valid)
    return np.concatenate([np.asarray(means)[valid], np.asarray(data.u)[valid]], axis=1)


def _correction(
    linear: Linear,
    points: Float[np.ndarray, "N Q"],
    kernel: AbstractKernel | None,
    num_inducing: int,
    lengthscale: float,
    doubt: float,
    points_key: PRNGKeyArray,
    mean_key: PRNGKeyArray,
) -> SparseGP:
    noise = np.asarray(linear.noise_variance())
    scales = jnp.asarray(lengthscale * np.maximum(points.std(axis=0), 1e-3))
    kernels = [
        RBF(lengthscale=scales, variance=float(doubt * variance))  # pyright: ignore[reportArgumentType]
        if kernel is None
        else kernel
        for variance in noise
    ]
    inducing = spread_points(points, num_inducing, seed=int(jr.randint(points_key, (), 0, 2**31 - 1)))
    created = SparseGP.create(kernels, jnp.asarray(inducing), state_dim=len(noise), mean=linear.mean, key=mean_key)
    return eqx.tree_at(lambda t: t.noise, created, Positive.of(jnp.asarray(noise)))
