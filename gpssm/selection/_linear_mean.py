"""A linear mean function from the states that a GPSSM starts from."""

import jax.numpy as jnp
import numpy as np

from gpssm._guess import latent_guess
from gpssm._precision import double_precision
from gpssm.data import Episodes, Scaler
from gpssm.transition import LinearMean


@double_precision
def identified_linear_mean(episodes: Episodes, states: int) -> LinearMean:
    """Least squares on the states that a GPSSM starts from; the GP then models what a linear system misses."""
    scaled = Scaler.from_episodes(episodes).apply(episodes)
    guess = latent_guess(scaled, states)
    ones = [np.ones((len(x) - 1, 1)) for x in guess]
    rows = np.concatenate(
        [np.concatenate([x[:-1], e.u[:-1], one], axis=1) for x, e, one in zip(guess, scaled, ones, strict=True)]
    )
    following = np.concatenate([x[1:] for x in guess])
    found = np.linalg.solve(rows.T @ rows + 1e-6 * len(rows) * np.eye(rows.shape[1]), rows.T @ following)
    return LinearMean(jnp.asarray(found[:states].T), jnp.asarray(found[states:-1].T), jnp.asarray(found[-1]))
