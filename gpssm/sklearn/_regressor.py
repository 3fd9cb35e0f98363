"""A scikit-learn estimator: rows in order are time steps, and groups are records."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gpssm.data import Episodes
from gpssm.fitting import AbstractMethod, Silent
from gpssm.methods import Polished, fit
from gpssm.predict import Rollout, System
from gpssm.sklearn._rows import common_start, held, numbers, record, runs, warn_of_jumps


# scikit-learn expects its estimators to inherit from these classes; this is the one place in the package that does so.
class GPSSMRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Learn y from X where rows are consecutive time steps of one record, or of several told apart by `groups`.

    Row t of X is what acted on the system between the measurements t - 1 and t, so that y[t] may depend on X[t] and all
    rows before it in its group. NaN in y is a missing measurement. `predict` is a free run: it starts where the
    training records began and sees no outputs. For filters and forecasts use `gpssm.fit`; the learnt system is in
    `system_`, and how it came about in `fit_`.

    Rows of several records without `groups` would be joined end to end, and the jumps between them learnt: with
    `GroupKFold` and the like give the groups to `fit` as well (`set_fit_request(groups=True)` with metadata routing).
    Frames whose index jumps are warned about.

    - `states`: number of hidden states.
    - `method`: a method of gpssm that learns a state-space system, such as `gpssm.Linear(2)`; it brings its own
      settings, and those of `Polished` here are not used. None is `gpssm.Polished`.
    - `num_inducing`, `hidden`, `steps`, `iterations`: as in `gpssm.Polished`.
    - `num_samples`: trajectories of which a prediction is the median.
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

    def fit(self, X: Any, y: Any, groups: Any = None) -> "GPSSMRegressor":
        """Learn from one record, or from one for each run of equal `groups`."""
        _check_counts(self)
        if groups is None:
            warn_of_jumps(X)
        self._targets = _targets(y)
        X, y = numbers(self, X, y)
        self._one_output = y.ndim == 1
        outputs = y[:, None] if self._one_output else y
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        records = Episodes(record(X[rows], outputs[rows], label) for label, rows in runs(groups, len(X)))
        self.fit_ = fit(records, self._method(), progress=Silent(), seed=self._seed)
        if not isinstance(self.fit_.system, System):
            raise TypeError(
                f"method={self.method!r} learns a {type(self.fit_.system).__name__}, which has no hidden states and "
                "cannot run without past outputs: use a method that learns a gpssm.System"
            )
        if self.fit_.system.direct is not None:
            raise ValueError(
                f"method={self.method!r}: a direct input term would let row t + 1 of X act on row t of y, because "
                "row t acts on row t already: leave it out"
            )
        self.system_ = self.fit_.system
        self._start = common_start([self.system_.smooth(record) for record in records])
        return self

    def predict(self, X: Any, groups: Any = None) -> Float64[np.ndarray, "..."]:
        """Median outputs of a free run under the inputs X, begun anew with each run of equal `groups`.

        `simulate(X)` has mean, samples and bands.
        """
        check_is_fitted(self, "system_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        median = np.concatenate([self._run(X[rows]).median[1:] for _, rows in runs(groups, len(X))])
        return median[:, 0] if self._one_output else median

    def simulate(self, X: Any) -> Rollout:
        """The free run behind `predict`, with samples and bands; its first step is the state before the first row."""
        check_is_fitted(self, "system_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._run(np.asarray(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """R squared of `predict` over the rows in which every output was measured."""
        if _targets(y) is not None and self._targets is not None and _targets(y) != self._targets:
            raise ValueError(f"y has the columns {_targets(y)}, but was fitted with {self._targets}")
        predicted, y = self.predict(X, groups), np.asarray(y, dtype=np.float64)
        measured = ~np.isnan(y.reshape(len(y), -1)).any(axis=1)
        weight = None if sample_weight is None else np.asarray(sample_weight)[measured]
        return float(r2_score(y[measured], predicted[measured], sample_weight=weight))

    def _run(self, X: Float64[np.ndarray, "T P"]) -> Rollout:
        mean, chol = self._start
        return self.system_.simulate_from(
            mean, chol=chol, inputs=held(X), num_samples=self.num_samples, seed=self._seed
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


def _targets(y: Any) -> list[str] | None:
    """The names of outputs that come in a frame."""
    columns = getattr(y, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _check_counts(estimator: GPSSMRegressor) -> None:
    smallest = {"states": 1, "num_inducing": 1, "hidden": 1, "steps": 1, "iterations": 0, "num_samples": 1}
    for name, least in smallest.items():
        value = getattr(estimator, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
