"""The direct input term is found, kept where it helps, and handed to whatever goes on from it."""

import numpy as np
import pytest

import gpssm
from gpssm._core._errors import ResumeError
from gpssm.fitting import Prepared, Run
from gpssm.methods import ARX, BestOf, Constant, Direct, Linear, Mixture, Subspace
from gpssm.methods.linear._direct import direct_term, freed_of
from gpssm.methods.linear._subspace import direct_units
from tests.reference.fitting import learnt

A = np.array([[0.9, 0.2], [-0.2, 0.7]])
B = np.array([[0.5, 0.1], [-0.3, 0.6]])
C = np.array([[1.0, 0.4], [0.2, -1.0]])
D = np.array([[0.8, -0.5], [0.0, 1.5]])


def record(seed: int, steps: int = 300, *, direct: np.ndarray = D, noise: float = 0.05, missing: float = 0.0):
    """Two inputs, two outputs."""
    rng = np.random.default_rng(seed)
    x, u = rng.standard_normal(2), 3.0 + 2.0 * rng.standard_normal((steps, 2))
    y = np.zeros((steps, 2))
    for t in range(steps):
        y[t] = C @ x + direct @ u[t] + 5.0 + noise * rng.standard_normal(2)
        x = A @ x + B @ u[t] + noise * rng.standard_normal(2)
    y[rng.random((steps, 2)) < missing] = np.nan
    return gpssm.Episode(y=y, u=u)


def in_units(scaler: gpssm.Scaler) -> np.ndarray:
    assert scaler.direct is not None
    return scaler.direct * scaler.output_scale[:, None] / scaler.input_scale


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_the_term_of_a_linear_system_is_recovered_from_several_records(missing):
    episodes = gpssm.Episodes([record(0, missing=missing), record(1, 200, missing=missing)])
    system = learnt(episodes, Subspace(2, direct=True))
    # A regression with 500 steps and this noise errs by a few thousandths.
    np.testing.assert_allclose(in_units(system.scaler), D, atol=0.02)
    new = record(2)
    with_it, without = (
        model.simulate(new, n_init=20, num_samples=40, seed=0).median
        for model in (system, learnt(episodes, Subspace(2)))
    )
    errors = [np.sqrt(np.mean((run - new.y[20:]) ** 2)) for run in (with_it, without)]
    assert errors[0] < 0.15 and errors[1] > 4.0 * errors[0]


def test_free_runs_refine_what_an_autoregression_sees():
    """Under so much measurement noise the few lags of the autoregression are not enough."""
    records = [record(seed, 400, noise=1.0) for seed in range(2)]
    scaler = gpssm.Scaler.from_episodes(gpssm.Episodes(records))
    scaled = [scaler.apply(one) for one in records]
    found = direct_term(scaled, (2,)) * scaler.output_scale[:, None] / scaler.input_scale
    np.testing.assert_allclose(found, D, atol=0.12)


def test_it_is_kept_only_where_it_brings_free_runs_closer():
    undecided = Subspace(2, direct=None)
    assert learnt(gpssm.Episodes([record(0)]), undecided).direct is not None
    assert learnt(gpssm.Episodes([record(0, direct=np.zeros((2, 2)))]), undecided).direct is None


@pytest.mark.system
def test_any_method_learns_the_rest():
    """A constant of the rest is a regression of the outputs on the inputs of their own step."""
    episodes = gpssm.Episodes([record(0)])
    made = gpssm.fit(episodes, Constant(), direct=True, progress=gpssm.Silent())
    assert made.method == Direct(Constant())
    assert any("direct input term" in event for event in made.history.events)
    rest = episodes[0].y - (episodes[0].u - made.system.direct.input_mean) @ in_units(made.system.direct).T
    np.testing.assert_allclose(made.system.mean, rest.mean(axis=0))
    np.testing.assert_allclose(made.system.std, rest.std(axis=0))
    linear = learnt(episodes, Linear(2, iterations=20), direct=True)
    run = linear.simulate(record(5), n_init=20, num_samples=40, seed=0)
    assert np.sqrt(np.mean((run.median - record(5).y[20:]) ** 2)) < 0.2


