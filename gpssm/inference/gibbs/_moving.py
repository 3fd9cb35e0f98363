"""The posterior in the whitened coordinates of the paths: unknowns move, and the paths move along."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._core._gaussian import matmul, matvec
from gpssm._core._linalg import small_cholesky
from gpssm.inference.gibbs._target import Target, Unknowns
from gpssm.inference.gibbs._whitened_paths import Messages, Tangents, messages, tangents_along, unwhiten, whiten
from gpssm.inference.marginal import GivenFunction
from gpssm.inference.marginal._carry import small_inverse
from gpssm.models import Batch, SparseGP


class Lines(NamedTuple):
    """A function, and the lines through it along the reference."""

    function: GivenFunction
    tangents: Tangents


class Moving(eqx.Module):
    """All records about a reference, which must not depend on the paths: the closer it is to where they are, the less
    the whitened coordinates depend on function and noises, and the further a step goes."""

    target: Target
    batch: Batch
    reference: Float[Array, "E T D"]

    def lines(self, unknowns: Unknowns) -> Lines:
        """Of the function; noises play no part."""
        model = self.target.model_at(unknowns)
        assert isinstance(model.transition, SparseGP)
        function = GivenFunction.of(model.transition, unknowns.values)
        along = jax.vmap(lambda e, x: tangents_along(function, model.emission, e, x))
        return Lines(function, along(self.batch, self.reference))

    def whitened(self, unknowns: Unknowns, lines: Lines, paths: Float[Array, "E T D"]) -> Float[Array, "E T D"]:
        """The coordinates of the paths."""
        process, told = self._told(unknowns, lines)

        def one(e: Batch, m: Messages, x: Array) -> Array:
            return whiten(lines.function, process, m, e, x, fitc=self.target.fitc)

        return jax.vmap(one)(self.batch, told, paths)

    def run(
        self, unknowns: Unknowns, lines: Lines, coordinates: Float[Array, "E T D"]
    ) -> tuple[Float[Array, "E T D"], Float[Array, ""]]:
        """The paths of given coordinates, and log p(y, paths | unknowns) in these coordinates; minus infinity where it
        is not finite."""
        process, told = self._told(unknowns, lines)
        emission = self.target.model_at(unknowns).emission

        def one(e: Batch, m: Messages, x: Array) -> tuple[Array, Array]:
            return unwhiten(lines.function, process, emission, m, e, x, fitc=self.target.fitc)

        paths, log_probs = jax.vmap(one)(self.batch, told, coordinates)
        total = jnp.sum(self.batch.weight * log_probs)
        return paths, jnp.where(jnp.isfinite(total), total, -jnp.inf)

    def images(self, lines: Lines) -> Float[Array, "E T D"]:
        """Where the function leads from the reference."""
        return lines.tangents.offsets + matvec(lines.tangents.slopes, self.reference)

    def information(self, unknowns: Unknowns, lines: Lines, variances: Float[Array, "E T D"]) -> Float[Array, "E S D"]:
        """What the outputs after each of the S = T - 1 steps tell of the function there, about: one over the sum of the
        process variance, the variance with which the later outputs tell the next state, and what the function makes of
        the `variances` of the state itself."""
        process, told = self._told(unknowns, lines)
        eye, root = jnp.eye(process.shape[0], dtype=process.dtype), jnp.sqrt(process)

        def one(precision: Array, slope: Array, variance: Array) -> Array:
            # Without inverting the precision, which may be zero: with A = Q^1/2 precision Q^1/2, of A (I + A)^-1.
            scaled = root[:, None] * precision * root[None, :]
            inverse = small_inverse(small_cholesky(eye + scaled))
            known = jnp.diagonal(matmul(scaled, matmul(inverse.T, inverse))) / process
            return known / (1.0 + known * matvec(slope**2, variance))

        found = jax.vmap(jax.vmap(one))(told.precision[:, 1:], lines.tangents.slopes[:, :-1], variances[:, :-1])
        return jnp.where(self.batch.valid[:, 1:, None], found, 0.0)

    def _told(self, unknowns: Unknowns, lines: Lines) -> tuple[Float[Array, " D"], Messages]:
        process = jnp.broadcast_to(jnp.exp(unknowns.process), (self.reference.shape[-1],))
        noise = jnp.exp(unknowns.noise)
        return process, jax.vmap(lambda along, e: messages(along, process, noise, e))(lines.tangents, self.batch)
