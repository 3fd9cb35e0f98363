"""States at each step in the coordinates of their own posterior, in which the bound is nearly round."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float

from gpssm._core._gaussian import affine_chain, matmul, matvec
from gpssm._core._params import val
from gpssm.inference.recognition._base import AbstractRecognition, chols_from, mask_padding, num_chol_numbers
from gpssm.models._batch import Batch
from gpssm.models._posterior import GaussMarkov


class Chains(NamedTuple):
    """The chains of all episodes about which coordinates are taken."""

    means: Float[Array, "B T D"]
    gains: Float[Array, "B T D D"]
    chols: Float[Array, "B T D D"]
    whiteners: Float[Array, "B T D D"]
    """C^-1 with C C' the covariance of the state before; zero at the first step, whose gain is not used."""


class WhitenedStates(AbstractRecognition):
    """The family of `PerStepStates`, as what has to be added to a given member of it.

    With m, A, L the given chain, C C' the marginal covariance of the state before, and xi, G, c the coordinates:

        means m + delta, delta[t] = A[t] delta[t-1] + L[t] xi[t];   gains A + L G C^-1;   factors L T(c),

    T triangular with diagonal exp(c / sqrt 2). A step of unit length in any of them, whatever its direction, moves q(X)
    by the same Kullback-Leibler divergence to second order: Fisher's information of the chain is block-diagonal and
    these are its roots. Where a Gaussian q(X) is close to the posterior given the function, Fisher's information is
    also the curvature of the bound. All coordinates are multiplied by `spread`.
    """

    means_at: Float[Array, "B T D"]
    gains_at: Float[Array, "B T D D"]
    factors_at: Float[Array, "B T C"]
    about: Chains
    spread: paramax.AbstractUnwrappable
    diagonal: bool = eqx.field(static=True)

    @classmethod
    def about_chains(
        cls, chains: GaussMarkov, covariances: Float[np.ndarray, "B T D D"], *, spread: float, diagonal: bool
    ) -> "WhitenedStates":
        """At zero, about the given chains with these marginal covariances."""
        means = chains.means
        dims, dtype = means.shape[-1], means.dtype
        # It only scales coordinates, so that a little more does no harm; a covariance may be singular to rounding.
        size = np.trace(covariances, axis1=-2, axis2=-1)[..., None, None]
        roots = np.linalg.cholesky(covariances + 1e-12 * size * np.eye(dims))
        whiteners = np.zeros_like(covariances)
        whiteners[:, 1:] = np.linalg.inv(roots[:, :-1])
        return cls(
            means_at=jnp.zeros_like(means),
            gains_at=jnp.zeros_like(chains.gains),
            factors_at=jnp.zeros((*means.shape[:-1], num_chol_numbers(dims, diagonal)), dtype),
            about=paramax.non_trainable(Chains(means, chains.gains, chains.chols, jnp.asarray(whiteners, dtype))),
            spread=paramax.non_trainable(jnp.asarray(spread, dtype)),
            diagonal=diagonal,
        )

    def reads_new_episodes(self) -> bool:
        return False

    def needs_whole_episodes(self) -> bool:
        return True

    def posterior(self, episode: Batch) -> GaussMarkov:
        """The chain of the episode with this index."""
        means, gains, chols, whiteners = (val(part)[episode.index] for part in self.about)
        spread, dims = val(self.spread), means.shape[-1]
        shifts = affine_chain(gains, matvec(chols, self.means_at[episode.index]))
        turns = self.gains_at[episode.index]
        if self.diagonal:
            turns = turns * jnp.eye(dims, dtype=turns.dtype)[None]
        numbers = spread * self.factors_at[episode.index]
        stretched = jnp.concatenate([numbers[:, :dims] / 2**0.5, numbers[:, dims:]], axis=-1)
        return mask_padding(
            means + spread * shifts,
            gains + spread * matmul(matmul(chols, turns), whiteners),
            matmul(chols, chols_from(stretched, dims, self.diagonal)),
            episode.valid,
        )
