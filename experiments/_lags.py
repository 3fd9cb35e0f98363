"""How many lags an autoregression should have, as training data see it."""

from collections.abc import Mapping
from dataclasses import replace

import jax

import gpssm
from experiments._learn import learn
from gpssm.methods import GPNARX
from gpssm.predict import Autoregression

EVIDENCE = (
    "lags, from one to as many as samples are read, chosen for each case, training size, kernel and seed by the "
    "evidence of exact GPs on the training trials, with the same targets for all of them"
)


def same_targets(train: gpssm.Episodes, lags: int, most: int) -> gpssm.Episodes:
    """The trials from where a model with so many lags explains the samples after the first `most`."""
    return gpssm.Episodes([run[most - lags :] for run in train])


def evidence(train: gpssm.Episodes, method: GPNARX, most: int, *, key: jax.Array) -> float:
    """Of the samples after the first `most` of each trial, in the same units whatever the lags; from one start."""
    scaler = gpssm.Scaler.from_episodes(train)
    shown = same_targets(train, method.output_lags, most)
    found = learn(shown, replace(method, restarts=1), scaler=scaler, key=key).system
    assert isinstance(found, Autoregression)
    return found.log_evidence


def best_lags(train: gpssm.Episodes, candidates: Mapping[int, GPNARX], *, key: jax.Array) -> str:
    """The number of lags under which the same targets are likeliest."""
    if len(candidates) == 1:
        return str(next(iter(candidates)))
    found = {lags: evidence(train, method, max(candidates), key=key) for lags, method in candidates.items()}
    print("    " + ", ".join(f"{lags} lags: {value:.1f}" for lags, value in found.items()), flush=True)
    return str(max(found, key=lambda lags: found[lags]))
