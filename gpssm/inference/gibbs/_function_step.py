"""The function with the paths moving along, by elliptical slice sampling."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.inference.gibbs._moving import Moving
from gpssm.inference.gibbs._regression import features_of, rows_of, weighted_regression
from gpssm.inference.gibbs._slice import elliptical_step
from gpssm.inference.gibbs._target import Unknowns
from gpssm.models import SparseGP

SHARE = 0.2
"""Of what the outputs tell of the function were the states known. An ellipse that is too wide costs less than one that
is too narrow."""


class Ellipse(NamedTuple):
    """A Gaussian that is near the posterior of the values, about which steps are drawn: mean and roots of the
    covariances of each state dimension."""

    mean: Float[Array, "D M"]
    roots: Float[Array, "D M M"]
    inverses: Float[Array, "D M M"]

    def log_prob(self, values: Float[Array, "D M"]) -> Float[Array, ""]:
        """Up to a constant."""
        return -0.5 * jnp.sum(self.place(values) ** 2)

    def at(self, place: Float[Array, "D M"]) -> Float[Array, "D M"]:
        """The values at a place in units of the ellipse."""
        return self.mean + jnp.einsum("dij,dj->di", self.roots, place)

    def place(self, values: Float[Array, "D M"]) -> Float[Array, "D M"]:
        """Where the values are, in units of the ellipse."""
        return jnp.einsum("dij,dj->di", self.inverses, values - self.mean)

    def log_volume(self) -> Float[Array, ""]:
        """Logarithm of the determinant of the roots."""
        return jnp.sum(jnp.log(jnp.diagonal(self.roots, axis1=1, axis2=2)))

    def draw(self, key: PRNGKeyArray) -> Float[Array, "D M"]:
        """Values from it."""
        return self.at(jr.normal(key, self.mean.shape, self.mean.dtype))


def ellipse_about(
    moving: Moving, unknowns: Unknowns, images: Float[Array, "E T D"], information: Float[Array, "E S D"]
) -> Ellipse:
    """From the regression of `images`, about where the function leads from the reference, as if each of its steps told
    a share of `information`. It depends on the kernels, but neither on the values nor on the paths."""
    model = moving.target.model_at(unknowns)
    assert isinstance(model.transition, SparseGP)
    # The next states of these "paths" are the images.
    led = jnp.concatenate([moving.reference[:, :1], images[:, :-1]], axis=1)
    rows = rows_of(model.transition, moving.reference, moving.batch)
    rows = rows._replace(targets=rows.targets + (led - moving.reference)[:, 1:].reshape(rows.targets.shape))
    bases = model.transition.bases()
    means, roots, inverses = [], [], []
    for d, weights in enumerate(information.reshape(-1, information.shape[-1]).T):
        seen = features_of(bases[d % len(bases)], rows, fitc=False)
        precision, shift = weighted_regression(seen, rows.targets[:, d], SHARE * weights)
        means.append(precision.inverse.T @ shift)
        roots.append(precision.inverse.T)
        inverses.append(precision.chol.T)
    return Ellipse(jnp.stack(means), jnp.stack(roots), jnp.stack(inverses))


def function_steps(
    moving: Moving,
    unknowns: Unknowns,
    coordinates: Float[Array, "E T D"],
    ellipse: Ellipse,
    *,
    count: int,
    key: PRNGKeyArray,
) -> tuple[Unknowns, Float[Array, "E T D"]]:
    """Some steps with the whitened coordinates of the paths held, and the paths to which they lead. They leave the
    posterior as it is, whatever the ellipse, and go far if that is near it."""

    def log_excess(values: Array) -> tuple[Array, Array]:
        """Log-posterior less what the ellipse says, and the paths."""
        tried = unknowns._replace(values=values)
        paths, log_prob = moving.run(tried, moving.lines(tried), coordinates)
        return log_prob - 0.5 * jnp.sum(values**2) - ellipse.log_prob(values), paths

    def step(now: tuple[Array, Array], key: PRNGKeyArray) -> tuple[tuple[Array, Array], None]:
        draw_key, step_key = jr.split(key)
        values, paths = now
        return elliptical_step(log_excess, values, ellipse.draw(draw_key), ellipse.mean, paths, key=step_key), None

    start = unknowns.values, jnp.zeros_like(coordinates)
    (values, paths), _ = lax.scan(step, start, jr.split(key, count))
    return unknowns._replace(values=values), paths
