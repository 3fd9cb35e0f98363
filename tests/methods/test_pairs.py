"""First noises from a regression on pairs, a network that starts as wide as they say, and the sign that it copies."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Prepared, Run
from gpssm.methods import ModelSpec, Network, Pairs, Variational
from gpssm.methods._variational import COPIES
from gpssm.optimisers import Adam
from gpssm.optimisers._first_noise import with_noises
from tests.optimisers.small_task import EVERY, OPTIMISER, small_episodes

SENSORS = np.array([0.05, 0.4])
"""Standard deviations. The motion itself has one of about 1 in both outputs."""


def turning(episodes: int = 30, steps: int = 20) -> gpssm.Episodes:
    """A rotation without process noise, seen through two sensors, one of them poor. With random amplitudes, what one
    measurement tells about the next is linear in it."""
    rng = np.random.default_rng(0)
    records = []
    for _ in range(episodes):
        phase = rng.uniform(0, 2 * np.pi) + 0.3 * np.arange(steps)
        motion = rng.rayleigh() * np.c_[np.cos(phase), np.sin(phase)]
        records.append(motion + SENSORS * rng.standard_normal((steps, 2)))
    return gpssm.Episodes.from_arrays(y=records)


@pytest.fixture(scope="module")
def started():
    data = Prepared.of(turning())
    first = ModelSpec(2, num_inducing=10).build(data, key=jr.key(0))
    return data, Pairs(0.25).improved(first, data, Run().stage("pairs"), key=jr.key(1))


def test_each_sensor_starts_with_its_own_noise(started):
    """A pair errs at both ends: half of what least squares leaves unexplained is the variance of the sensor, or
    nearly."""
    data, model = started
    found = data.scaler.output_scale**2 * np.asarray(model.emission.noise_variance())
    before = np.concatenate([episode.y[:-1] for episode in data.episodes])
    after = np.concatenate([episode.y[1:] for episode in data.episodes])
    left = after - before @ np.linalg.lstsq(before, after, rcond=None)[0]
    np.testing.assert_allclose(found, np.mean(left**2, axis=0) / 2.0, rtol=0.1)
    np.testing.assert_allclose(np.sqrt(found[1]), SENSORS[1], rtol=0.15)
    assert found[0] < found[1] / 4.0


def test_process_noise_starts_well_below(started):
    _, model = started
    ratio = model.transition.noise_variance() / model.emission.noise_variance()
    np.testing.assert_allclose(ratio, 0.25**2, rtol=1e-9)


def test_one_process_noise_for_all_states_stays_one(started):
    data, _ = started
    tied = ModelSpec(2, num_inducing=4, tied_noise=True).build(data, key=jr.key(0))
    moved = with_noises(tied, process=jnp.full(2, 0.03), measurement=jnp.asarray([0.1, 0.2]))
    assert moved.transition.noise.log_value.shape == (1,)
    np.testing.assert_allclose(moved.transition.noise_variance(), [0.03, 0.03])
    np.testing.assert_allclose(moved.emission.noise_variance(), [0.1, 0.2])


def test_a_ratio_must_be_positive():
    with pytest.raises(ValueError, match="must be positive"):
        Pairs(0.0)


def test_a_network_starts_as_wide_as_half_the_sensors_noise(started):
    data, model = started
    network = Network(3, gain=0.9, width=None).build(model, data, dtype=np.float64, key=jr.key(2))
    chols = np.exp(np.asarray(network.rest.bias[2:4])), np.exp(np.asarray(network.first.bias[2:4]))
    expected = np.sqrt(np.asarray(model.emission.noise_variance())) / 2.0
    np.testing.assert_allclose(chols, [expected, expected])
    np.testing.assert_allclose(network.rest.bias[-4:].reshape(2, 2), 0.9 * np.eye(2))


def test_hidden_states_keep_the_common_width(started):
    data, _ = started
    model = ModelSpec(3, num_inducing=4, noise_variance=0.04).build(data, key=jr.key(0))
    network = Network(3, width=None).build(model, data, dtype=np.float64, key=jr.key(2))
    np.testing.assert_allclose(jnp.exp(network.rest.bias[3:6]), [0.1, 0.1, 0.1])
    wide = ModelSpec(3, num_inducing=4, noise_variance=0.16).build(data, key=jr.key(0))
    network = Network(3, width=None).build(wide, data, dtype=np.float64, key=jr.key(2))
    np.testing.assert_allclose(jnp.exp(network.rest.bias[3:6]), [0.2, 0.2, 0.1])


def _trained(**noises: float) -> gpssm.Fit:
    method = Variational(
        ModelSpec(1, num_inducing=5, **noises), q_x=Network(3), optimiser=Adam(EVERY, transformation=OPTIMISER)
    )
    return gpssm.fit(small_episodes((12, 9, 12), seed=0), method, progress=gpssm.Silent(), seed=4)


def test_process_noise_above_measurement_noise_is_told():
    """In fifty steps a variance moves by less than a factor of two."""
    assert COPIES in _trained(process_variance=0.3, noise_variance=0.01).history.events
    assert COPIES not in _trained(process_variance=0.01, noise_variance=0.3).history.events
