"""Slice sampling: Markov chains without a step size to tune.

The density is asked for in one place of one loop, whatever the step is about to do: what is asked may be a run over all
records, and every place in which it stood would be compiled anew.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

STEPS_OUT = 8
"""Times that a bracket grows at most, to both sides together."""
MOST = 60
"""Times that a density is asked for at most; then the chain stays where it is."""
ARC = 1.0
"""Angle of the first bracket on an ellipse, about where the chain is: to begin with all of the ellipse would be right,
too, and waste what it takes to find out that most of it is too far."""
LEVEL, LEFT, RIGHT, SHRINK, END = range(5)


class Bracket(NamedTuple):
    """Where a step stands: what is asked next, and what is known."""

    phase: Int[Array, ""]
    point: Float[Array, ""]
    low: Float[Array, ""]
    high: Float[Array, ""]
    left: Int[Array, ""]
    right: Int[Array, ""]
    level: Float[Array, ""]
    count: Int[Array, ""]


def slice_step(
    log_density: Callable[[Array], Array], at: Float[Array, ""], *, width: float, key: PRNGKeyArray
) -> Float[Array, ""]:
    """One step (Neal 2003: stepping out and shrinkage) that leaves the density as it is.

    `width` is the first bracket; whatever it is, the step is right, and it is cheapest at about two standard
    deviations.
    """
    level_key, place_key, budget_key, shrink_key = jr.split(key, 4)
    drop = jnp.log(jr.uniform(level_key, (), at.dtype))
    low = at - width * jr.uniform(place_key, (), at.dtype)
    # Which share of the growth each side may use is drawn before: otherwise the step could not be gone back.
    left = jr.randint(budget_key, (), 0, STEPS_OUT + 1)

    def body(now: Bracket) -> Bracket:
        value = log_density(now.point)
        level = jnp.where(now.phase == LEVEL, value + drop, now.level)
        inside = value > level
        grow_low = (now.phase == LEFT) & inside & (now.left > 0)
        grow_high = (now.phase == RIGHT) & inside & (now.right > 0)
        shrink = (now.phase == SHRINK) & ~inside
        low = jnp.where(grow_low, now.low - width, jnp.where(shrink & (now.point < at), now.point, now.low))
        high = jnp.where(grow_high, now.high + width, jnp.where(shrink & (now.point >= at), now.point, now.high))
        phase = jnp.where(grow_low | grow_high | shrink, now.phase, now.phase + 1)
        tried = jr.uniform(jr.fold_in(shrink_key, now.count), (), at.dtype, low, high)
        places = jnp.stack([now.point, low, high, tried, now.point])
        return Bracket(
            phase, places[phase], low, high, now.left - grow_low, now.right - grow_high, level, now.count + 1
        )

    # Typed as the loop leaves them: whole numbers of the default width.
    zero = jnp.asarray(0)
    start = Bracket(zero + LEVEL, at, low, low + width, left + zero, STEPS_OUT - left + zero, at, zero)
    end = lax.while_loop(lambda now: (now.phase < END) & (now.count < MOST), body, start)
    return jnp.where(end.phase == END, end.point, at)


def each_in_turn(
    log_density: Callable[[Array], Array], at: Float[Array, " K"], *, width: float, key: PRNGKeyArray
) -> Float[Array, " K"]:
    """A step in each coordinate, given the others."""

    def one(at: Array, now: tuple[Array, PRNGKeyArray]) -> tuple[Array, None]:
        i, key = now
        return at.at[i].set(slice_step(lambda x: log_density(at.at[i].set(x)), at[i], width=width, key=key)), None

    return lax.scan(one, at, (jnp.arange(at.shape[0]), jr.split(key, at.shape[0])))[0]


class Turn(NamedTuple):
    """Where a step on an ellipse stands."""

    angle: Float[Array, ""]
    low: Float[Array, ""]
    high: Float[Array, ""]
    level: Float[Array, ""]
    ended: Array
    told: Any
    count: Int[Array, ""]


def elliptical_step(
    log_excess: Callable[[Array], tuple[Array, Any]],
    at: Float[Array, "*K"],
    other: Float[Array, "*K"],
    centre: Float[Array, "*K"],
    told: Any,
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "*K"], Any]:
    """One step (Murray, Adams and MacKay 2010) on the ellipse through `at` and `other`, a draw from the Gaussian about
    `centre` of which `log_excess` is the log-density less its own.

    What `log_excess` tells beside is handed back for where the step ends; `told` is what it looks like.
    """
    level_key, angle_key, shrink_key = jr.split(key, 3)
    drop = jnp.log(jr.uniform(level_key, (), at.dtype))
    high = ARC * jr.uniform(angle_key, (), at.dtype)

    def place(angle: Array) -> Array:
        return centre + (at - centre) * jnp.cos(angle) + (other - centre) * jnp.sin(angle)

    def body(now: Turn) -> Turn:
        value, new = log_excess(place(now.angle))
        asked = now.count > 0
        level = jnp.where(asked, now.level, value + drop)
        ended = asked & (value > level)
        shrink = asked & ~ended
        low = jnp.where(shrink & (now.angle < 0.0), now.angle, now.low)
        high = jnp.where(shrink & (now.angle >= 0.0), now.angle, now.high)
        tried = jr.uniform(jr.fold_in(shrink_key, now.count), (), at.dtype, low, high)
        angle = jnp.where(ended, now.angle, tried)
        # Of where the step starts, too: there it may end.
        keep = ended | ~asked
        kept = jax.tree.map(lambda after, before: jnp.where(keep, after, before), new, now.told)
        return Turn(angle, low, high, level, ended, kept, now.count + 1)

    zero = jnp.zeros((), at.dtype)
    start = Turn(zero, high - ARC, high, zero, jnp.asarray(False), told, jnp.asarray(0))
    end = lax.while_loop(lambda now: ~now.ended & (now.count < MOST), body, start)
    return jnp.where(end.ended, place(end.angle), at), end.told
