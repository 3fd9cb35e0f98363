"""A Gaussian filter that is written out, for many models at once: each one of a set of drawn models."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from gpssm.inference import default_rule
from gpssm.inference.marginal import Belief, measured, state_factor
from gpssm.models import GPSSM


def beliefs(
    model: GPSSM,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    *,
    steps: Int[Array, ""],
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
    """Mean and factor of each state given the outputs so far, by the quadrature with which marginal inference trains.

    The record has `steps` rows; those after them fill it up, must be unobserved, and change nothing. Everything is
    elementwise or a product: under `vmap`, cuthbert's filters would call LAPACK for a whole batch.
    """
    dynamics, dims = model.transition.condition(), model.state_dim
    noise, dtype = dynamics.noise_variance(), model.emission.noise_variance().dtype
    nodes, weights = (jnp.asarray(part, dtype) for part in default_rule(dims).nodes(dims))
    empty = jnp.zeros((dims, dims, 0), dtype)

    def step(belief: Belief, now: tuple[Array, Array, Array, Array]) -> tuple[Belief, tuple[Array, Array]]:
        y, u, observed, goes_on = now
        seen, _ = measured(belief, model.emission, y, observed)
        chol = state_factor(seen.covariance)
        values, variances = jax.vmap(lambda x: dynamics.moments(x, u))(seen.mean[None] + nodes @ chol.T)
        mean = weights @ values
        deviations = (values - mean[None]) * jnp.sqrt(weights)[:, None]
        covariance = deviations.T @ deviations + jnp.diag(weights @ variances + noise)
        after = Belief(jnp.where(goes_on, mean, seen.mean), jnp.where(goes_on, covariance, seen.covariance), empty)
        return after, (seen.mean, chol)

    start = Belief(jnp.zeros(dims, dtype), jnp.eye(dims, dtype=dtype), empty)
    goes_on = jnp.arange(y.shape[0]) + 1 < steps
    return lax.scan(step, start, (y, u, observed, goes_on))[1]
