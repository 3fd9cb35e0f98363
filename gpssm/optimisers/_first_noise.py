"""First noises, from what a regression on guessed states leaves unexplained."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from gpssm._core._params import Positive, trainable_mask, val
from gpssm.models import GPSSM, LinearGaussian, LinearTransition, SparseGP


def with_shared_noise(model: GPSSM, outputs: int) -> GPSSM:
    """A guess differs from the state by noise, at both ends of a step: a third for each of the three."""
    third = model.transition.noise_variance() / 3.0
    return with_noises(model, process=third, measurement=third[:outputs])


def with_noises(model: GPSSM, *, process: Float[Array, " D"], measurement: Float[Array, " O"]) -> GPSSM:
    """The model with other variances of its noises; outputs are the first states.

    Noises that are not to be learnt stay, and so do those of outputs that are mixtures of states.
    """
    transition, emission = model.transition, model.emission
    if isinstance(transition, SparseGP | LinearTransition) and _learnt(transition.noise):
        # One for all states stays one.
        count = val(transition.noise).shape[0]
        model = eqx.tree_at(lambda m: m.transition.noise, model, Positive.of(process[:count]))
    outputs = emission.noise_variance().shape[0]
    if isinstance(emission, LinearGaussian) and outputs <= model.state_dim and _learnt(emission.noise):
        model = eqx.tree_at(lambda m: m.emission.noise, model, Positive.of(measurement))
    return model


def _learnt(noise: PyTree) -> bool:
    return isinstance(noise, Positive) and all(jax.tree.leaves(trainable_mask(noise)))
