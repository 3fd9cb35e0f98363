"""Small problems that several processes make alike."""

import jax
import jax.random as jr
import numpy as np
import optax

import gpssm
from gpssm.inference import AbstractInducing, BiRNN, MeanField, MonteCarlo, PerStepStates
from gpssm.models import GPSSM
from gpssm.optimisers import Adam

SLOPE = optax.sgd(1e-2)
"""One step changes the parameters by a hundredth of the gradient, with the minus sign."""
LENGTHS = (12, 9, 12, 7, 11, 12, 5, 8, 12, 10)
"""Ten records: no multiple of eight, nor of three."""


def episodes() -> gpssm.Episodes:
    rng = np.random.default_rng(0)
    return gpssm.Episodes.from_arrays(
        y=[rng.standard_normal((steps, 1)) for steps in LENGTHS],
        u=[rng.standard_normal((steps, 1)) for steps in LENGTHS],
    )


def start(inducing: AbstractInducing, *, network: bool) -> tuple[GPSSM, MeanField]:
    model = GPSSM.from_data(episodes(), state_dim=1, num_inducing=4, key=jr.key(0))
    recognition = (
        BiRNN.from_data(episodes(), state_dim=1, hidden=3, key=jr.key(1))
        if network
        else PerStepStates.from_data(episodes(), state_dim=1)
    )
    return model, MeanField(recognition, inducing, MonteCarlo(1))


def numbers(tree: object) -> np.ndarray:
    """All parameters in a row."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)])


def method(inducing: AbstractInducing) -> gpssm.Variational:
    """One step along the gradient, with a network."""
    model, inference = start(inducing, network=True)
    return gpssm.Variational(model, inference=inference, optimiser=Adam(1, transformation=SLOPE))
