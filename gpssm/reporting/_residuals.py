"""Tests on one-step errors: is anything predictable left in them?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from gpssm.data import Episodes
from gpssm.metrics import IndependenceResult, WhitenessResult, input_independence, residual_whiteness
from gpssm.predict import Rollout

LAGS = 25


@final
@dataclass(frozen=True, eq=False)
class ResidualTests:
    """One-step errors in units of their predicted standard deviation, and what they still depend on."""

    residuals: tuple[Float[np.ndarray, "_ O"], ...]
    """One array for each record; NaN where nothing was measured."""
    start: int
    lags: int
    whiteness: WhitenessResult | None
    """None if there are too few steps to test."""
    independence: IndependenceResult | None
    """None without inputs that vary, or with too few steps."""
    tested_inputs: tuple[int, ...]
    """The inputs that vary over the held-out records; a constant one has no correlations."""
    coloured: bool
    """Whether the bounds of the input test allow for coloured residuals, because the first test found them so."""


def residual_tests(predictions: Sequence[Rollout], episodes: Episodes) -> ResidualTests:
    """Whiteness and input independence over all records, with no pair of steps taken across the border of two."""
    residuals = []
    for rollout, episode in zip(predictions, episodes, strict=True):
        steps = slice(rollout.start, rollout.start + len(rollout))
        with np.errstate(all="ignore"):  # what is not finite is left out
            errors = (episode.y[steps] - rollout.mean) / rollout.std
        residuals.append(np.where(episode.observed[steps] & np.isfinite(errors), errors, np.nan))
    lags = min(LAGS, min(len(r) for r in residuals) // 4)
    whiteness = _whiteness(residuals, lags)
    coloured = whiteness is not None and not whiteness.passed
    inputs = [episode.u[r.start : r.start + len(r)] for r, episode in zip(predictions, episodes, strict=True)]
    varying = tuple(i for i in range(episodes.num_inputs) if np.ptp(np.concatenate(inputs)[:, i]) > 0.0)
    independence = None
    if varying:
        independence = _independence(residuals, [u[:, varying] for u in inputs], lags, coloured)
    return ResidualTests(
        residuals=tuple(residuals),
        start=predictions[0].start,
        lags=lags,
        whiteness=whiteness,
        independence=independence,
        tested_inputs=varying,
        coloured=coloured,
    )


def _whiteness(residuals: list[np.ndarray], lags: int) -> WhitenessResult | None:
    # Between records lie as many unscored steps as there are lags: pairs across a border would touch one.
    gap = np.full((lags, residuals[0].shape[1]), np.nan)
    joined = np.concatenate([part for r in residuals for part in (r, gap)])
    scored = np.isfinite(joined)
    enough = lags >= 1 and all(_testable(joined[rows, i]) for i, rows in enumerate(scored.T))
    enough = enough and all((scored[:-k] & scored[k:]).any(axis=0).all() for k in range(1, lags + 1))
    return residual_whiteness(joined, lags=lags, where=scored) if enough else None


def _independence(
    residuals: list[np.ndarray], inputs: list[np.ndarray], lags: int, coloured: bool
) -> IndependenceResult | None:
    # The test looks back over `lags` inputs; the first steps of a record would look back into the one before.
    parts = [np.where((np.arange(len(r)) >= lags)[:, None], r, np.nan) for r in residuals]
    joined, controls = np.concatenate(parts), np.concatenate(inputs)
    scored = np.isfinite(joined)
    regressors = controls.shape[1] * (lags + 1)
    if lags < 1 or np.any(scored.sum(axis=0) < regressors + 10) or not _inputs_vary(controls, scored, lags):
        return None
    order = min(lags, 10) if coloured else 0
    return input_independence(joined, controls, lags=lags, residual_order=order, where=scored)


def _inputs_vary(controls: np.ndarray, scored: Bool[np.ndarray, "T O"], lags: int) -> bool:
    steps = len(controls)
    for rows in scored[lags:].T:
        for lag in range(lags + 1):
            if np.any(np.ptp(controls[lags - lag : steps - lag][rows], axis=0) == 0.0):
                return False
    return True


def _testable(values: np.ndarray) -> bool:
    return len(values) >= 20 and bool(np.ptp(values) > 0.0)
