"""Stacking: how much of each candidate a mixture should hold, judged by what was held out."""

import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray

ITERATIONS = 300
"""Of expectation and maximisation, which from equal weights ends within log(K) / 300 nats a step of the optimum."""


def stacking_weights(
    log_densities: list[Float[np.ndarray, "K _"]], *, draws: int, key: PRNGKeyArray
) -> Float[np.ndarray, " K"]:
    """Weights with which the mixture of K candidates makes the held-out samples of all folds most likely.

    Every fold counts the same, whatever its length. A few folds may favour a candidate by chance: the weights are
    averaged over `draws` of a Bayesian bootstrap, in which the folds count differently each time.
    """
    if not all(part.size and np.isfinite(part.max(axis=0)).all() for part in log_densities):
        raise ValueError("every fold must have steps, and every step a finite density under one candidate at least")
    likely = np.concatenate([np.exp(part - part.max(axis=0)) for part in log_densities], axis=1).T
    fold = np.repeat(np.arange(len(log_densities)), [part.shape[1] for part in log_densities])
    lengths = np.bincount(fold)
    importance = np.asarray(jr.dirichlet(key, np.ones(len(log_densities)), (draws,)))
    rows = (importance / lengths[None, :])[:, fold]
    weights = np.full((draws, likely.shape[1]), 1.0 / likely.shape[1])
    for _ in range(ITERATIONS):
        weights = weights * ((rows / (weights @ likely.T)) @ likely)
    return weights.mean(axis=0)
