"""Filters: the state given the outputs so far, under a learnt model, by cuthbert's algorithms.

cuthbert starts at a state that has not been measured and makes a transition before each measurement, while here y[0]
measures x[0]. The first transition is therefore the identity without noise. A missing output is NaN for cuthbert;
only this file knows that.
"""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import cuthbert
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from cuthbert.gaussian import moments
from cuthbert.smc import particle_filter
from cuthbertlib.quadrature import unscented
from cuthbertlib.quadrature.linearize import conditional_moments
from cuthbertlib.resampling.adaptive import ess_decorator
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray

from gpssm._emission import AbstractEmission
from gpssm._gaussian import LOG_2PI
from gpssm._linalg import small_cholesky
from gpssm._model import GPSSM
from gpssm.transition import AbstractDynamics


class FilterInput(NamedTuple):
    """What a filter step sees: the control that led here, the measurement (NaN where missing), and whether it is the
    first."""

    u: Float[Array, "*B P"]
    y: Float[Array, "*B O"]
    first: Bool[Array, "*B"]


class AbstractEstimator(eqx.Module):
    """A filter for a given model."""

    @abstractmethod
    def build(self, model: GPSSM) -> cuthbert.Filter:
        """The filter as cuthbert runs it."""

    @abstractmethod
    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Mean and Cholesky factor of a filter state."""


def filter_inputs(y: Float[Array, "T O"], u: Float[Array, "T P"], observed: Bool[Array, "T O"]) -> FilterInput:
    """Shift the controls to the step they lead to, and mark what is missing."""
    led_here = jnp.concatenate([jnp.zeros_like(u[:1]), u[:-1]])
    return FilterInput(led_here, jnp.where(observed, y, jnp.nan), jnp.arange(y.shape[0]) == 0)


class EKF(AbstractEstimator):
    """Extended Kalman filter: linearise the mean function at the present estimate."""

    def build(self, model: GPSSM) -> cuthbert.Filter:
        """cuthbert's moment-linearised filter on the GP's mean and variance."""
        dynamics, emission = model.transition.condition(), model.emission

        return _gaussian_filter(model, emission, _linearised_at_mean(dynamics))

    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Mean and factor."""
        return state.mean, state.chol_cov