def test_outputs_are_scaled_by_what_the_term_leaves():
    episodes = gpssm.Episodes([record(0)])
    plain = gpssm.Scaler.from_episodes(episodes)
    term = D * plain.input_scale / plain.output_scale[:, None]
    scaler = plain.with_direct(term, episodes)
    np.testing.assert_allclose(in_units(scaler), D)
    rest = scaler.apply(episodes)[0].y
    np.testing.assert_allclose(rest.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rest.std(axis=0), 1.0)
    np.testing.assert_allclose(scaler.undo_mean(rest) + scaler.direct_outputs(episodes[0].u), episodes[0].y)
    again = gpssm.Scaler.from_dict(scaler.to_dict())
    np.testing.assert_array_equal(again.direct, scaler.direct)
    assert "direct" not in plain.to_dict()


def test_outputs_that_are_nothing_but_the_term_leave_no_noise_blown_up():
    u = np.random.default_rng(0).standard_normal((50, 1))
    episodes = gpssm.Episodes([gpssm.Episode(y=2.0 * u + 1.0, u=u)])
    plain = gpssm.Scaler.from_episodes(episodes)
    scaler = plain.with_direct(np.ones((1, 1)), episodes)
    assert np.abs(scaler.apply(episodes)[0].y).max() < 1e-10


@pytest.mark.system
def test_what_goes_on_from_a_fit_keeps_its_term():
    episodes = gpssm.Episodes([record(0, 120)])
    after = learnt(episodes, Direct(Linear(2, iterations=3)).then(Linear(2, iterations=3)))
    assert after.direct is not None
    first = gpssm.fit(episodes, Constant(), progress=gpssm.Silent(), direct=True)
    again = gpssm.fit(episodes, ARX(1), start=first, progress=gpssm.Silent(), direct=True)
    np.testing.assert_array_equal(again.system.direct.direct, first.system.direct.direct)
    plain = gpssm.fit(episodes, Linear(1, iterations=2), progress=gpssm.Silent())
    with pytest.raises(gpssm.DataError, match="no direct input term"):
        gpssm.fit(episodes, ARX(1), start=plain, progress=gpssm.Silent(), direct=True)


@pytest.mark.system
def test_evidences_of_other_outputs_are_not_compared():
    """Scaled by what the term leaves, the rest has another density: the best is found by free runs instead."""
    episodes = gpssm.Episodes([record(0, 160)])
    made = gpssm.fit(
        episodes, BestOf(Linear(2, iterations=5), Direct(Linear(2, iterations=5))), progress=gpssm.Silent()
    )
    assert made.system.direct is not None
    assert any("free runs" in event for event in made.history.events)


def test_methods_that_choose_within_a_fit_choose_with_the_term():
    episodes = gpssm.Episodes([record(0, 160)])
    mixed = learnt(episodes, Mixture({"a": ARX(1), "b": Constant()}), direct=True)
    assert all(member.direct is not None for member in mixed.members)


def test_records_without_inputs_have_no_term():
    silent = gpssm.Episodes([gpssm.Episode(y=np.random.default_rng(0).standard_normal((60, 1)))])
    with pytest.raises(gpssm.DataError, match="needs inputs"):
        learnt(silent, Constant(), direct=True)
    assert learnt(silent, Constant(), direct=None).direct is None


def test_checkpoints_belong_to_fits_with_or_without_it(tmp_path):
    episodes, folder = gpssm.Episodes([record(0, 60)]), gpssm.Checkpoints(tmp_path / "kept")
    gpssm.fit(episodes, Linear(1, iterations=2), checkpoints=folder, progress=gpssm.Silent())
    with pytest.raises(ResumeError, match="method"):
        gpssm.fit(episodes, Linear(1, iterations=2), checkpoints=folder, progress=gpssm.Silent(), direct=True)


def test_units_can_be_handed_to_other_methods():
    episodes = gpssm.Episodes([record(0)])
    data = Prepared.of(episodes)
    scaler, told = direct_units(data, True, Run(), (2,))
    assert told == "direct input term"
    np.testing.assert_allclose(in_units(scaler), D, atol=0.03)
    assert direct_units(data.scaled_by(scaler), None, Run(), (2,)) == (scaler, "")
    assert direct_units(data, False, Run(), (2,)) == (data.scaler, "")


def test_missing_outputs_stay_zero_where_the_term_is_taken_off():
    one = record(0, 30, missing=0.3)
    (rest,) = freed_of(D, [one])
    assert (rest.y[~one.observed] == 0.0).all() and not one.observed.all()
    np.testing.assert_allclose(rest.y[one.observed], (one.y - one.u @ D.T)[one.observed])
