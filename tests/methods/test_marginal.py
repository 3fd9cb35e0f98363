"""The method: what it finds on data drawn from a known system, what it says, and what it refuses."""

import numpy as np
import pytest

import gpssm
from gpssm.inference import Collapsed
from gpssm.inference.marginal import NoisePrior
from gpssm.methods import Differences, Marginal, ModelSpec, SubspaceStates
from gpssm.models import JointPosterior, SparseGP
from gpssm.optimisers import LBFGS

PROCESS, NOISE = 0.01, 0.05
QUIET = {"progress": gpssm.Silent(), "seed": 0}


def bent(episodes: int = 40, steps: int = 12) -> gpssm.Episodes:
    """x[t+1] = 1.5 sin(x) + noise, with known noises."""
    rng, found = np.random.default_rng(0), []
    for _ in range(episodes):
        x, y = rng.standard_normal(), []
        for _ in range(steps):
            y.append(x + np.sqrt(NOISE) * rng.standard_normal())
            x = 1.5 * np.sin(1.3 * x) + np.sqrt(PROCESS) * rng.standard_normal()
        found.append(np.asarray(y)[:, None])
    return gpssm.Episodes.from_arrays(y=found)


@pytest.fixture(scope="module")
def found() -> gpssm.Fit:
    return gpssm.fit(bent(), Marginal(ModelSpec(1, num_inducing=12)), **QUIET)


def noises(fit: gpssm.Fit) -> tuple[float, float]:
    """In the units of the data."""
    assert isinstance(fit.system, gpssm.System)
    scale = fit.system.scaler.output_scale[0] ** 2
    model = fit.system.model
    return float(model.transition.noise_variance()[0]) * scale, float(model.emission.noise_variance()[0]) * scale


@pytest.mark.system
def test_noises_come_out_near_the_truth(found: gpssm.Fit):
    process, noise = noises(found)
    assert found.result.good
    # 480 measurements: the exact posterior of the process variance is about a third either way.
    assert 0.5 < process / PROCESS < 2.0
    assert 0.8 < noise / NOISE < 1.25


@pytest.mark.system
def test_the_fit_says_how_far_it_can_be_believed(found: gpssm.Fit):
    told = [event for event in found.history.events if event.startswith("Laplace evidence")]
    assert len(told) == 1 and "12 inducing values for 480 measured numbers" in told[0]


@pytest.mark.system
def test_the_evidence_that_is_told_is_without_the_prior_of_the_noise():
    """What was maximised has that in it, and the bound beside which it stands has not."""
    prior = NoisePrior(share=50.0)
    method = Marginal(ModelSpec(1, num_inducing=8), rounds=1, iterations=5, prior=prior, exact=None)
    made = gpssm.fit(bent(10), method, **QUIET)
    assert isinstance(made.system, gpssm.System)
    believed = float(prior.log_prob(made.system.model)) / 120
    (told,) = [event for event in made.history.events if event.startswith("Laplace evidence")]
    evidence = float(told.removeprefix("Laplace evidence ").split()[0])
    assert believed < -1e-3
    assert evidence == pytest.approx(made.history.bound[-1] - believed, abs=1e-4)


@pytest.mark.system
def test_no_rounds_leave_the_function_and_put_its_covariance_right():
    method = gpssm.Variational(ModelSpec(1, num_inducing=12), q_x=gpssm.PerStep(), q_u=Collapsed(), optimiser=LBFGS(60))
    before = gpssm.fit(bent(), method, **QUIET)
    after = gpssm.fit(bent(), Marginal(rounds=0), start=before, **QUIET)
    assert isinstance(before.system, gpssm.System) and isinstance(after.system, gpssm.System)
    old, new = before.system.model.transition.condition(), after.system.model.transition.condition()
    np.testing.assert_allclose(new.q_mean, old.q_mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(new.noise, old.noise)
    # States that are not known cost information about the function: the posterior is wider, in every direction.
    before_cov, after_cov = (np.asarray(c)[0] @ np.asarray(c)[0].T for c in (old.q_chol, new.q_chol))
    assert np.linalg.slogdet(after_cov)[1] > np.linalg.slogdet(before_cov)[1] + 1.0
    assert after.system.joint is not None and before.system.joint is None


def test_guesses_begin_with_the_outputs_and_have_unit_variance():
    rng = np.random.default_rng(0)
    data = gpssm.Episodes.from_arrays(y=[rng.standard_normal((30, 2)).cumsum(axis=0) for _ in range(2)])
    prepared = gpssm.fitting.Prepared.of(data)
    for count in (4, 5):
        states = np.concatenate(Differences().states(prepared, count))
        assert states.shape == (60, count)
        np.testing.assert_allclose(states[:, :2], np.concatenate([e.y for e in prepared.scaled]))
        np.testing.assert_allclose(states[:, 2:].std(axis=0), 1.0, atol=0.15)
    first = Differences().states(prepared, 4)[0]
    by_hand = (prepared.scaled[0].y[2:] - prepared.scaled[0].y[:-2]) / 2.0
    assert np.corrcoef(first[1:-1, 2], by_hand[:, 0])[0, 1] > 0.999
    assert np.concatenate(SubspaceStates().states(prepared, 3)).shape == (60, 3)


def test_what_cannot_work_is_refused():
    with pytest.raises(gpssm.DataError, match="no model to start from"):
        gpssm.fit(bent(2), Marginal(), **QUIET)
    linear = gpssm.fit(bent(2), gpssm.Linear(1, iterations=2), **QUIET)
    with pytest.raises(gpssm.DataError, match="integrates over a GP"):
        gpssm.fit(bent(2), Marginal(), start=linear, **QUIET)
    with pytest.raises(ValueError, match="rounds=-1"):
        Marginal(ModelSpec(1), rounds=-1)


@pytest.mark.system
def test_inducing_inputs_are_placed_by_the_first_regression_and_then_held():
    rng = np.random.default_rng(1)
    u, y = rng.standard_normal((6, 20, 1)), np.zeros((6, 20, 1))
    for t in range(19):
        y[:, t + 1] = 0.6 * y[:, t] + np.sin(2.0 * u[:, t]) + 0.1 * rng.standard_normal((6, 1))
    data = gpssm.Episodes.from_arrays(y=list(y + 0.1 * rng.standard_normal(y.shape)), u=list(u))

    def inducing(rounds: int, move: bool | None) -> np.ndarray:
        method = Marginal(ModelSpec(1, num_inducing=8), rounds=rounds, iterations=4, draws=0, move_inducing=move)
        system = gpssm.fit(data, method, **QUIET).system
        assert isinstance(system, gpssm.System) and isinstance(system.model.transition, SparseGP)
        assert isinstance(system.joint, JointPosterior) and system.joint.residual == (not move)
        return np.asarray(system.model.transition.inducing)

    placed = inducing(0, None)
    np.testing.assert_array_equal(inducing(1, None), placed)
    assert np.abs(inducing(1, True) - placed).max() > 1e-3
    # Where they may not even be placed, they are where the model was built.
    unmoved = inducing(0, False)
    np.testing.assert_array_equal(inducing(1, False), unmoved)
    assert np.abs(unmoved - placed).max() > 1e-3


@pytest.mark.system
def test_too_many_inducing_values_are_said():
    fit = gpssm.fit(bent(3, 8), Marginal(ModelSpec(1, num_inducing=15), rounds=1, iterations=3, draws=2), **QUIET)
    assert any("more than half of the 24 measured numbers" in event for event in fit.history.events)
