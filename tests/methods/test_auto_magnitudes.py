"""`Auto` tries outputs as magnitudes where they look like those of a sensor that loses the sign."""

import numpy as np
import pytest

import gpssm
from gpssm.methods._magnitudes import look_like_magnitudes
from gpssm.models import Magnitude
from tests.optimisers.small_task import Listening


def speeds(count: int = 300) -> gpssm.Episodes:
    """A shaft that a slow input turns both ways, and a sensor that counts its turns."""
    rng = np.random.default_rng(0)
    turns = np.repeat(rng.choice([-1.0, 1.0], count // 10), 10)[:, None]
    u, v = turns * rng.uniform(0.5, 1.0, (count, 1)), np.zeros(count)
    for t in range(count - 1):
        v[t + 1] = 0.8 * v[t] + 0.3 * np.tanh(2.0 * u[t, 0])
    return gpssm.Episodes([gpssm.Episode(y=np.abs(v)[:, None], u=u, name="shaft")])


def test_outputs_that_look_like_magnitudes_are_known_by_their_values():
    data = speeds()
    assert look_like_magnitudes(data)
    (record,) = data
    lost = record._replace(y=np.where(np.arange(len(record))[:, None] == 5, -9.0, record.y))
    assert not look_like_magnitudes(gpssm.Episodes([lost])), "one negative value is enough"
    unseen = np.arange(len(record))[:, None] != 5
    assert look_like_magnitudes(gpssm.Episodes([lost._replace(observed=unseen)])), "what was not measured says nothing"
    assert not look_like_magnitudes(gpssm.Episodes([record._replace(y=record.y + 1.0)])), "it never comes down"
    assert not look_like_magnitudes(gpssm.Episodes([gpssm.Episode(y=record.y)])), "no input tells the sign"
    both = record._replace(y=np.hstack([record.y, record.y + 1.0]), observed=np.ones((len(record), 2), bool))
    assert not look_like_magnitudes(gpssm.Episodes([both])), "one of two outputs"


@pytest.mark.system
def test_a_sensor_that_loses_the_sign_is_found_out():
    """Nothing is said to the call, and no method that takes the outputs as they are can follow them."""
    told = Listening()
    gp = gpssm.Polished(num_inducing=10, hidden=2, steps=10, iterations=0, network_steps=0)
    made = gpssm.fit(speeds(), gpssm.Auto(2, gp=gp), progress=told, seed=0)
    (why,) = [event for event in made.history.events if event.startswith("chosen: ")]
    assert "magnitudes" in why
    assert any("also tried as magnitudes" in message for message in told.messages)
    assert isinstance(made.system, gpssm.System) and isinstance(made.system.model.emission, Magnitude)
    assert made.system.model.state_dim == 2, "as many states as were asked for"
