"""The scikit-learn estimator, by scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gpssm
from gpssm.methods import Direct
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


def lagged() -> tuple[np.ndarray, np.ndarray]:
    """A response that the inputs of earlier rows act on."""
    inputs = np.random.default_rng(0).uniform(-1.0, 1.0, size=(60, 1))
    outputs = np.zeros(60)
    for t in range(60):
        outputs[t] = (0.8 * outputs[t - 1] if t else 0.0) + inputs[t, 0]
    return inputs, outputs


@pytest.mark.slow
def test_predicts_a_lagged_response_better_than_the_mean():
    model = GPSSMRegressor(states=1, num_inducing=8, hidden=4, steps=60, iterations=15, random_state=0)
    assert clone(model).fit(*lagged()).score(*lagged()) > 0.5


@pytest.mark.system
def test_any_method_that_learns_a_system():
    model = clone(GPSSMRegressor(method=gpssm.Linear(1, iterations=50), random_state=0))
    assert model.fit(*lagged()).score(*lagged()) > 0.95
    assert model.fit_.method == gpssm.Linear(1, iterations=50)
    assert model.system_ is model.fit_.system
    # The settings of Polished are not used, be they what they may be.
    assert model.set_params(states=9).fit(*lagged()).system_.model.state_dim == 1


@pytest.mark.system
def test_without_a_method_it_is_auto_in_one_try():
    made = tiny().fit(*lagged()).fit_.method
    assert made == gpssm.Polished(1, num_inducing=4, hidden=2, steps=2, iterations=0, network_steps=0, tries=1)


@pytest.mark.parametrize("method", [gpssm.ARX(2), "linear", gpssm.Linear])
def test_what_is_no_method_for_a_system_is_refused(method):
    with pytest.raises(TypeError, match="method="):
        GPSSMRegressor(method=method).fit(*lagged())


def test_a_direct_term_is_refused_because_rows_act_at_once_already():
    X, y = lagged()
    with pytest.raises(ValueError, match="row t acts on row t already"):
        GPSSMRegressor(method=Direct(gpssm.Linear(1, iterations=2))).fit(X, y)