class UKF(AbstractEstimator):
    """Unscented Kalman filter: statistical linearisation of the transition over sigma points.

    The default points all have positive weights (the cubature rule), which keeps covariances positive from a vague
    start on.
    """

    alpha: float = eqx.field(static=True, default=1.0)
    beta: float = eqx.field(static=True, default=0.0)
    kappa: float = eqx.field(static=True, default=0.0)

    def build(self, model: GPSSM) -> cuthbert.Filter:
        """Each step hands cuthbert the affine model that matches the moments over the sigma points."""
        dynamics, emission = model.transition.condition(), model.emission

        def transition(state: Any, model_inputs: FilterInput):
            eye = jnp.eye(state.mean.shape[0], dtype=state.mean.dtype)
            covariance = state.chol_cov @ state.chol_cov.T + 1e-12 * eye
            gain, offset, noise = conditional_moments(
                lambda x: _next_moments(dynamics, jnp.asarray(x), model_inputs)[0],
                lambda x: _next_moments(dynamics, jnp.asarray(x), model_inputs)[1] ** 2,
                state.mean,
                covariance,
                unscented.weights(state.mean.shape[0], self.alpha, self.beta, self.kappa),
            )
            chol = small_cholesky(noise + 1e-12 * eye)
            return lambda x: (gain @ x + offset, chol), state.mean

        return _gaussian_filter(model, emission, transition)

    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Mean and factor."""
        return state.mean, state.chol_cov


class ParticleFilter(AbstractEstimator):
    """Bootstrap particle filter with systematic resampling when half of the particles have lost their weight."""

    num_particles: int = eqx.field(static=True, default=1000)

    def build(self, model: GPSSM) -> cuthbert.Filter:
        """Particles move by the transition's marginals and are weighted by the emission."""
        dynamics, emission = model.transition.condition(), model.emission
        dtype = emission.noise_variance().dtype

        def propagate(key: PRNGKeyArray, state: Array, model_inputs: FilterInput) -> Array:
            mean, chol = _next_moments(dynamics, state, model_inputs)
            return mean + jnp.diagonal(chol) * jr.normal(key, mean.shape, dtype)

        def log_potential(state_prev: Array, state: Array, model_inputs: FilterInput) -> Array:
            y, variance = model_inputs.y, emission.noise_variance()
            squares = (jnp.nan_to_num(y) - emission.mean(state)) ** 2 / variance
            return jnp.sum(jnp.where(jnp.isnan(y), 0.0, -0.5 * (squares + jnp.log(variance) + LOG_2PI)))

        return particle_filter.build_filter(
            lambda key: jr.normal(key, (model.state_dim,), dtype),
            propagate,
            log_potential,
            self.num_particles,
            ess_decorator(_systematic_resampling, 0.5),
        )

    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Weighted moments of the particles."""
        weights = jax.nn.softmax(state.log_weights)
        mean = weights @ state.particles
        deviations = state.particles - mean[None, :]
        covariance = (weights[:, None] * deviations).T @ deviations
        return mean, small_cholesky(covariance + 1e-9 * jnp.eye(mean.shape[0], dtype=mean.dtype))


def _systematic_resampling(key: PRNGKeyArray, logits: ArrayLike, positions: Any, n: int) -> tuple[Array, Array, Any]:
    """Systematic resampling as traced code: cuthbert's own calls back to the host, where this thread's precision is
    not set."""
    logits = jnp.asarray(logits)
    grid = (jr.uniform(key, (), logits.dtype) + jnp.arange(n)) / n
    chosen = jnp.clip(jnp.searchsorted(jnp.cumsum(jax.nn.softmax(logits)), grid), 0, logits.shape[0] - 1)
    chosen = chosen.astype(jnp.arange(n).dtype)
    return chosen, jnp.zeros_like(logits), jax.tree.map(lambda leaf: leaf[chosen], positions)


def _next_moments(dynamics: AbstractDynamics, x: Array, inputs: FilterInput) -> tuple[Array, Array]:
    mean, variance = dynamics.moments(x, inputs.u)
    spread = jnp.sqrt(variance + dynamics.noise_variance())
    mean = jnp.where(inputs.first, x, mean)
    return mean, jnp.where(inputs.first, 0.0, spread)[:, None] * jnp.eye(x.shape[0], dtype=x.dtype)


def _linearised_at_mean(dynamics: AbstractDynamics) -> Callable[..., tuple]:
    def transition(state: Any, model_inputs: FilterInput):
        return lambda x: _next_moments(dynamics, x, model_inputs), state.mean

    return transition


def _gaussian_filter(model: GPSSM, emission: AbstractEmission, transition: Callable[..., tuple]) -> cuthbert.Filter:
    dtype = emission.noise_variance().dtype

    def observation(state: Any, model_inputs: FilterInput):
        noise = jnp.sqrt(emission.noise_variance())[:, None] * jnp.eye(model_inputs.y.shape[0], dtype=dtype)
        return lambda x: (emission.mean(x), noise), state.mean, model_inputs.y

    return moments.build_filter(
        jnp.zeros(model.state_dim, dtype), jnp.eye(model.state_dim, dtype=dtype), transition, observation
    )


def cuthbert_promotion() -> AbstractContextManager:
    """cuthbert broadcasts arrays of different rank where there is one output; a caller may have forbidden that for
    his own code."""
    return jax.numpy_rank_promotion("allow")


def run_filter(
    estimator: AbstractEstimator,
    model: GPSSM,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
    """Means, factors and the log-evidence of a whole record."""
    built = estimator.build(model)
    start_key, run_key = jr.split(key)
    with cuthbert_promotion():
        states = cuthbert.filter(built, filter_inputs(y, u, observed), built.init_prepare(key=start_key), key=run_key)
    means, chols = jax.vmap(estimator.moments)(jax.tree.map(lambda leaf: leaf[1:], states))
    return means, chols, states.log_normalizing_constant[-1]


def run_smoother(
    model: GPSSM, y: Float[Array, "T O"], u: Float[Array, "T P"], observed: Bool[Array, "T O"]
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
    """Extended Kalman filter, then the backward pass of Rauch, Tung and Striebel."""
    built = EKF().build(model)
    with cuthbert_promotion():
        states = cuthbert.filter(built, filter_inputs(y, u, observed), built.init_prepare())
    smoother = moments.build_smoother(_linearised_at_mean(model.transition.condition()))
    # The state before the first, noise-free transition is left out: nothing can be learnt from going back to it.
    later = jax.tree.map(lambda leaf: leaf[1:], states)
    with cuthbert_promotion():
        smoothed = cuthbert.smoother(smoother, later)
    return smoothed.mean, smoothed.chol_cov, states.log_normalizing_constant[-1]
