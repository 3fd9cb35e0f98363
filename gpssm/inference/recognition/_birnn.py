"""The bi-directional recurrent recognition model."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, PRNGKeyArray

from gpssm._core._compile import compile_for_setup
from gpssm._core._params import cast
from gpssm._core._precision import double_precision
from gpssm.data import Episodes, Scaler
from gpssm.inference.recognition._base import (
    AbstractRecognition,
    chols_from,
    gains_from,
    mask_padding,
    num_chol_numbers,
)
from gpssm.inference.recognition._cells import GRU, AbstractCell, run_both_ways
from gpssm.models._batch import Batch
from gpssm.models._posterior import GaussMarkov
from gpssm.models._subspace import interpolated, principal_directions


class Head(eqx.Module):
    """A linear read-out of hidden states."""

    weight: Float[Array, "H R"]
    bias: Float[Array, " R"]

    def __call__(self, hidden: Float[Array, "*B H"]) -> Float[Array, "*B R"]:
        """hidden weight + bias."""
        return jnp.matmul(hidden, self.weight) + jnp.reshape(self.bias, (1,) * (hidden.ndim - 1) + (-1,))


class BiRNN(AbstractRecognition):
    """Reads an episode forwards and backwards; linear heads give mean, gain and factor of each state.

    The first state comes from the backward network's last output, which has seen the whole episode. Missing outputs
    are read as zero together with their mask. `skip` adds a linear read-out of the outputs to the means, for outputs
    that are nearly states. With `single_precision` the recurrences alone run in float32: weights, heads and all that
    follows keep their own precision.
    """

    forward: AbstractCell
    backward: AbstractCell
    first: Head
    rest: Head
    skip: Float[Array, "O D"] | None
    state_dim: int = eqx.field(static=True)
    diagonal: bool = eqx.field(static=True)
    offsets: bool = eqx.field(static=True)
    single_precision: bool = eqx.field(static=True, default=False)

    @classmethod
    def create(
        cls,
        *,
        outputs: int,
        inputs: int,
        state_dim: int,
        hidden: int = 32,
        cell: type[AbstractCell] = GRU,
        skip: Float[Array, "O D"] | None = None,
        diagonal: bool = False,
        offsets: bool = True,
        single_precision: bool = False,
        gain: float = 0.5,
        scale: float | Float[np.ndarray, " D"] | Float[Array, " D"] = 0.1,
        key: PRNGKeyArray,
    ) -> "BiRNN":
        """A network whose posterior starts with contractive gains and small factors (`scale`, one for all states or
        one for each); `offsets=False` is the paper's own family."""
        keys = jr.split(key, 4)
        size = 2 * outputs + inputs
        chol_bias = jnp.zeros(num_chol_numbers(state_dim, diagonal)).at[:state_dim].set(jnp.log(scale))
        gain_bias = gain * (jnp.ones(state_dim) if diagonal else jnp.eye(state_dim).ravel())
        first_bias = jnp.concatenate([jnp.zeros(state_dim), chol_bias])
        rest_bias = jnp.concatenate([first_bias, gain_bias])
        return cls(
            forward=cell.create(size, hidden, key=keys[0]),  # type: ignore[attr-defined]
            backward=cell.create(size, hidden, key=keys[1]),  # type: ignore[attr-defined]
            first=Head(0.1 * jr.normal(keys[2], (hidden, first_bias.size)) / hidden**0.5, first_bias),
            rest=Head(0.1 * jr.normal(keys[3], (2 * hidden, rest_bias.size)) / (2 * hidden) ** 0.5, rest_bias),
            skip=skip,
            state_dim=state_dim,
            diagonal=diagonal,
            offsets=offsets,
            single_precision=single_precision,
        )

    @classmethod
    @double_precision
    def from_data(
        cls,
        episodes: Episodes,
        *,
        state_dim: int,
        hidden: int = 32,
        cell: type[AbstractCell] = GRU,
        skip: bool = True,
        diagonal: bool = False,
        offsets: bool = True,
        single_precision: bool = False,
        gain: float = 0.5,
        scale: float | Float[np.ndarray, " D"] | Float[Array, " D"] = 0.1,
        scaled: Episodes | None = None,
        dtype: DTypeLike = np.float64,
        key: PRNGKeyArray,
    ) -> "BiRNN":
        """A network for these channels. With `skip` the means start at the outputs, which become the first states (or
        at their principal components, if there are fewer states than outputs). `single_precision` saves time where
        the network is most of a step: many short episodes, few inducing points.
        """
        outputs = episodes.num_outputs
        direct = np.eye(outputs, state_dim)
        if state_dim < outputs:
            scaled = Scaler.from_episodes(episodes).apply(episodes) if scaled is None else scaled
            direct = principal_directions([interpolated(episode) for episode in scaled], state_dim)
        network = _create(
            outputs=outputs,
            inputs=episodes.num_inputs,
            state_dim=state_dim,
            hidden=hidden,
            cell=cell,
            skip=jnp.asarray(direct) if skip else None,
            diagonal=diagonal,
            offsets=offsets,
            single_precision=single_precision,
            gain=gain,
            scale=scale,
            key=key,
        )
        return cast(network, dtype)

    def posterior(self, episode: Batch) -> GaussMarkov:
        """q(X) of one episode."""
        dims = self.state_dim
        observed = episode.observed.astype(episode.y.dtype)
        y = jnp.where(episode.observed, episode.y, 0.0)
        inputs = jnp.concatenate([y, observed, episode.u], axis=-1)
        ahead, behind = self._read(inputs, episode.valid)
        first = self.first(behind[:1])
        rest = self.rest(jnp.concatenate([ahead, behind], axis=-1)[1:])
        numbers = num_chol_numbers(dims, self.diagonal)
        both = jnp.concatenate([first, rest[:, : dims + numbers]])
        means, chols = both[:, :dims], chols_from(both[:, dims:], dims, self.diagonal)
        gains = gains_from(rest[:, dims + numbers :], dims, self.diagonal)
        gains = jnp.concatenate([jnp.zeros((1, dims, dims), gains.dtype), gains])
        if self.skip is not None:
            means = means + y @ self.skip
        if not self.offsets:
            means = GaussMarkov.without_offsets(means[0], gains, chols).means
        return mask_padding(means, gains, chols, episode.valid)

    def reads_new_episodes(self) -> bool:
        return True

    def needs_whole_episodes(self) -> bool:
        return False

    def _read(
        self, inputs: Float[Array, "T I"], valid: Bool[Array, " T"]
    ) -> tuple[Float[Array, "T H"], Float[Array, "T H"]]:
        """Hidden states of both directions, in the precision of the inputs whichever they were computed in."""
        computed = jnp.float32 if self.single_precision else inputs.dtype
        forward, backward = jax.tree.map(lambda leaf: leaf.astype(computed), (self.forward, self.backward))
        ahead, behind = run_both_ways(forward, backward, inputs.astype(computed), valid)
        return ahead.astype(inputs.dtype), behind.astype(inputs.dtype)


# One object, so that a second network of the same shape finds the compiled program.
_create = compile_for_setup(BiRNN.create)
