"""The noises given the rest: with the paths held, and with the paths moving along."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._gaussian import expected_log_normal
from gpssm.inference.gibbs._moving import Moving
from gpssm.inference.gibbs._regression import Features, Rows, errors_of
from gpssm.inference.gibbs._slice import each_in_turn
from gpssm.inference.gibbs._target import Target, Unknowns
from gpssm.models import Batch

HELD, MOVING = 0.15, 0.5
"""First brackets of a slice, of the logarithm of a variance: paths that are held leave less room."""


def with_paths_held(
    target: Target,
    unknowns: Unknowns,
    paths: Float[Array, "E T D"],
    seen: tuple[Features, ...],
    rows: Rows,
    batch: Batch,
    *,
    key: PRNGKeyArray,
) -> Unknowns:
    """Each noise from what the paths show of it."""
    squares = errors_of(seen, unknowns.values, rows) ** 2
    unexplained = jnp.stack([seen[d % len(seen)].unexplained for d in range(paths.shape[-1])], axis=1)

    def log_likelihood(tried: Unknowns) -> Array:
        steps = expected_log_normal(squares, jnp.exp(tried.process)[None, :] + unexplained)
        emission = target.model_at(tried).emission
        outputs = jax.vmap(jax.vmap(emission.log_prob))(batch.y, paths) * batch.weight[:, None, None]
        return jnp.sum(rows.weights[:, None] * steps) + jnp.sum(jnp.where(batch.observed, outputs, 0.0))

    return _in_turn(target, unknowns, log_likelihood, HELD, key)


def with_paths_moving(
    moving: Moving, unknowns: Unknowns, coordinates: Float[Array, "E T D"], *, key: PRNGKeyArray
) -> Unknowns:
    """Each noise with the whitened coordinates of the paths held."""
    lines = moving.lines(unknowns)
    return _in_turn(moving.target, unknowns, lambda tried: moving.run(tried, lines, coordinates)[1], MOVING, key)


def _in_turn(
    target: Target,
    unknowns: Unknowns,
    log_likelihood: Callable[[Unknowns], Array],
    width: float,
    key: PRNGKeyArray,
) -> Unknowns:
    """A slice step in the logarithm of each variance that is not held."""
    sizes = unknowns.process.shape[0] if target.prior.process else 0, unknowns.noise.shape[0]
    if not (target.prior.process or target.prior.noise):
        return unknowns

    def filled(flat: Float[Array, " K"]) -> Unknowns:
        process = flat[: sizes[0]] if target.prior.process else unknowns.process
        noise = flat[sizes[0] :] if target.prior.noise else unknowns.noise
        return unknowns._replace(process=process, noise=noise)

    def log_density(flat: Float[Array, " K"]) -> Array:
        tried = filled(flat)
        return log_likelihood(tried) + target.log_prior(tried)

    held = [unknowns.process] * bool(target.prior.process) + [unknowns.noise] * bool(target.prior.noise)
    return filled(each_in_turn(log_density, jnp.concatenate(held), width=width, key=key))
