"""First noises, from what a regression on guessed states leaves unexplained."""

import equinox as eqx
import jax
from jaxtyping import PyTree

from gpssm._core._params import Positive, trainable_mask
from gpssm.models import GPSSM, LinearGaussian, LinearTransition, SparseGP


def with_shared_noise(model: GPSSM, outputs: int) -> GPSSM:
    """A guess differs from the state by noise, at both ends of a step: a third for each of the three.

    Noises that are not to be learnt stay, and so do those of outputs that are mixtures of states.
    """
    transition, unexplained = model.transition, model.transition.noise_variance()
    if isinstance(transition, SparseGP | LinearTransition) and _learnt(transition.noise):
        model = eqx.tree_at(lambda m: m.transition.noise, model, Positive.of(unexplained / 3.0))
    emission = model.emission
    if isinstance(emission, LinearGaussian) and outputs <= model.state_dim and _learnt(emission.noise):
        model = eqx.tree_at(lambda m: m.emission.noise, model, Positive.of(unexplained[:outputs] / 3.0))
    return model


def _learnt(noise: PyTree) -> bool:
    return isinstance(noise, Positive) and all(jax.tree.leaves(trainable_mask(noise)))
