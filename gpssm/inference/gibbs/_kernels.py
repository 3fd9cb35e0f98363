"""The kernels given the rest: with the paths held and the function integrated out, and with both moving along."""

from collections.abc import Callable

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.inference.gibbs._function_step import Ellipse, ellipse_about
from gpssm.inference.gibbs._moving import Moving
from gpssm.inference.gibbs._regression import Rows, features_of, regression
from gpssm.inference.gibbs._target import Target, Unknowns
from gpssm.models.transition._basis import Basis

WALKS = 3
"""Steps of a random walk over each kernel, in a sweep."""
Walked = tuple[Unknowns, Float[Array, " G"]]
"""Where the walks have led, and the share of steps that were taken, of each of the G kernels."""


def with_paths_held(
    target: Target, unknowns: Unknowns, rows: Rows, log_steps: Float[Array, " G"], *, key: PRNGKeyArray
) -> Walked:
    """From p(paths | kernels), the inducing values integrated out. These are to be drawn anew afterwards: until then
    they belong to the kernels as they were."""

    def log_density(g: int, tried: Unknowns) -> Array:
        return _log_evidence(target, g, tried, rows) + target.log_prior(tried)

    return _walks(unknowns, log_density, lambda tried: tried, log_steps, key)


def with_paths_moving(
    moving: Moving,
    unknowns: Unknowns,
    coordinates: Float[Array, "E T D"],
    images: Float[Array, "E T D"],
    information: Float[Array, "E S D"],
    log_steps: Float[Array, " G"],
    *,
    key: PRNGKeyArray,
) -> Walked:
    """With the whitened coordinates of the paths held, and the place of the values relative to the ellipse, which moves
    with the kernels: as a fit of the function to the outputs would."""

    def ellipse(tried: Unknowns) -> Ellipse:
        return ellipse_about(moving, tried, images, information)

    place = ellipse(unknowns).place(unknowns.values)

    def moved(tried: Unknowns) -> Unknowns:
        return tried._replace(values=ellipse(tried).at(place))

    def log_density(g: int, tried: Unknowns) -> Array:
        about = ellipse(tried)
        tried = tried._replace(values=about.at(place))
        log_prob = moving.run(tried, moving.lines(tried), coordinates)[1]
        return log_prob - 0.5 * jnp.sum(tried.values**2) + about.log_volume() + moving.target.log_prior(tried)

    return _walks(unknowns, log_density, moved, log_steps, key)


def _walks(
    unknowns: Unknowns,
    log_density: Callable[[int, Unknowns], Array],
    ended: Callable[[Unknowns], Unknowns],
    log_steps: Float[Array, " G"],
    key: PRNGKeyArray,
) -> Walked:
    """Some steps of a random walk for one kernel after the other."""

    def once(unknowns: Unknowns, key: PRNGKeyArray) -> Walked:
        taken = []
        for g, kernel_key in enumerate(jr.split(key, len(unknowns.kernels))):
            step_key, accept_key = jr.split(kernel_key)
            now = unknowns.kernels[g]
            tried = now + jnp.exp(log_steps[g]) * jr.normal(step_key, now.shape, now.dtype)

            def of_kernel(flat: Array, g=g, unknowns=unknowns) -> Array:
                return log_density(g, _with_kernel(unknowns, g, flat))

            before, after = lax.map(of_kernel, jnp.stack([now, tried]))
            ratio = jnp.where(jnp.isnan(after - before), -jnp.inf, after - before)
            accept = jnp.log(jr.uniform(accept_key, (), now.dtype)) < ratio
            taken.append(jnp.exp(jnp.minimum(ratio, 0.0)))
            unknowns = _with_kernel(unknowns, g, jnp.where(accept, tried, now))
        return unknowns, jnp.stack(taken)

    unknowns, taken = lax.scan(once, unknowns, jr.split(key, WALKS))
    return ended(unknowns), jnp.mean(taken, axis=0)


def _with_kernel(unknowns: Unknowns, g: int, flat: Float[Array, " _"]) -> Unknowns:
    return unknowns._replace(kernels=(*unknowns.kernels[:g], flat, *unknowns.kernels[g + 1 :]))


def _log_evidence(target: Target, g: int, unknowns: Unknowns, rows: Rows) -> Float[Array, ""]:
    """log p(paths) of those dimensions that kernel number g belongs to."""
    dims = [d for d in range(rows.targets.shape[1]) if d % len(unknowns.kernels) == g]
    variances = jnp.broadcast_to(jnp.exp(unknowns.process), (rows.targets.shape[1],))
    inducing, kernel = target.transition.inducing, target.kernel(g, unknowns.kernels[g])
    shared = features_of(Basis.of(kernel, inducing), rows, fitc=target.fitc) if inducing.ndim == 2 else None
    total = jnp.zeros((), variances.dtype)
    for d in dims:
        seen = shared or features_of(Basis.of(kernel, inducing[d]), rows, fitc=target.fitc)
        total = total + regression(seen, rows.targets[:, d], rows.weights, variances[d]).log_evidence
    return total
