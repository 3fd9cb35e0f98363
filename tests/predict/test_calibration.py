"""Intervals mean what they say: on systems drawn from the model, 95 % of the measurements lie within 95 % intervals."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._params import LowerTriangular, Positive, cast
from gpssm.models import GPSSM, LinearGaussian, LinearMean
from gpssm.models.transition import SparseGP
from gpssm.predict import Channels

SYSTEMS, STEPS, N_INIT, INDUCING = 160, 60, 5, 20


@pytest.fixture(scope="module")
def believed() -> gpssm.System:
    """A model that is somewhat unsure of its transition function: its error has a third of the process noise's spread.

    A filter takes the error of the function for noise that is drawn anew at each step; were it the larger part of what
    is unknown, one-step intervals would become a little too narrow.
    """
    rng = np.random.default_rng(0)
    eye = jnp.eye(1)
    transition = SparseGP(
        kernels=(RBF(lengthscale=jnp.full(2, 2.0), variance=0.2),),
        inducing=jnp.asarray(rng.uniform(-2.0, 2.0, (INDUCING, 2))),
        q_mean=jnp.asarray(0.5 * rng.standard_normal((1, INDUCING))),
        q_chol=LowerTriangular.of(0.1 * jnp.eye(INDUCING)[None]),
        noise=Positive.of(jnp.full(1, 0.02)),
        mean=LinearMean(0.6 * eye, 0.7 * eye, jnp.zeros(1)),
        whitened=True,
    )
    model = GPSSM(transition, LinearGaussian.first_states(1, 1, noise=0.02), 1)
    unit = {
        "output_mean": np.zeros(1),
        "output_scale": np.ones(1),
        "input_mean": np.zeros(1),
        "input_scale": np.ones(1),
    }
    return gpssm.System(cast(model, np.float64), gpssm.Scaler(**unit), Channels(("y0",), ("u0",)))


def _draw_records(system: gpssm.System) -> list[gpssm.Episode]:
    """One record of each of many systems: a function from the posterior, an initial state and noise from the model."""
    model = system.model

    @jax.jit
    def draw(key):
        function_key, state_key, noise_key, output_key, input_key = jr.split(key, 5)
        dynamics = model.transition.condition()
        function = dynamics.draw(num_features=512, key=function_key)
        inputs = jr.uniform(input_key, (STEPS, 1), minval=-1.5, maxval=1.5)
        noise = jnp.sqrt(dynamics.noise_variance()[0]) * jr.normal(noise_key, (STEPS, 1))

        def step(x, now):
            u, e = now
            return function(x, u, key=key) + e, x

        _, states = jax.lax.scan(step, jr.normal(state_key, (1,)), (inputs, noise))
        outputs = model.emission.mean(states)
        return outputs + jnp.sqrt(model.emission.noise_variance()[0]) * jr.normal(output_key, outputs.shape), inputs

    drawn = [draw(key) for key in jr.split(jr.key(8), SYSTEMS)]
    return [gpssm.Episode(y=np.asarray(y), u=np.asarray(u)) for y, u in drawn]


def _coverage(predictions: list[tuple[gpssm.Rollout, gpssm.Episode]], *, widen: float = 1.0) -> float:
    inside = []
    for rollout, episode in predictions:
        low, high = rollout.interval(0.95)
        middle, truth = rollout.quantile(0.5), episode.y[rollout.start :]
        inside.append((truth >= middle + widen * (low - middle)) & (truth <= middle + widen * (high - middle)))
    return float(np.mean(np.concatenate(inside)))


@pytest.mark.slow
def test_intervals_hold_what_they_promise(believed):
    records = _draw_records(believed)
    keys = jr.split(jr.key(1), SYSTEMS)
    ahead = [(believed.predict(r, horizon=1, num_samples=100, key=k), r) for r, k in zip(records, keys, strict=True)]
    free = [
        (believed.simulate(r, n_init=N_INIT, num_samples=100, key=k), r) for r, k in zip(records, keys, strict=True)
    ]
    assert 0.94 <= _coverage(ahead) <= 0.96
    assert 0.92 <= _coverage(free) <= 0.98
    # The test can tell: intervals of 0.8 or 1.25 times the width would not pass.
    assert _coverage(ahead, widen=0.8) < 0.94
    assert _coverage(ahead, widen=1.25) > 0.96
    assert _coverage(free, widen=0.8) < 0.92
    assert _coverage(free, widen=1.25) > 0.98
