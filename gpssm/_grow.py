"""From a linear model to a nonlinear one: a GP learns what an identified linear system misses."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF, AbstractKernel
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._guess import spread_points
from gpssm._identify import FitResult
from gpssm._linearised import linearised_posterior
from gpssm._model import GPSSM
from gpssm._params import Positive, cast
from gpssm._precision import double_precision
from gpssm.data import Episodes, Padded
from gpssm.fit import Progress, polish, prepare
from gpssm.inference import AbstractExpectation, Collapsed, Variational, default_rule
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
    zeros = np.zeros((*data.valid.shape, linear.model.state_dim))
    states = FreeStates.from_posterior(linearised_posterior(linear.model, data, zeros, rounds=1))
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
