"""What a recognition model must answer, and the unconstrained numbers that all of them turn into a posterior."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from gpssm.models._batch import Batch
from gpssm.models._posterior import GaussMarkov


class AbstractRecognition(eqx.Module):
    """Maps one episode to a Gauss-Markov posterior over its states."""

    @abstractmethod
    def posterior(self, episode: Batch) -> GaussMarkov:
        """q(X) of one episode."""

    @abstractmethod
    def reads_new_episodes(self) -> bool:
        """Whether it makes sense of episodes that it was not trained on."""

    @abstractmethod
    def needs_whole_episodes(self) -> bool:
        """Whether windows of an episode would mean nothing to it."""


def num_chol_numbers(state_dim: int, diagonal: bool) -> int:
    """How many numbers describe a triangular factor."""
    return state_dim if diagonal else state_dim * (state_dim + 1) // 2


def gains_from(numbers: Float[Array, "*B G"], state_dim: int, diagonal: bool) -> Float[Array, "*B D D"]:
    """Gains, full or diagonal."""
    if diagonal:
        return _diagonal(numbers)
    return jnp.reshape(numbers, (*numbers.shape[:-1], state_dim, state_dim))


def chols_from(numbers: Float[Array, "*B C"], state_dim: int, diagonal: bool) -> Float[Array, "*B D D"]:
    """Triangular factors with diagonal exp(number); the first D numbers are the logarithms of the diagonal."""
    chols = _diagonal(jnp.exp(numbers[..., :state_dim]))
    if diagonal or state_dim == 1:
        return chols
    rows, columns = jnp.tril_indices(state_dim, -1)
    return chols.at[..., rows, columns].set(numbers[..., state_dim:])


def _diagonal(values: Float[Array, "*B D"]) -> Float[Array, "*B D D"]:
    size = values.shape[-1]
    return values[..., :, None] * jnp.broadcast_to(jnp.eye(size, dtype=values.dtype), (*values.shape, size))


def numbers_from(chols: Float[Array, "*B D D"], diagonal: bool) -> Float[Array, "*B C"]:
    """The numbers that `chols_from` turns into these factors."""
    logs = jnp.log(jnp.abs(jnp.diagonal(chols, axis1=-2, axis2=-1)))
    if diagonal:
        return logs
    rows, columns = jnp.tril_indices(chols.shape[-1], -1)
    return jnp.concatenate([logs, chols[..., rows, columns]], axis=-1)


def mask_padding(
    means: Float[Array, "T D"], gains: Float[Array, "T D D"], chols: Float[Array, "T D D"], valid: Bool[Array, " T"]
) -> GaussMarkov:
    """Padding is made of independent standard normal states, so that it stays finite and changes nothing."""
    eye = jnp.eye(means.shape[-1], dtype=means.dtype)[None]
    keep = valid[:, None]
    return GaussMarkov(
        jnp.where(keep, means, 0.0),
        jnp.where(keep[..., None], gains, 0.0),
        jnp.where(keep[..., None], chols, eye),
    )
