"""An emission of one's own: its density weighs particles, and its samples are what sensors show."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.scipy.stats import norm
from jaxtyping import Array, Float, PRNGKeyArray

import gpssm
from gpssm._core._params import Positive
from gpssm.filters import ParticleFilter
from gpssm.models import GPSSM, AbstractEmission, LinearMean, LinearTransition
from gpssm.predict import Channels

SCALE, DRAWS = 1.0, 20_000


class Laplace(AbstractEmission):
    """The state itself, with noise that has heavy tails."""

    scale: Float[Array, " O"]

    def mean(self, x: Float[Array, "*B D"]) -> Float[Array, "*B O"]:
        return x

    def noise_variance(self) -> Float[Array, " O"]:
        return 2.0 * self.scale**2

    def log_prob(self, y: Float[Array, " O"], x: Float[Array, " D"]) -> Float[Array, " O"]:
        return -jnp.abs(y - x) / self.scale - jnp.log(2.0 * self.scale)

    def sample(self, signals: Float[Array, "*B O"], *, key: PRNGKeyArray) -> Float[Array, "*B O"]:
        return signals + self.scale[0] * jr.laplace(key, signals.shape, signals.dtype)

    def expected_log_prob(self, y, means, covariances, *, where) -> Float[Array, ""]:
        # The mean of |y - x| for a Gaussian x.
        spread = jnp.sqrt(jnp.diagonal(covariances, axis1=-2, axis2=-1))
        z = (y - means) / spread
        distance = spread * (2.0 * norm.pdf(z) + z * (2.0 * norm.cdf(z) - 1.0))
        return jnp.sum(jnp.where(where, -distance / self.scale[None] - jnp.log(2.0 * self.scale)[None], 0.0))


@pytest.fixture(scope="module")
def system() -> gpssm.System:
    """x[t+1] = 0.9 x[t] + noise, in the user's units."""
    arrays = (np.array([[0.9]]), np.zeros((1, 0)), np.zeros(1))
    transition = LinearTransition(LinearMean(*map(jax.device_put, arrays)), Positive.of(jnp.full(1, 0.1)))
    model = GPSSM(transition, Laplace(jnp.full(1, SCALE)), 1)
    nothing = np.zeros(0)
    scaler = gpssm.Scaler(output_mean=np.zeros(1), output_scale=np.ones(1), input_mean=nothing, input_scale=nothing)
    return gpssm.System(model, scaler, Channels(("y0",), ()))


def test_particles_are_weighed_by_the_density_of_the_emission(system):
    """One measurement of x ~ N(0, 1): posterior and evidence by a sum over a fine grid."""
    y, x = 2.5, np.linspace(-8.0, 8.0, 8001)
    joint = np.exp(-0.5 * x**2 - np.abs(y - x) / SCALE) / (np.sqrt(2.0 * np.pi) * 2.0 * SCALE)
    evidence = joint.sum() * (x[1] - x[0])
    mean = (x * joint).sum() / joint.sum()
    spread = np.sqrt((x**2 * joint).sum() / joint.sum() - mean**2)
    found = system.filter(gpssm.Episode(y=[y]), reader=ParticleFilter(DRAWS), seed=0)
    # Particles from the prior: a good part of them is wasted, hence the factor.
    assert abs(found.means[0, 0] - mean) < 4.0 * 2.0 * spread / np.sqrt(DRAWS)
    assert found.std[0, 0] == pytest.approx(spread, rel=0.03)
    assert found.log_evidence == pytest.approx(np.log(evidence), abs=0.05)
    gaussian = -0.5 * np.log(2.0 * np.pi * (1.0 + 2.0 * SCALE**2)) - 0.5 * y**2 / (1.0 + 2.0 * SCALE**2)
    assert abs(np.log(evidence) - gaussian) > 0.1, "a Gaussian of the same variance would be told apart"


def test_what_sensors_show_is_drawn_from_the_emission(system):
    run = system.simulate(gpssm.Episode(y=[0.5, 0.5, 0.5]), n_init=2, num_samples=DRAWS, seed=0)
    noise = (run.samples - run.signals).ravel()
    # |noise| is exponential: its mean is the scale, and so is its standard deviation.
    assert abs(np.abs(noise).mean() - SCALE) < 4.0 * SCALE / np.sqrt(DRAWS)
    assert np.mean(np.abs(noise) > 3.0 * SCALE) == pytest.approx(np.exp(-3.0), rel=0.15)
    np.testing.assert_allclose(run.noise_std, np.sqrt(2.0) * SCALE)
