"""A scikit-learn estimator: rows in order are time steps."""

from typing import Any

import numpy as np
from jaxtyping import Float, Float64
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gpssm.data import Episode, Episodes
from gpssm.fitting import AbstractMethod, Silent
from gpssm.methods import Polished, fit
from gpssm.predict import Rollout, System

__all__ = ["GPSSMRegressor"]


# scikit-learn expects its estimators to inherit from these classes; this is the one place in the package that does so.
class GPSSMRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Learn y from X where rows are consecutive time steps of one record.

    Row t of X is what acted on the system between the measurements t - 1 and t, so that y[t] may depend on X[t] and all
    rows before it. `predict` is a free run: it starts where the training record began and sees no outputs. For several
    records, missing outputs, filters and forecasts use `gpssm.fit`; the learnt system is in `system_`, and how it came
    about in `fit_`.

    - `states`: number of hidden states.
    - `method`: a method of gpssm that learns a state-space system, such as `gpssm.Linear(2)`; it brings its own
      settings, and those of `Polished` here are not used. None is `gpssm.Polished`.
    - `num_inducing`, `hidden`, `steps`, `iterations`: as in `gpssm.Polished`.
    - `num_samples`: trajectories that a prediction averages over.
    - `random_state`: a seed, a `numpy.random.RandomState`, or None.
    """

    def __init__(
        self,
        # Any: scikit-learn wants parameters kept as they are given, and judged by `fit`.
        states: Any = 2,
        *,
        method: Any = None,
        num_inducing: Any = 30,
        hidden: Any = 16,
        steps: Any = 400,
        iterations: Any = 100,
        num_samples: Any = 100,
        random_state: Any = None,
    ):
        self.states = states
        self.method = method
        self.num_inducing = num_inducing
        self.hidden = hidden
        self.steps = steps
        self.iterations = iterations
        self.num_samples = num_samples
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's own trials shuffle the rows, which leaves a model of time nothing to learn.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> "GPSSMRegressor":
        """Learn from one record."""
        _check_counts(self)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2)
        outputs = np.asarray(y, dtype=np.float64)
        self._one_output = outputs.ndim == 1
        outputs = outputs[:, None] if self._one_output else outputs
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # The state before the first row is not measured, and no input follows the last one.
        blank = np.full((1, outputs.shape[1]), np.nan)
        record = Episode(y=np.concatenate([blank, outputs]), u=_held(X), name="training rows")
        self.fit_ = fit(Episodes([record]), self._method(), progress=Silent(), seed=self._seed)
        if not isinstance(self.fit_.system, System):
            raise TypeError(
                f"method={self.method!r} learns a {type(self.fit_.system).__name__}, which has no hidden states and "
                "cannot run without past outputs: use a method that learns a gpssm.System"
            )
        self.system_ = self.fit_.system
        smoothed = self.system_.smooth(record)
        self._start = smoothed.means[0], smoothed.chols[0]
        return self

    def predict(self, X: Any) -> Float64[np.ndarray, "..."]:
        """Mean outputs of a free run under the inputs X."""
        mean = self.simulate(X).mean[1:]
        return mean[:, 0] if self._one_output else mean

    def simulate(self, X: Any) -> Rollout:
        """The free run behind `predict`, with samples and bands; its first step is the state before the first row."""
        check_is_fitted(self, "system_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean, chol = self._start
        return self.system_.simulate_from(
            mean, chol=chol, inputs=_held(X), num_samples=self.num_samples, seed=self._seed
        )

    def _method(self) -> AbstractMethod:
        if self.method is not None:
            if not isinstance(self.method, AbstractMethod):
                raise TypeError(f"method={self.method!r} is no method of gpssm: write gpssm.Polished(...), or None")
            return self.method
        return Polished(
            self.states,
            num_inducing=self.num_inducing,
            hidden=self.hidden,
            steps=self.steps,
            iterations=self.iterations,
            network_steps=0,
            tries=1,
        )


def _held(inputs: Float[np.ndarray, "T P"]) -> Float[np.ndarray, "T+1 P"]:
    return np.concatenate([inputs, inputs[-1:]])


def _check_counts(estimator: GPSSMRegressor) -> None:
    smallest = {"states": 1, "num_inducing": 1, "hidden": 1, "steps": 1, "iterations": 0, "num_samples": 1}
    for name, least in smallest.items():
        value = getattr(estimator, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
