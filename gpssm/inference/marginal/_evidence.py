"""The evidence of a function over all records, and what it tells of the inducing values."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from gpssm.inference.marginal._carry import AbstractCarry
from gpssm.inference.marginal._filter import filtered
from gpssm.inference.marginal._free_runs import FreeRuns
from gpssm.inference.marginal._function import GivenFunction
from gpssm.inference.marginal._parts import Parts, Pieces
from gpssm.models import GPSSM, Batch, SparseGP


class Evidence(NamedTuple):
    """Of given inducing values v = (v_1 .. v_D), K = D M numbers in whitened coordinates."""

    log_evidence: Float[Array, ""]
    """log p(Y | v), states integrated out."""
    information: Float[Array, "K K"]
    """A'A: what the innovations tell of v, by Gauss and Newton. With the prior's I it is the precision of v."""
    jitter: Float[Array, ""]


def evidence_of(
    model: GPSSM,
    values: Float[Array, "D M"],
    episodes: Batch,
    carry: AbstractCarry,
    *,
    fitc: bool,
    free: FreeRuns | None = None,
    parts: Parts = Parts(),
) -> Evidence:
    """Sums over the episodes of a batch; with `free`, weighted sums of what is told by filtering and by free runs."""
    transition = sparse(model)
    function, noise = GivenFunction.of(transition, values), transition.noise_variance()

    def along(pieces: Pieces, *, freely: bool) -> tuple[Array, Array]:
        def one(piece: Pieces):
            read = piece.read if freely else None
            return filtered(
                function, noise, model.emission, piece.batch, carry, fitc=fitc, read=read, judged=piece.judged
            )

        found = jax.vmap(one)(pieces)
        weighted = found.rows * jnp.sqrt(pieces.batch.weight)[:, None, None, None, None]
        rows = function.whitened(weighted.reshape(-1, *values.shape))
        return jnp.sum(pieces.batch.weight * found.log_evidence), rows.T @ rows

    def told(pieces: Pieces) -> tuple[Array, Array]:
        found = along(pieces, freely=False)
        if free is None:
            return found
        share, run = free.share, along(pieces, freely=True)
        return jax.tree.map(lambda a, b: (1.0 - share) * a + share * b, found, run)

    pieces = parts.cut(episodes, 0 if free is None else free.reads)
    if parts.at_once is None:
        log_evidence, information = told(pieces)
    else:
        # What a group needs for its gradient is computed once more, and not kept.
        again = jax.checkpoint(told)
        groups = pieces.in_turn(parts.at_once)
        nothing = jnp.zeros((), noise.dtype), jnp.zeros((values.size, values.size), noise.dtype)
        (log_evidence, information), _ = lax.scan(
            lambda total, group: (jax.tree.map(jnp.add, total, again(group)), None), nothing, groups
        )
    jitter = jnp.max(jnp.stack([basis.factor.jitter for basis in function.bases]))
    return Evidence(log_evidence, information, jitter)


def sparse(model: GPSSM) -> SparseGP:
    """The transition, if it is a sparse GP."""
    if not isinstance(model.transition, SparseGP):
        raise TypeError(
            f"marginal inference integrates over a GP, and {type(model.transition).__name__} has none: use a SparseGP"
        )
    return model.transition
