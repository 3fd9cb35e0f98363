"""Models drawn from the posterior of an output-error fit: linear part, emission and GP together."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm.methods.output_error._parameters import Frame, Parameters, free_run, linear_part
from gpssm.methods.output_error._records import Records
from gpssm.models import SampledPosterior

CHAINS, KEPT = 16, 8
"""Chains side by side, and draws that are kept of each."""
BURN_IN, THINNED = 24, 4
"""Steps of a chain before the first draw that is kept, and from one to the next."""
STEPS = BURN_IN + KEPT * THINNED
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


class Walk(NamedTuple):
    """Where a chain stands, within a step or between two. Chains side by side wait for the slowest of them: one free
    run a turn, whatever each needs it for, keeps them from waiting after every step."""

    key: PRNGKeyArray
    steps: Int[Array, ""]
    z: Float[Array, " S"]
    value: Float[Array, ""]
    other: Float[Array, " S"]
    """The point that spans the ellipse, with z."""
    level: Float[Array, ""]
    angle: Float[Array, ""]
    low: Float[Array, ""]
    high: Float[Array, ""]
    shrunk: Int[Array, ""]
    walked: Float[Array, "N S"]


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
    return Posterior(*jax.device_put((optimum, root, centre, precision, scale)))


@compile_by_work(lambda posterior, like, frame, records, key: CHAINS * STEPS * len(records.first))
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

    def ellipse(key: PRNGKeyArray, value: Array) -> tuple[Array, Array, Array]:
        """Where the next step may go: another point, the least that it must be worth, and the first angle."""
        other_key, level_key, angle_key = jr.split(key, 3)
        level = value + jnp.log(jr.uniform(level_key, (), value.dtype))
        angle = jr.uniform(angle_key, (), value.dtype, 0.0, 2.0 * jnp.pi)
        return jr.normal(other_key, (size,), value.dtype), level, angle

    def once(now: Walk) -> Walk:
        """One free run: a step of the chain is made, or its bracket becomes smaller."""
        moved = now.z * jnp.cos(now.angle) + now.other * jnp.sin(now.angle)
        found = excess(moved)
        better, enough = found > now.level, now.shrunk >= MOST
        z, value = jnp.where(better, moved, now.z), jnp.where(better, found, now.value)
        next_key, shrink_key, step_key = jr.split(now.key, 3)
        low, high = jnp.where(now.angle < 0.0, now.angle, now.low), jnp.where(now.angle < 0.0, now.high, now.angle)
        angle = jr.uniform(shrink_key, (), z.dtype, low, high)
        shrunk = Walk(next_key, now.steps, z, value, now.other, now.level, angle, low, high, now.shrunk + 1, now.walked)
        other, level, angle = ellipse(step_key, value)
        walked = now.walked.at[now.steps].set(z)
        after = (other, level, angle, angle - 2.0 * jnp.pi, angle, jnp.zeros_like(now.shrunk), walked)
        stepped = Walk(next_key, now.steps + 1, z, value, *after)
        return jax.tree.map(partial(jnp.where, better | enough), stepped, shrunk)

    def chain(key: PRNGKeyArray) -> Float[Array, "K S"]:
        zeros, none = jnp.zeros(size, posterior.optimum.dtype), jnp.zeros((), posterior.optimum.dtype)
        # The first "step" goes nowhere: it finds out what the optimum is worth.
        begin = (jnp.asarray(0), zeros, none - jnp.inf, zeros, none - jnp.inf, none, none, none, jnp.asarray(0))
        start = Walk(key, *begin, jnp.zeros((STEPS + 1, size), zeros.dtype))
        walked = lax.while_loop(lambda now: now.steps <= STEPS, once, start).walked
        return walked[BURN_IN + THINNED :: THINNED]

    def parts(z: Float[Array, " S"]) -> tuple[Array, list[Array], list[Array]]:
        found = unravel(at(z))
        mean, emission = linear_part(found, frame), found.emission
        return found.values, jax.tree.leaves(mean), jax.tree.leaves((emission.weight, emission.offset))  # pyright: ignore[reportAttributeAccessIssue]

    drawn = jax.vmap(chain)(jr.split(key, CHAINS)).reshape(-1, size)
    values, mean, emission = jax.vmap(parts)(drawn)
    return SampledPosterior(values, tuple(mean), tuple(emission))
