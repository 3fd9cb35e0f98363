"""The form in which traced code sees episodes: equal lengths, with masks."""

from collections.abc import Iterable, Sequence
from typing import final

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int32
from numpy.typing import DTypeLike

from gpssm.data import DataError, Episode


@final
class Batch(eqx.Module):
    """Episodes filled up with zeros to one length; under `vmap` it is one episode.

    Steps that were added have `valid` False and `observed` False, and no computation may depend on what they hold.
    """

    y: Float[Array, "*B T O"]  # 0.0 where not observed
    u: Float[Array, "*B T P"]
    observed: Bool[Array, "*B T O"]
    valid: Bool[Array, "*B T"]  # which steps belong to the record
    index: Int32[Array, "*B"]  # position among the episodes it was made from
    weight: Float[Array, "*B"]  # how many episodes of the population this one stands for

    @classmethod
    def of(cls, episodes: Iterable[Episode], *, length: int | None = None, dtype: DTypeLike = np.float64) -> "Batch":
        """Episodes of the same channels, each filled up to `length` steps (by default those of the longest)."""
        return _pad(tuple(episodes), length=length, dtype=dtype)

    def __check_init__(self) -> None:
        steps, batch = self.valid.shape, self.valid.shape[:-1]
        shapes_agree = (
            self.y.shape[:-1] == steps
            and self.u.shape[:-1] == steps
            and self.observed.shape == self.y.shape
            and self.index.shape == batch
            and self.weight.shape == batch
        )
        if not shapes_agree:
            shapes = {name: leaf.shape for name, leaf in vars(self).items()}
            raise ValueError(f"the arrays of a Batch disagree in shape: {shapes}")


def _pad(episodes: Sequence[Episode], *, length: int | None, dtype: DTypeLike) -> Batch:
    if not episodes:
        raise DataError("a Batch needs at least one episode, but there are none")
    longest = max(len(episode) for episode in episodes)
    length = longest if length is None else length
    if length < longest:
        raise DataError(
            f"cannot pad to {length} steps: the longest episode has {longest}; cut it with .windows({length})"
        )
    dtype = _float_type(dtype)
    _check_range(episodes, dtype)
    size, outputs, inputs = len(episodes), episodes[0].num_outputs, episodes[0].num_inputs
    y = np.zeros((size, length, outputs), dtype=dtype)
    u = np.zeros((size, length, inputs), dtype=dtype)
    observed = np.zeros((size, length, outputs), dtype=bool)
    valid = np.zeros((size, length), dtype=bool)
    for i, episode in enumerate(episodes):
        y[i, : len(episode)] = episode.y
        u[i, : len(episode)] = episode.u
        observed[i, : len(episode)] = episode.observed
        valid[i, : len(episode)] = True
    return Batch(
        # `jnp.asarray` would compile a program for each shape.
        y=jax.device_put(y),
        u=jax.device_put(u),
        observed=jax.device_put(observed),
        valid=jax.device_put(valid),
        index=jax.device_put(np.arange(size, dtype=np.int32)),
        weight=jax.device_put(np.ones(size, dtype=dtype)),
    )


def _float_type(dtype: DTypeLike) -> np.dtype:
    """What JAX makes of `dtype`: without its 64-bit mode, float64 becomes float32."""
    if not np.issubdtype(dtype, np.floating):
        raise DataError(f"cannot pad to dtype {np.dtype(dtype)}; use a floating-point type such as np.float64")
    return jax.dtypes.canonicalize_dtype(dtype)


def _check_range(episodes: Sequence[Episode], dtype: np.dtype) -> None:
    limit = float(np.finfo(dtype).max)
    for episode in episodes:
        for names, values in ((episode.output_names, episode.y), (episode.input_names, episode.u)):
            beyond = np.argwhere(np.abs(values) > limit)
            if len(beyond) > 0:
                row, column = (int(i) for i in beyond[0])
                raise DataError(
                    f"{episode.name}: '{names[column]}' is {values[row, column]} at row {row}, which is too "
                    f"large for {dtype}; scale the episodes with a Scaler first"
                )
