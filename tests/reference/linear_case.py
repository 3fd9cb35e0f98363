"""A linear-Gaussian system as gpssm sees it and as plain NumPy sees it: all answers are known."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

import gpssm
from gpssm._core._params import Positive
from gpssm.models import GPSSM, LinearGaussian, LinearMean, LinearTransition
from gpssm.predict import Channels
from tests.reference.compiling import constant
from tests.reference.kalman import LinearModel

STEPS = 25


@dataclass(frozen=True)
class LinearCase:
    """Both views, with a record in the user's units."""

    system: gpssm.System
    reference: LinearModel
    episode: gpssm.Episode
    y: np.ndarray
    """The outputs of the record in standardised units."""
    u: np.ndarray
    observed: np.ndarray


@constant
def linear_case() -> LinearCase:
    """Two states, two outputs, one input; some outputs are missing, at one step both."""
    rng = np.random.default_rng(3)
    reference = LinearModel(
        A=np.array([[0.8, 0.3], [-0.2, 0.7]]),
        B=np.array([[0.5], [1.0]]),
        c=np.array([0.1, -0.2]),
        Q=np.array([0.05, 0.02]),
        W=np.array([[1.0, 0.0], [0.4, 1.2]]),
        b=np.array([0.3, -0.1]),
        R=np.array([0.04, 0.1]),
    )
    u, x = rng.standard_normal((STEPS, 1)), rng.standard_normal(2)
    y = np.zeros((STEPS, 2))
    for t in range(STEPS):
        y[t] = reference.W @ x + reference.b + np.sqrt(reference.R) * rng.standard_normal(2)
        x = reference.A @ x + reference.B @ u[t] + reference.c + np.sqrt(reference.Q) * rng.standard_normal(2)
    observed = rng.uniform(size=y.shape) > 0.2
    observed[0], observed[7] = [True, False], False
    mean = LinearMean(*map(jnp.asarray, (reference.A, reference.B, reference.c)))
    emission = LinearGaussian(jnp.asarray(reference.W), jnp.asarray(reference.b), Positive.of(jnp.asarray(reference.R)))
    model = GPSSM(LinearTransition(mean, Positive.of(jnp.asarray(reference.Q))), emission, 2)
    scaler = gpssm.Scaler(
        output_mean=np.array([100.0, -3.0]),
        output_scale=np.array([10.0, 0.5]),
        input_mean=np.array([2.0]),
        input_scale=np.array([4.0]),
    )
    system = gpssm.System(model, scaler, Channels(("height", "speed"), ("force",), 0.1))
    episode = gpssm.Episode(
        y=scaler.undo_mean(y),
        u=u * scaler.input_scale + scaler.input_mean,
        mask=observed,
        dt=0.1,
        name="run 7",
        output_names=["height", "speed"],
        input_names=["force"],
    )
    return LinearCase(system, reference, episode, y, u, observed)
