"""The function given paths of the states: Bayesian linear regression in the features of the inducing values."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._gaussian import expected_log_normal
from gpssm._core._linalg import Factor, factorise, rounding_jitter, weighted_gram
from gpssm.models import Batch, SparseGP
from gpssm.models.transition._basis import Basis


class Rows(NamedTuple):
    """All transitions of all paths as one table; N rows."""

    points: Float[Array, "N Q"]
    """State and control before the step."""
    targets: Float[Array, "N D"]
    """The next state, less what the mean function expects."""
    weights: Float[Array, " N"]
    """One, or zero for padding."""


class Features(NamedTuple):
    """Rows as one basis sees them."""

    features: Float[Array, "M N"]
    unexplained: Float[Array, " N"]
    """Zero where it does not count."""


class Regression(NamedTuple):
    """What the rows tell of the values v of one state dimension, with v ~ N(0, I): its posterior has the precision
    L L', and the mean L^-T `shift`."""

    precision: Factor
    shift: Float[Array, " M"]
    log_evidence: Float[Array, ""]
    """log p(targets), v integrated out."""

    def draw(self, key: PRNGKeyArray) -> Float[Array, " M"]:
        """Values from the posterior."""
        return self.precision.inverse.T @ (self.shift + jr.normal(key, self.shift.shape, self.shift.dtype))


def rows_of(transition: SparseGP, paths: Float[Array, "E T D"], batch: Batch) -> Rows:
    """The table of the paths' transitions."""
    before = paths[:, :-1].reshape(-1, paths.shape[-1])
    u = batch.u[:, :-1].reshape(before.shape[0], batch.u.shape[-1])
    targets = paths[:, 1:].reshape(before.shape) - transition.mean(before, u)
    weights = jnp.where(batch.valid[:, 1:], batch.weight[:, None], 0.0).reshape(-1)
    return Rows(jnp.concatenate([before, u], axis=1), targets, weights)


def features_of(basis: Basis, rows: Rows, *, fitc: bool) -> Features:
    """Of all rows."""
    features, left = basis.project(rows.points)
    return Features(features, jnp.maximum(left, 0.0) if fitc else jnp.zeros_like(left))


def regression(
    seen: Features, targets: Float[Array, " N"], weights: Float[Array, " N"], variance: Float[Array, ""]
) -> Regression:
    """Of one state dimension on the features, with noise of this variance."""
    spread = variance + seen.unexplained
    precision, shift = weighted_regression(seen, targets, weights / spread)
    noise_only = jnp.sum(weights * expected_log_normal(targets**2, spread))
    log_evidence = noise_only + 0.5 * jnp.sum(shift**2) - 0.5 * precision.log_det()
    return Regression(precision, shift, log_evidence)


def weighted_regression(
    seen: Features, targets: Float[Array, " N"], weights: Float[Array, " N"]
) -> tuple[Factor, Float[Array, " M"]]:
    """With a precision for each row: the factor L of the posterior's precision, and L^-1 of its shift."""
    gram = weighted_gram(seen.features, weights)
    precision = factorise(jnp.eye(len(gram), dtype=gram.dtype) + gram, rounding_jitter(gram.dtype))
    return precision, precision.inverse @ (seen.features @ (weights * targets))


def errors_of(seen: tuple[Features, ...], values: Float[Array, "D M"], rows: Rows) -> Float[Array, "N D"]:
    """What the values leave of the targets."""
    found = [v @ seen[d % len(seen)].features for d, v in enumerate(values)]
    return rows.targets - jnp.stack(found, axis=1)


def draw_values(
    seen: tuple[Features, ...], rows: Rows, variances: Float[Array, " D"], *, key: PRNGKeyArray
) -> Float[Array, "D M"]:
    """The values of all dimensions given the paths: independent, as the dimensions share no noise."""
    drawn = []
    for d, dim_key in enumerate(jr.split(key, variances.shape[0])):
        one = regression(seen[d % len(seen)], rows.targets[:, d], rows.weights, variances[d])
        drawn.append(one.draw(dim_key))
    return jnp.stack(drawn)
