"""Methods that hardly learn: what any other has to beat."""

import time
from itertools import pairwise

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.data import Scaler
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.models._subspace import interpolated
from gpssm.predict import ConstantPredictor, RepeatPredictor


class Constant(AbstractMethod):
    """Predict the average of the training outputs, with their spread around it."""

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Mean and standard deviation of each output over all that was observed."""
        began = time.monotonic()
        y = np.concatenate([data.scaler.less_direct(episode).y_with_nan for episode in data.episodes])
        mean, std = np.nanmean(y, axis=0), np.maximum(np.nanstd(y, axis=0), 1e-12)
        system = ConstantPredictor(mean, std, data.channels, scaler=_if_direct(data))
        history = History(float(data.episodes.num_steps), seconds=time.monotonic() - began)
        return Fit.of(system, self, Result.finished, history)


class PreviousEpisode(AbstractMethod):
    """Predict that the last training episode happens again, step by step; for episodes that repeat a task.

    The spread is the root mean square of the differences between consecutive training episodes (of the outputs around
    their mean, where there is only one).
    """

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Keep the last episode."""
        began = time.monotonic()
        filled = [interpolated(data.scaler.less_direct(episode)) for episode in data.episodes]
        if len(filled) == 1:
            std = filled[0].std(axis=0)
        else:
            squares = [(b[: len(a)] - a[: len(b)]) ** 2 for a, b in pairwise(filled)]
            std = np.sqrt(np.concatenate(squares).mean(axis=0))
        system = RepeatPredictor(filled[-1], np.maximum(std, 1e-12), data.channels, scaler=_if_direct(data))
        history = History(float(data.episodes.num_steps), seconds=time.monotonic() - began)
        return Fit.of(system, self, Result.finished, history)


def _if_direct(data: Prepared) -> Scaler | None:
    """Of the units only a direct term matters here."""
    return None if data.scaler.direct is None else data.scaler
