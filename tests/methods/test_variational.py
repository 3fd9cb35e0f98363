"""The variational method: its axes combine, it goes on from earlier fits, and its key decides everything."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm._core._params import Positive, cast
from gpssm.fitting._method import split_key
from gpssm.inference import BiRNN, Explicit, MeanField, MonteCarlo, PerStepStates
from gpssm.methods import ModelSpec, Network, PerStep, Restarts, SubspaceMean, Variational
from gpssm.models import GPSSM, LinearGaussian, LinearMean, LinearTransition
from gpssm.optimisers import LBFGS, Adam
from tests.optimisers.small_task import EVERY, OPTIMISER, equal, finite, small_episodes, small_task

SPEC = ModelSpec(1, num_inducing=5)
NETWORK = Variational(SPEC, q_x=Network(3), optimiser=Adam(EVERY, transformation=OPTIMISER))
POLISH = Variational(q_x=PerStep(), optimiser=LBFGS(5))
QUIET = {"progress": gpssm.Silent(), "seed": 4}


@pytest.fixture(scope="module")
def records() -> gpssm.Episodes:
    return small_episodes((12, 9, 12), seed=0)


@pytest.fixture(scope="module")
def network(records) -> gpssm.Fit:
    return gpssm.fit(records, NETWORK, **QUIET)


@pytest.fixture(scope="module")
def polished(records, network) -> gpssm.Fit:
    return gpssm.fit(records, POLISH, start=network, **QUIET)


def test_it_trains_with_its_third_key_and_nothing_else_is_between(records):
    """So that what a method does can be repeated with the optimiser alone, to the bit."""
    task = small_task()
    method = Variational(task.model, inference=task.inference, optimiser=task.adam(2 * EVERY))
    made = gpssm.fit(records, method, progress=gpssm.Silent(), key=jr.key(6))
    alone = task.train(task.adam(2 * EVERY), key=split_key(jr.key(6))[2])
    assert equal(made.system.model, alone.model)
    assert equal(made.inference, alone.inference)
    np.testing.assert_array_equal(made.history.bound, alone.history.bound)


@pytest.mark.system
def test_a_network_reads_records_and_states_at_each_step_do_not(network, polished):
    assert isinstance(network.system.recognition, BiRNN)
    assert isinstance(polished.inference.recognition, PerStepStates)
    assert polished.system.recognition is None


@pytest.mark.system
def test_going_on_starts_at_the_earlier_model_and_its_states(records, network, polished):
    """The first bound of the polish is that of the network's states with exact expectations: higher than where a fit
    from the data begins."""
    anew = gpssm.fit(records, Variational(SPEC, q_x=PerStep(), optimiser=LBFGS(5)), **QUIET)
    steps = len(network.history.bound)
    assert len(polished.history.bound) == steps + 5, "the history of the earlier fit comes first"
    assert polished.history.bound[steps] > anew.history.bound[0]
    assert polished.history.bound[-1] > polished.history.bound[steps]
    assert polished.system.scaler is network.system.scaler


@pytest.mark.system
def test_the_network_of_the_earlier_fit_follows_if_asked_to(records, network):
    follow = Variational(q_x=PerStep(), optimiser=LBFGS(5), distil=EVERY)
    made = gpssm.fit(records, follow, start=network, **QUIET)
    assert isinstance(made.system.recognition, BiRNN)
    assert not equal(made.system.recognition, network.system.recognition), "it has learnt"
    assert isinstance(made.inference.recognition, PerStepStates), "but the states are those of the polish"


@pytest.mark.system
def test_then_is_the_same_as_start(records, network, polished):
    """But for the key, which quadrature does not use."""
    both = gpssm.fit(records, NETWORK.then(POLISH), **QUIET)
    assert equal(both.system.model, polished.system.model)
    np.testing.assert_array_equal(both.history.bound, polished.history.bound)


@pytest.mark.system
def test_a_network_of_the_earlier_fit_is_trained_on(records, network):
    made = gpssm.fit(records, Variational(q_x=Network(3), optimiser=NETWORK.optimiser), start=network, **QUIET)
    steps = len(network.history.bound)
    assert made.history.bound[steps:].mean() > network.history.bound[:20].mean()


def test_without_a_model_there_is_nothing_to_start_from(records):
    with pytest.raises(gpssm.DataError, match=r"give ModelSpec\(states=\.\.\.\), or an earlier fit"):
        gpssm.fit(records, Variational(), **QUIET)


def test_another_number_of_states_than_the_earlier_fit_has_is_refused(records, network):
    with pytest.raises(gpssm.DataError, match="the earlier fit has 1 states and this method asks for 2"):
        gpssm.fit(records, Variational(ModelSpec(2)), start=network, **QUIET)


@pytest.mark.system
def test_what_is_frozen_stays(records, network):
    held = Variational(optimiser=NETWORK.optimiser, freeze=lambda model, inference: model.transition.kernels)
    made = gpssm.fit(records, held, start=network, **QUIET)
    assert equal(made.system.model.transition.kernels, network.system.model.transition.kernels)
    assert not equal(made.system.model.transition.inducing, network.system.model.transition.inducing)


def test_a_linear_model_can_be_fitted_without_a_network(records):
    """A transition without q(u) goes through the same door."""
    mean = LinearMean(jnp.full((1, 1), 0.5), jnp.zeros((1, 1)), jnp.zeros(1))
    transition = LinearTransition(mean, Positive.of(jnp.full(1, 0.1)))
    model = cast(GPSSM(transition, LinearGaussian.first_states(1, 1, noise=0.1), 1), np.float64)
    longer = small_episodes((30, 22, 30), seed=0)
    made = gpssm.fit(longer, Variational(model, q_x=PerStep(), optimiser=LBFGS(100)), **QUIET)
    assert made.result.good
    assert made.history.bound[-1] > made.history.bound[0]
    assert float(made.system.model.transition.mean.state_matrix[0, 0]) == pytest.approx(0.7, abs=0.1)
    assert made.system.recognition is None


def test_records_of_other_channels_than_the_scaler_are_refused(network):
    rng = np.random.default_rng(0)
    other = gpssm.Episodes.from_arrays(y=rng.standard_normal((12, 2)), u=rng.standard_normal((12, 1)))
    with pytest.raises(gpssm.DataError, match="outputs"):
        gpssm.fit(other, Variational(network.system.model), scaler=network.system.scaler, **QUIET)


def test_a_mean_function_from_the_data_is_the_linear_map_between_first_states(records):
    from gpssm.fitting import Prepared

    data = Prepared.of(records)
    model = ModelSpec(1, num_inducing=5, mean=SubspaceMean()).build(data, key=jr.key(0))
    states, inputs = data.states(1), [episode.u for episode in data.scaled]
    rows = np.concatenate([np.c_[x[:-1], u[:-1], np.ones(len(x) - 1)] for x, u in zip(states, inputs, strict=True)])
    following = np.concatenate([x[1:] for x in states])
    (a,), (b,), (c,) = np.linalg.lstsq(rows, following, rcond=None)[0]
    mean = model.transition.mean
    found = float(mean.state_matrix[0, 0]), float(mean.control_matrix[0, 0]), float(mean.offset[0])
    np.testing.assert_allclose(found, (a, b, c), atol=1e-4)


@pytest.mark.system
def test_restarts_keep_the_highest_bound(records, network):
    made = gpssm.fit(records, Restarts(NETWORK, 3), **QUIET)
    bounds = [part.bound for part in made.parts]
    assert len(set(bounds)) == 3, "each seed ends elsewhere"
    best = made.parts[int(np.argmax(bounds))]
    assert equal(made.system.model, best.system.model) and made.bound == max(bounds)
    assert equal(made.parts[0].system.model, network.system.model), "the first is the fit of the key itself"
    assert any("best of 3 by bound a step" in event for event in made.history.events)


@pytest.mark.system
def test_restarts_leave_out_one_that_diverged(records):
    """NaN among the starts must not be chosen, though comparisons with NaN are always false."""
    task = small_task()
    inference = MeanField(task.inference.recognition, Explicit(), MonteCarlo(1))

    class Unlucky(gpssm.methods.AbstractMethod):
        @property
        def deterministic(self) -> bool:
            return False

        def fit(self, data, run, *, key):
            made = Variational(task.model, inference=inference, optimiser=task.adam(EVERY)).fit(data, run, key=key)
            first = jr.key_data(key)[1] == 4
            return made.ended(gpssm.Result.diverged) if first else made

    made = gpssm.fit(records, Restarts(Unlucky(), 2), **QUIET)
    assert made.result is gpssm.Result.finished
    assert equal(made.system.model, made.parts[1].system.model)
    assert finite(made.system.model)
