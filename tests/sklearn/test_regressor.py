"""The scikit-learn estimator, by scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpssm.sklearn import GPSSMRegressor

IMPOSSIBLE = {
    "check_methods_sample_order_invariance": "rows are time steps: in another order they are another record",
    "check_methods_subset_invariance": "rows are time steps: what happened before a row matters to it",
}
"""What no model of time series can pass, and why."""


def tiny() -> GPSSMRegressor:
    return GPSSMRegressor(states=1, num_inducing=4, hidden=2, steps=2, iterations=0, num_samples=4, random_state=0)


def _expected(estimator: GPSSMRegressor) -> dict[str, str]:
    return IMPOSSIBLE


@pytest.mark.slow
@parametrize_with_checks([tiny()], expected_failed_checks=_expected)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("name", "value"), [("states", 0), ("steps", 1.5), ("hidden", "wide"), ("iterations", -1)])
def test_bad_parameters_are_refused_by_fit(name: str, value: object):
    with pytest.raises(ValueError, match=name):
        tiny().set_params(**{name: value}).fit(np.zeros((5, 1)), np.arange(5.0))


@pytest.mark.slow
def test_predicts_a_lagged_response_better_than_the_mean():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1.0, 1.0, size=(60, 1))
    outputs = np.zeros(60)
    for t in range(60):
        outputs[t] = (0.8 * outputs[t - 1] if t else 0.0) + inputs[t, 0]
    model = GPSSMRegressor(states=1, num_inducing=8, hidden=4, steps=60, iterations=15, random_state=0)
    assert clone(model).fit(inputs, outputs).score(inputs, outputs) > 0.5
