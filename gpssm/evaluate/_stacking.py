"""Stacking: how much of each candidate a mixture should hold, and how wide it should be, by what was held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm.evaluate._held_out import HeldOut

ITERATIONS = 300
"""Of expectation and maximisation, which from equal weights ends within log(K) / 300 nats a step of the optimum."""
ENOUGH = 1000
"""Steps of a fold. Of longer ones every second, third, ... is taken: neighbours say nearly the same."""
FACTORS = 2.0 ** (np.arange(-8, 9) / 4.0)
"""Widths that are tried, in units of the members' own. Averages over draws lie between them."""


@final
@dataclass(frozen=True)
class Shares:
    """What `Selection.stacked` recommends."""

    shares: dict[str, float]
    """Of each candidate; they sum to one."""
    width: float
    """Factor for the spread of each member around its own median.

    Members whose own bands are right make a mixture whose bands are too wide, because these hold the members'
    disagreement as well (Gneiting and Ranjan, 2013): there the factor is below one.
    """

    def above(self, smallest: float) -> dict[str, float]:
        """The shares of those that are worth a fit."""
        return {name: share for name, share in self.shares.items() if share >= smallest}


def stack(
    folds: Sequence[Sequence[Sequence[HeldOut]]], *, draws: int, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, " K"], float]:
    """Weights and width with which the mixture makes what was held out most likely. Of each fold, for each candidate,
    the runs of all its seeds.

    A mixture has one fit of each candidate: the first seeds make one, the second ones another, and so on, each judged
    by itself. A few folds may favour a candidate by chance: weights, and the logarithm of the width, are averaged over
    `draws` of a Bayesian bootstrap, in which the folds count differently each time.
    """
    importance = np.asarray(jr.dirichlet(key, np.ones(len(folds)), (draws,)))
    trials = [stacking_weights([_log_densities(fold, factor) for fold in folds], importance) for factor in FACTORS]
    best = np.argmax([value for _, value in trials], axis=0)
    weights = np.stack([trials[i][0][draw] for draw, i in enumerate(best)])
    return weights.mean(axis=0), float(np.exp(np.log(FACTORS[best]).mean()))


def stacking_gain(folds: Sequence[Sequence[Sequence[HeldOut]]], alone: int, *, draws: int, key: PRNGKeyArray) -> float:
    """By how many nats a step a fold is likelier under the mixture that the other folds ask for than under one
    candidate alone, at the width that they ask for; on average over folds, of which two at least are needed."""
    single = [[fold[alone]] for fold in folds]
    gains = []
    for i in range(len(folds)):
        mixture, one = (
            _of_a_fold(parts[i], *stack([*parts[:i], *parts[i + 1 :]], draws=draws, key=key))
            for parts in (list(folds), single)
        )
        gains.append(mixture - one)
    return float(np.mean(gains))


def _of_a_fold(fold: Sequence[Sequence[HeldOut]], weights: Float[np.ndarray, " K"], width: float) -> float:
    """Log-density of a step of it under a mixture."""
    parts = _log_densities(fold, width)
    largest = parts.max(axis=0)
    return float(np.mean(np.log(weights @ np.exp(parts - largest)) + largest))


def stacking_weights(
    log_densities: Sequence[Float[np.ndarray, "K _"]], importance: Float[np.ndarray, "B F"]
) -> tuple[Float[np.ndarray, "B K"], Float[np.ndarray, " B"]]:
    """For each row of `importance`, the weights of K candidates that make the samples of all folds most likely, and the
    log-density of a sample with them. A fold counts as much as its importance says, whatever its length."""
    if not all(part.size and np.isfinite(part.max(axis=0)).all() for part in log_densities):
        raise ValueError("every fold must have steps, and every step a finite density under one candidate at least")
    largest = np.concatenate([part.max(axis=0) for part in log_densities])
    likely = np.exp(np.concatenate(log_densities, axis=1) - largest).T
    lengths = np.asarray([part.shape[1] for part in log_densities])
    rows = np.repeat(importance / lengths, lengths, axis=1)
    weights = np.full((len(rows), likely.shape[1]), 1.0 / likely.shape[1])
    for _ in range(ITERATIONS):
        weights = weights * ((rows / (weights @ likely.T)) @ likely)
    return weights, (rows * (np.log(weights @ likely.T) + largest)).sum(axis=1)


def _log_densities(fold: Sequence[Sequence[HeldOut]], factor: float) -> Float[np.ndarray, "K N"]:
    """Of all candidates in all held-out steps, seed after seed. Who was fitted with fewer seeds takes part again."""
    seeds = range(max(len(runs) for runs in fold))
    found = [np.stack([runs[seed % len(runs)].log_densities(factor) for runs in fold]) for seed in seeds]
    return np.concatenate([part[:, :: 1 + part.shape[1] // ENOUGH] for part in found], axis=1)
