"""Gaussian filters: extended and unscented, and the smoother that goes back over the first."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from gpssm._core._linalg import small_cholesky
from gpssm.filters._base import AbstractFilter, FilterInput, cuthbert_promotion, filter_inputs, next_moments
from gpssm.models import GPSSM, AbstractEmission
from gpssm.models.transition import AbstractDynamics

if TYPE_CHECKING:
    import cuthbert


class EKF(AbstractFilter):
    """Extended Kalman filter: linearise the mean function at the present estimate."""

    def build(self, model: GPSSM) -> "cuthbert.Filter":
        """cuthbert's moment-linearised filter on the GP's mean and variance."""
        dynamics, emission = model.transition.condition(), model.emission

        return _gaussian_filter(model, emission, _linearised_at_mean(dynamics))

    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Mean and factor."""
        return state.mean, state.chol_cov


class UKF(AbstractFilter):
    """Unscented Kalman filter: statistical linearisation of the transition over sigma points.

    The default points all have positive weights (the cubature rule), which keeps covariances positive from a vague
    start on.
    """

    alpha: float = eqx.field(static=True, default=1.0)
    beta: float = eqx.field(static=True, default=0.0)
    kappa: float = eqx.field(static=True, default=0.0)

    def build(self, model: GPSSM) -> "cuthbert.Filter":
        """Each step hands cuthbert the affine model that matches the moments over the sigma points."""
        from cuthbertlib.quadrature import unscented
        from cuthbertlib.quadrature.linearize import conditional_moments

        dynamics, emission = model.transition.condition(), model.emission

        def transition(state: Any, model_inputs: FilterInput):
            eye = jnp.eye(state.mean.shape[0], dtype=state.mean.dtype)
            covariance = state.chol_cov @ state.chol_cov.T + 1e-12 * eye
            gain, offset, noise = conditional_moments(
                lambda x: next_moments(dynamics, jnp.asarray(x), model_inputs)[0],
                lambda x: next_moments(dynamics, jnp.asarray(x), model_inputs)[1] ** 2,
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


def _linearised_at_mean(dynamics: AbstractDynamics) -> Callable[..., tuple]:
    def transition(state: Any, model_inputs: FilterInput):
        return lambda x: next_moments(dynamics, x, model_inputs), state.mean

    return transition


def _gaussian_filter(model: GPSSM, emission: AbstractEmission, transition: Callable[..., tuple]) -> "cuthbert.Filter":
    from cuthbert.gaussian import moments

    dtype = emission.noise_variance().dtype

    def observation(state: Any, model_inputs: FilterInput):
        noise = jnp.sqrt(emission.noise_variance())[:, None] * jnp.eye(model_inputs.y.shape[0], dtype=dtype)
        return lambda x: (emission.mean(x), noise), state.mean, model_inputs.y

    return moments.build_filter(
        jnp.zeros(model.state_dim, dtype), jnp.eye(model.state_dim, dtype=dtype), transition, observation
    )


def run_smoother(
    model: GPSSM,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    *,
    skipped: Int[Array, ""] | None = None,
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
    """Extended Kalman filter, then the backward pass of Rauch, Tung and Striebel.

    If `skipped` is given, so many rows before the first fill the record up, and must be unobserved. They stand before
    it because the backward pass must begin at its last step.
    """
    import cuthbert
    from cuthbert.gaussian import moments

    built = EKF().build(model)
    stays = jnp.arange(y.shape[0]) <= (0 if skipped is None else skipped)
    with cuthbert_promotion():
        states = cuthbert.filter(built, filter_inputs(y, u, observed, stays), built.init_prepare())
    smoother = moments.build_smoother(_linearised_at_mean(model.transition.condition()))
    # The state before the first, noise-free transition is left out: nothing can be learnt from going back to it.
    later = jax.tree.map(lambda leaf: leaf[1:], states)
    with cuthbert_promotion():
        smoothed = cuthbert.smoother(smoother, later)
    return smoothed.mean, smoothed.chol_cov, states.log_normalizing_constant[-1]
