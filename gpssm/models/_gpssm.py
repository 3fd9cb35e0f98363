"""The Gaussian-process state-space model: an initial state, a transition and an emission."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, DTypeLike, Float, PRNGKeyArray

from gpssm._core._compile import compile_for_setup
from gpssm._core._gaussian import LOG_2PI
from gpssm._core._params import Positive, cast
from gpssm._core._precision import double_precision
from gpssm._core._random import seed_of, split
from gpssm.data import Episodes, Scaler
from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._rbf import rbf
from gpssm.models._inducing_inputs import place_inducing_inputs
from gpssm.models._subspace import interpolated, principal_directions, subspace_states
from gpssm.models.emission import AbstractEmission, LinearGaussian
from gpssm.models.transition import AbstractMean, AbstractTransition, SparseGP


class GPSSM(eqx.Module):
    """x[0] ~ N(0, I); x[t+1] from the transition; y[t] from the emission. Everything in standardised units."""

    transition: AbstractTransition
    emission: AbstractEmission
    state_dim: int = eqx.field(static=True)

    @classmethod
    @double_precision
    def from_data(
        cls,
        episodes: Episodes,
        *,
        state_dim: int,
        kernel: AbstractKernel | Sequence[AbstractKernel] | str | None = None,
        num_inducing: int = 50,
        process_variance: float = 0.01,
        noise_variance: float = 0.01,
        tied_noise: bool = False,
        whitened: bool = True,
        mean: AbstractMean | None = None,
        learn_emission: bool = False,
        emission: AbstractEmission | None = None,
        scaler: Scaler | None = None,
        scaled: Episodes | None = None,
        guess: list[Float[np.ndarray, "_ D"]] | None = None,
        dtype: DTypeLike = np.float64,
        key: PRNGKeyArray,
    ) -> "GPSSM":
        """A model that starts from the data: outputs are the first states, inducing inputs lie where the system has
        been.

        One kernel is copied to every state dimension, each copy with parameters of its own; words of the command line,
        such as "rbf+matern12", name one as well. By default it is an RBF with a length-scale for each state and
        control. Variances are in units of the scaled outputs. An `emission` of your own is taken as it is. `scaled` and
        `guess` are the scaled episodes and their first states, for callers who have them already.
        """
        scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
        scaled = scaler.apply(episodes) if scaled is None else scaled
        guess = subspace_states(scaled, state_dim) if guess is None else guess
        points = np.concatenate([np.concatenate([x, e.u], axis=1) for x, e in zip(guess, scaled, strict=True)])
        seed_key, mean_key = split(key)
        inducing = place_inducing_inputs(points, num_inducing, seed=seed_of(seed_key))
        kernel = rbf(jnp.full(points.shape[1], 2.0), 0.5) if kernel is None else kernel
        if isinstance(kernel, str):
            from gpssm.kernels import kernel_from_words

            kernel = kernel_from_words(kernel, dims=points.shape[1])
        kernels = [kernel] * state_dim if isinstance(kernel, AbstractKernel) else kernel
        emission = _first_emission(scaled, state_dim, noise_variance, learn_emission) if emission is None else emission
        transition = _first_transition(
            tuple(kernels),
            jnp.asarray(inducing),
            state_dim,
            jnp.asarray(np.asarray(process_variance, float)),
            tied_noise,
            mean,
            whitened,
            mean_key,
        )
        return cast(cls(transition, emission, state_dim), dtype)

    def initial_expected_log_prob(self, mean: Float[Array, " D"], covariance: Float[Array, "D D"]) -> Float[Array, ""]:
        """E log N(x | 0, I) for x ~ N(mean, covariance)."""
        return -0.5 * (self.state_dim * LOG_2PI + jnp.sum(mean**2) + jnp.trace(covariance))


@compile_for_setup
def _first_transition(
    kernels: tuple[AbstractKernel, ...],
    inducing: Float[Array, "M Q"],
    state_dim: int,
    noise: Float[Array, "..."],
    tied_noise: bool,
    mean: AbstractMean | None,
    whitened: bool,
    key: PRNGKeyArray,
) -> SparseGP:
    return SparseGP.create(
        kernels,
        inducing,
        state_dim=state_dim,
        noise=noise,
        tied_noise=tied_noise,
        mean=mean,
        whitened=whitened,
        key=key,
    )


def _first_emission(scaled: Episodes, state_dim: int, noise: float, learn: bool) -> LinearGaussian:
    outputs = scaled.num_outputs
    if state_dim >= outputs:
        return LinearGaussian.first_states(outputs, state_dim, noise=noise, learn=learn)
    directions = principal_directions([interpolated(episode) for episode in scaled], state_dim)
    weight, offset = jnp.linalg.pinv(jnp.asarray(directions)).T, jnp.zeros(outputs)
    noises = Positive.of(jnp.full(outputs, noise))
    if learn:
        return LinearGaussian(weight, offset, noises)
    return LinearGaussian(paramax.non_trainable(weight), paramax.non_trainable(offset), noises)
