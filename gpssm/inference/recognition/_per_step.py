"""States without a network: parameters for each time step of each training episode."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float

from gpssm._core._compile import compile_for_setup
from gpssm._core._precision import double_precision
from gpssm.data import Episodes, Scaler
from gpssm.inference.recognition._base import AbstractRecognition, chols_from, mask_padding, numbers_from
from gpssm.models._batch import Batch
from gpssm.models._posterior import GaussMarkov
from gpssm.models._subspace import subspace_states

_numbers_from = compile_for_setup(numbers_from)


class PerStepStates(AbstractRecognition):
    """One Gauss-Markov chain for each episode of the training set: the whole family, with no amortisation gap.

    It knows the episodes it was made for and no others. For new episodes use a network or a filter.
    """

    means: Float[Array, "B T D"]
    gains: Float[Array, "B T D D"]
    chol_numbers: Float[Array, "B T C"]
    diagonal: bool = eqx.field(static=True)

    @classmethod
    def from_posterior(cls, posterior: GaussMarkov, *, diagonal: bool = False) -> "PerStepStates":
        """Start at a batch of posteriors (leading axis: episodes)."""
        return cls(posterior.means, posterior.gains, _numbers_from(posterior.chols, diagonal), diagonal)

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
        guess: list[Float[np.ndarray, "_ D"]] | None = None,
        dtype: DTypeLike = np.float64,
    ) -> "PerStepStates":
        """Start at states guessed from the data: the outputs, and linear predictors of what they do next."""
        if guess is None:
            scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
            guess = subspace_states(scaler.apply(episodes), state_dim)
        length = episodes.max_length
        means = np.stack([np.pad(x, ((0, length - len(x)), (0, 0))) for x in guess])
        eye = np.broadcast_to(np.eye(state_dim), (*means.shape, state_dim))
        arrays = [jax.device_put(part.astype(dtype)) for part in (means, gain * eye, scale * eye)]
        return cls.from_posterior(GaussMarkov(*arrays), diagonal=diagonal)

    def reads_new_episodes(self) -> bool:
        return False

    def needs_whole_episodes(self) -> bool:
        return True

    def posterior(self, episode: Batch) -> GaussMarkov:
        """The chain of the episode with this index."""
        state_dim = self.means.shape[-1]
        chols = chols_from(self.chol_numbers[episode.index], state_dim, self.diagonal)
        gains = self.gains[episode.index]
        if self.diagonal:
            gains = gains * jnp.eye(state_dim, dtype=gains.dtype)[None]
        return mask_padding(self.means[episode.index], gains, chols, episode.valid)
