"""Free states: parameters for each time step of each training episode, without a network."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float

from gpssm._guess import latent_guess
from gpssm._posterior import GaussMarkov
from gpssm._precision import double_precision
from gpssm.data import Episodes, Padded, Scaler
from gpssm.recognition._base import AbstractRecognition, chols_from, mask_padding, numbers_from


class FreeStates(AbstractRecognition):
    """One Gauss-Markov chain for each episode of the training set: the whole family, with no amortisation gap.

    It knows the episodes it was made for and no others. For new episodes use a network, a filter, or new free states.
    """

    means: Float[Array, "B T D"]
    gains: Float[Array, "B T D D"]
    chol_numbers: Float[Array, "B T C"]
    diagonal: bool = eqx.field(static=True)

    @classmethod
    def from_posterior(cls, posterior: GaussMarkov, *, diagonal: bool = False) -> "FreeStates":
        """Start at a batch of posteriors (leading axis: episodes)."""
        return cls(posterior.means, posterior.gains, numbers_from(posterior.chols, diagonal), diagonal)

    @classmethod
    @double_precision
    def from_data(
        cls,
        episodes: Episodes,
        *,
        state_dim: int,
        gain: float = 0.5,
        scale: float = 0.1,
        diagonal: bool = False,
        scaler: Scaler | None = None,
        dtype: DTypeLike = np.float64,
    ) -> "FreeStates":
        """Start at states guessed from the data: the outputs, and linear predictors of what they do next."""
        scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
        guess = latent_guess(scaler.apply(episodes), state_dim)
        length = episodes.max_length
        means = jnp.asarray(np.stack([np.pad(x, ((0, length - len(x)), (0, 0))) for x in guess]), dtype)
        eye = jnp.broadcast_to(jnp.eye(state_dim, dtype=dtype), (*means.shape, state_dim))
        return cls.from_posterior(GaussMarkov(means, gain * eye, scale * eye), diagonal=diagonal)

    def posterior(self, episode: Padded) -> GaussMarkov:
        """The chain of the episode with this index."""
        state_dim = self.means.shape[-1]
        chols = chols_from(self.chol_numbers[episode.index], state_dim, self.diagonal)
        gains = self.gains[episode.index]
        if self.diagonal:
            gains = gains * jnp.eye(state_dim, dtype=gains.dtype)[None]
        return mask_padding(self.means[episode.index], gains, chols, episode.valid)
