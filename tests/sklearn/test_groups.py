"""Groups of rows are records: none of them is joined to another, whatever scikit-learn does with the rows."""

import warnings

import numpy as np
import pytest

import gpssm
from gpssm.sklearn import GPSSMRegressor
from gpssm.sklearn._rows import common_start, numbers, record, runs, warn_of_jumps

LABELS = ["b", "b", "b", "a", "a", "c"]


def test_each_run_of_a_label_is_a_record():
    assert [(name, rows.start, rows.stop) for name, rows in runs(LABELS, 6)] == [
        ("group b", 0, 3),
        ("group a", 3, 5),
        ("group c", 5, 6),
    ]
    assert [(rows.start, rows.stop) for _, rows in runs(None, 6)] == [(0, 6)]


def test_a_group_that_comes_back_is_refused():
    with pytest.raises(ValueError, match="group 1 comes back at row 4; sort"):
        list(runs([1, 1, 2, 2, 1], 5))
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\), but there are 5 rows"):
        list(runs([1, 1, 2], 5))


def test_missing_outputs_are_missing_and_not_refused():
    X, y = np.ones((4, 1)), np.array([1.0, np.nan, 3.0, 4.0])
    checked = numbers(GPSSMRegressor(), X, y)
    made = record(checked[0], checked[1][:, None], "rows")
    np.testing.assert_array_equal(made.observed[:, 0], [False, True, False, True, True])
    for bad in (np.array([1.0, np.inf, 3.0, 4.0]), np.ones(3), np.array(["a", "b", "c", "d"])):
        with pytest.raises(ValueError, match=r"y|samples|could not convert"):
            numbers(GPSSMRegressor(), X, bad)
    with pytest.raises(ValueError, match="X contains NaN"):
        numbers(GPSSMRegressor(), np.full((4, 1), np.nan), np.ones(4))


def test_a_frame_whose_index_jumps_is_warned_about():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"u": np.arange(10.0)})
    with pytest.warns(UserWarning, match=r"rows 2 and 3 of X .* \(their index is 2 and 6; 1 such place"):
        warn_of_jumps(frame.iloc[[0, 1, 2, 6, 7]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_jumps(frame.iloc[3:8])
        warn_of_jumps(frame.to_numpy())


def test_the_start_of_several_records_is_that_of_their_mixture():
    rng = np.random.default_rng(0)
    means, chols = rng.standard_normal((3, 2)), np.tril(rng.standard_normal((3, 2, 2))) + 2.0 * np.eye(2)
    blank = np.zeros((1, 1))
    States = gpssm.predict.States
    mean, chol = common_start([States(m[None], c[None], blank, blank) for m, c in zip(means, chols, strict=True)])
    # Moments by drawing from the mixture.
    which = rng.integers(3, size=400_000)
    drawn = means[which] + np.einsum("nij,nj->ni", chols[which], rng.standard_normal((400_000, 2)))
    np.testing.assert_allclose(mean, drawn.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(chol @ chol.T, np.cov(drawn.T), atol=0.08)


def lagged(starts: list[float], rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records of y[t] = 0.9 y[t - 1] + u[t] that start far from each other."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1.0, 1.0, size=(len(starts), rows, 1))
    outputs = np.zeros((len(starts), rows))
    for i, start in enumerate(starts):
        value = start
        for t in range(rows):
            value = outputs[i, t] = 0.9 * value + inputs[i, t, 0]
    return inputs.reshape(-1, 1), outputs.reshape(-1), np.repeat(np.arange(len(starts)), rows)


@pytest.mark.system
def test_groups_are_learnt_from_as_records():
    """The same bits as a fit to the records themselves; joined end to end the jumps are learnt, too."""
    X, y, groups = lagged([8.0, 8.0, 8.0, 8.0], 30)
    y[5] = np.nan
    method = gpssm.Linear(1, iterations=30)
    model = GPSSMRegressor(method=method, random_state=0).fit(X, y, groups=groups)
    apart = [record(X[groups == g], y[groups == g][:, None], f"group {g}") for g in range(4)]
    direct = gpssm.fit(gpssm.Episodes(apart), method, progress=gpssm.Silent(), seed=model._seed).system
    for name in ("state_matrix", "control_matrix", "offset"):
        learnt, expected = (getattr(s.model.transition.mean, name) for s in (model.system_, direct))
        np.testing.assert_array_equal(learnt, expected)
    joined = GPSSMRegressor(method=method, random_state=0).fit(X, y)
    assert model.score(X, y, groups=groups) > 0.98
    assert model.score(X, y, groups=groups) > joined.score(X, y) + 0.05
    # A free run begins anew with each group.
    again = model.predict(np.concatenate([X[:30], X[:30]]), groups=[0] * 30 + [1] * 30)
    np.testing.assert_array_equal(again[:30], again[30:])
    np.testing.assert_array_equal(again[:30], model.predict(X[:30]))


@pytest.mark.system
def test_cross_validation_by_groups_passes_them_on():
    """With scikit-learn's routing each fit and each score sees the groups of its rows."""
    import sklearn
    from sklearn.model_selection import GroupKFold, cross_validate

    X, y, groups = lagged([8.0, 8.0, 8.0, 8.0], 30)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GPSSMRegressor(method=gpssm.Linear(1, iterations=30), random_state=0)
        model = model.set_fit_request(groups=True).set_score_request(groups=True)
        # The splitter takes groups by itself.
        found = cross_validate(model, X, y, params={"groups": groups}, cv=GroupKFold(4), error_score="raise")
    assert (found["test_score"] > 0.95).all()
