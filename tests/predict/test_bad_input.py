"""Bad requests end in a DataError that names what is wrong, before anything is computed."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.filters import EKF
from gpssm.predict import Channels

KEY = jr.key(0)


@pytest.mark.parametrize("n_init", [0, -1, 25, 26])
def test_simulate_needs_samples_before_and_after_the_start(linear, n_init):
    with pytest.raises(gpssm.DataError, match=rf"n_init={n_init}.*25 samples of 'run 7'"):
        linear.system.simulate(linear.episode, n_init=n_init, key=KEY)


@pytest.mark.parametrize("horizon", [0, -2, 25])
def test_predict_needs_a_horizon_within_the_record(linear, horizon):
    with pytest.raises(gpssm.DataError, match=rf"horizon={horizon}.*25 samples of 'run 7'"):
        linear.system.predict(linear.episode, horizon=horizon, key=KEY)


@pytest.mark.parametrize("num_samples", [0, -5])
def test_a_rollout_needs_samples(linear, num_samples):
    with pytest.raises(gpssm.DataError, match=f"num_samples={num_samples}"):
        linear.system.simulate(linear.episode, n_init=2, num_samples=num_samples, key=KEY)
    with pytest.raises(gpssm.DataError, match=f"num_samples={num_samples}"):
        linear.system.predict(linear.episode, horizon=1, num_samples=num_samples, key=KEY)


def _other(outputs: int, inputs: int) -> gpssm.Episode:
    return gpssm.Episode(y=np.zeros((10, outputs)), u=np.zeros((10, inputs)), name="other rig")


@pytest.mark.parametrize(
    ("outputs", "inputs", "words"),
    [
        (1, 1, r"1 outputs \(y0\), but the model was fitted to 2 \(height, speed\)"),
        (3, 1, r"3 outputs \(y0, y1, y2\), but the model was fitted to 2 \(height, speed\)"),
        (2, 0, r"0 inputs \(none\), but the model was fitted to 1 \(force\)"),
        (2, 2, r"2 inputs \(u0, u1\), but the model was fitted to 1 \(force\)"),
    ],
)
def test_as_many_channels_as_were_fitted_to(linear, outputs, inputs, words):
    other = _other(outputs, inputs)
    system, pattern = linear.system, f"'other rig' has {words}"
    for ask in (
        lambda: system.filter(other),
        lambda: system.smooth(other),
        lambda: system.predict(other, horizon=1, key=KEY),
        lambda: system.simulate(other, n_init=3, key=KEY),
        lambda: system.forecast(other, inputs=np.zeros((3, 1)), key=KEY),
    ):
        with pytest.raises(gpssm.DataError, match=pattern):
            ask()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_future_inputs_must_be_finite(linear, bad):
    inputs = np.zeros((5, 1))
    inputs[3] = bad
    with pytest.raises(gpssm.DataError, match=r"'force'.*row 3"):
        linear.system.forecast(linear.episode, inputs=inputs, key=KEY)
    with pytest.raises(gpssm.DataError, match=r"'force'.*row 3"):
        linear.system.simulate_from(np.zeros(2), inputs=inputs, key=KEY)


@pytest.mark.parametrize("shape", [(5, 2), (5, 1, 1), ()])
def test_future_inputs_must_have_the_right_shape(linear, shape):
    with pytest.raises(gpssm.DataError, match="expected"):
        linear.system.forecast(linear.episode, inputs=np.zeros(shape), key=KEY)


def test_future_inputs_must_be_given(linear):
    with pytest.raises(gpssm.DataError, match="force"):
        linear.system.forecast(linear.episode, steps=5, key=KEY)
    with pytest.raises(gpssm.DataError, match="force"):
        linear.system.forecast(linear.episode, key=KEY)


def test_steps_and_inputs_must_agree(linear):
    with pytest.raises(gpssm.DataError, match=r"steps=4.*5 rows"):
        linear.system.forecast(linear.episode, inputs=np.zeros((5, 1)), steps=4, key=KEY)


def test_a_forecast_of_no_steps_is_refused(linear):
    with pytest.raises(gpssm.DataError, match="at least one"):
        linear.system.forecast(linear.episode, inputs=np.zeros((0, 1)), key=KEY)
    with pytest.raises(gpssm.DataError, match="at least one"):
        linear.system.simulate_from(np.zeros(2), inputs=np.zeros((0, 1)), key=KEY)


@pytest.mark.parametrize("steps", [0, -3])
def test_a_forecast_of_no_steps_is_refused_without_inputs_too(linear, steps):
    scaler = gpssm.Scaler(
        output_mean=np.zeros(2), output_scale=np.ones(2), input_mean=np.zeros(0), input_scale=np.ones(0)
    )
    system = gpssm.System(linear.system.model, scaler, Channels(("height", "speed"), ()))
    with pytest.raises(gpssm.DataError, match=f"steps={steps}.*at least one"):
        system.forecast(_other(2, 0), steps=steps, key=KEY)
    with pytest.raises(gpssm.DataError, match="steps"):
        system.forecast(_other(2, 0), key=KEY)


@pytest.mark.parametrize("state", [np.zeros(3), np.zeros((2, 1)), np.zeros(())])
def test_a_start_must_have_as_many_states_as_the_model(linear, state):
    with pytest.raises(gpssm.DataError, match="2 states"):
        linear.system.simulate_from(state, inputs=np.zeros((5, 1)), key=KEY)


def test_a_start_must_be_finite(linear):
    with pytest.raises(gpssm.DataError, match="finite"):
        linear.system.simulate_from([0.0, np.nan], inputs=np.zeros((5, 1)), key=KEY)
    with pytest.raises(gpssm.DataError, match="finite"):
        linear.system.simulate_from([0.0, 0.0], chol=np.full((2, 2), np.inf), inputs=np.zeros((5, 1)), key=KEY)


@pytest.mark.parametrize("shape", [(2,), (3, 3), (1, 1), (2, 1)])
def test_the_factor_of_a_start_must_fit(linear, shape):
    with pytest.raises(gpssm.DataError, match="chol"):
        linear.system.simulate_from(np.zeros(2), chol=np.zeros(shape), inputs=np.zeros((5, 1)), key=KEY)


@pytest.mark.parametrize(
    ("y", "u", "name"),
    [
        ([0.0], [0.0], "y"),
        ([0.0, 0.0, 0.0], [0.0], "y"),
        ([0.0, np.inf], [0.0], "y"),
        ([0.0, 0.0], None, "u"),
        (0.0, 0.0, "y"),
        ([0.0, 0.0], [0.0, 1.0], "u"),
        ([0.0, 0.0], [np.nan], "u"),
        ([0.0, -2e100], [0.0], "y"),
        ([0.0, 0.0], [2e100], "u"),
    ],
)
def test_online_filter_refuses_bad_samples_and_keeps_its_state(linear, y, u, name):
    online = linear.system.online(reader=EKF())
    before, _ = online.update([100.0, -3.0], [2.0])
    with pytest.raises(gpssm.DataError, match=f"^{name} "):
        online.update(y, u)
    after, _ = online.update([100.0, -3.0], [2.0])
    fresh = linear.system.online(reader=EKF())
    assert np.array_equal(fresh.update([100.0, -3.0], [2.0])[0], before)
    assert np.array_equal(fresh.update([100.0, -3.0], [2.0])[0], after)
