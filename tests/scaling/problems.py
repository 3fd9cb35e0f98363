"""Small problems that several processes make alike."""

import jax
import jax.random as jr
import numpy as np
import optax

import gpssm

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


def start(inducing: gpssm.Explicit | gpssm.Collapsed, *, network: bool) -> tuple[gpssm.GPSSM, gpssm.MeanField]:
    model = gpssm.GPSSM.from_data(episodes(), state_dim=1, num_inducing=4, key=jr.key(0))
    recognition = (
        gpssm.BiRNN.from_data(episodes(), state_dim=1, hidden=3, key=jr.key(1))
        if network
        else gpssm.PerStepStates.from_data(episodes(), state_dim=1)
    )
    return model, gpssm.MeanField(recognition, inducing, gpssm.MonteCarlo(1))


def numbers(tree: object) -> np.ndarray:
    """All parameters in a row."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)])
