"""Models drawn from the posterior of an output-error fit: linear part, emission and GP together."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm.methods.output_error._parameters import Frame, Parameters, free_run, linear_part
from gpssm.methods.output_error._records import Records
from gpssm.models import SampledPosterior

CHAINS, KEPT = 16, 8
"""Chains side by side, and draws that are kept of each."""
BURN_IN, THINNED = 24, 4
"""Steps of a chain before the first draw that is kept, and from one to the next."""
MOST = 40
"""Times that the bracket of a step is made smaller; then the chain stays where it is."""


class Posterior(NamedTuple):
    """What a chain walks on: parameters in coordinates in which Laplace's approximation is standard normal."""

    optimum: Float[Array, " R"]
    root: Float[Array, "R S"]
    """A root of the covariance; what is held has rows of zeros."""
    centre: Float[Array, " R"]
    precision: Float[Array, " R"]
    """Of the prior."""
    scale: Float[Array, " O"]
    """Standard deviations of the residuals, for how long they last included."""


def posterior_at(
    optimum: Float[np.ndarray, " R"],
    free: Bool[np.ndarray, " R"],
    centre: Float[np.ndarray, " R"],
    precision: Float[np.ndarray, " R"],
    curvature: Float[np.ndarray, "R R"],
    scale: Float[np.ndarray, " O"],
) -> Posterior:
    """Laplace's approximation for the parameters that are `free`, given the others."""
    places = np.flatnonzero(free)
    total = curvature + np.diag(precision)
    root = np.zeros((len(optimum), len(places)))
    root[places] = np.linalg.inv(np.linalg.cholesky(total[np.ix_(places, places)])).T
    return Posterior(*(jnp.asarray(part) for part in (optimum, root, centre, precision, scale)))


@compile_by_work(lambda posterior, like, frame, records, key: CHAINS * (BURN_IN + KEPT * THINNED) * len(records.first))
def drawn_models(
    posterior: Posterior, like: Parameters, frame: Frame, records: Records, key: PRNGKeyArray
) -> SampledPosterior:
    """`CHAINS * KEPT` models from the posterior itself, not from its curvature.

    A free run bends so much with its parameters that most draws from Laplace's approximation do not fit. Elliptical
    slice sampling walks on ellipses that the approximation draws, and accepts what the posterior says: it needs no
    step size, and every draw is as good a fit as the posterior allows.
    """
    unravel = ravel_pytree(like)[1]
    size = posterior.root.shape[1]

    def at(z: Float[Array, " S"]) -> Float[Array, " R"]:
        return posterior.optimum + posterior.root @ z

    def excess(z: Float[Array, " S"]) -> Float[Array, ""]:
        """Log-posterior less that of the approximation."""
        theta = at(z)
        outputs = free_run(unravel(theta), frame, records)[1]
        errors = jnp.where(records.observed, (records.y - outputs) / posterior.scale[None, :], 0.0)
        prior = jnp.sum(posterior.precision * (theta - posterior.centre) ** 2)
        found = -0.5 * (jnp.sum(errors**2) + prior - jnp.sum(z**2))
        return jnp.where(jnp.isfinite(found), found, -jnp.inf)

    def step(now: tuple[Array, Array], key: PRNGKeyArray) -> tuple[tuple[Array, Array], Array]:
        z, value = now
        ellipse_key, level_key, angle_key, shrink_key = jr.split(key, 4)
        other = jr.normal(ellipse_key, (size,), z.dtype)
        level = value + jnp.log(jr.uniform(level_key, (), z.dtype))
        angle = jr.uniform(angle_key, (), z.dtype, 0.0, 2.0 * jnp.pi)

        def tried(angle: Array) -> tuple[Array, Array]:
            moved = z * jnp.cos(angle) + other * jnp.sin(angle)
            return moved, excess(moved)

        def outside(state: tuple[Array, ...]) -> Array:
            _, _, _, _, found, count = state
            return (found <= level) & (count < MOST)

        def smaller(state: tuple[Array, ...]) -> tuple[Array, ...]:
            angle, low, high, _, _, count = state
            low, high = jnp.where(angle < 0.0, angle, low), jnp.where(angle < 0.0, high, angle)
            angle = jr.uniform(jr.fold_in(shrink_key, count), (), z.dtype, low, high)
            return angle, low, high, *tried(angle), count + 1

        start = (angle, angle - 2.0 * jnp.pi, angle, *tried(angle), jnp.asarray(0))
        *_, moved, found, _ = lax.while_loop(outside, smaller, start)
        z, value = jnp.where(found > level, moved, z), jnp.where(found > level, found, value)
        return (z, value), z

    def chain(key: PRNGKeyArray) -> Float[Array, "K S"]:
        start = jnp.zeros(size, posterior.optimum.dtype)
        keys = jr.split(key, BURN_IN + KEPT * THINNED)
        walked = lax.scan(step, (start, excess(start)), keys)[1]
        return walked[BURN_IN + THINNED - 1 :: THINNED]

    def parts(z: Float[Array, " S"]) -> tuple[Array, list[Array], list[Array]]:
        found = unravel(at(z))
        mean, emission = linear_part(found, frame), found.emission
        return found.values, jax.tree.leaves(mean), jax.tree.leaves((emission.weight, emission.offset))  # pyright: ignore[reportAttributeAccessIssue]

    drawn = jax.vmap(chain)(jr.split(key, CHAINS)).reshape(-1, size)
    values, mean, emission = jax.vmap(parts)(drawn)
    return SampledPosterior(values, tuple(mean), tuple(emission))
