"""First models by regression on pairs: each guessed state on the one before, as if they were known."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm.fitting import Prepared
from gpssm.fitting._problem import Training, prepare
from gpssm.fitting._progress import Silent
from gpssm.fitting._stage import Stage
from gpssm.inference import Collapsed, GaussHermite, MeanField, PerStepStates
from gpssm.methods._guess import AbstractGuess, SubspaceStates
from gpssm.models import GPSSM, Batch, GaussMarkov, SparseGP
from gpssm.optimisers import LBFGS
from gpssm.optimisers._first_noise import with_noises, with_shared_noise

ITERATIONS = 30


class Pairs(eqx.Module):
    """A quick regression of each guessed state on the one before gives first kernels, and noises by output.

    Where sensors are poor, training that starts from equal noises ends where the states are the measurements and all
    that is noise counts as process noise. A guess that is a measurement errs at both ends of a step, so that half of
    what the regression leaves unexplained is the variance of the sensor; a process noise well below it makes the states
    smooth from the first step on. Where the process noise is the larger one, training can stay stuck at such a start:
    compare the bounds of both (`BestOf`).
    """

    process: float = 0.2
    """First standard deviation of the process noise over that of the measurement noise."""
    guess: AbstractGuess = SubspaceStates()
    """How first states are read off the outputs."""

    def __check_init__(self) -> None:
        if not self.process > 0.0:
            raise ValueError(f"process={self.process}: must be positive")

    def improved(self, model: GPSSM, data: Prepared, stage: Stage, *, key: PRNGKeyArray) -> GPSSM:
        """The model as the regression leaves it."""
        found = regression(
            model, data.batch(), self.guess.states(data, model.state_dim), stage, move_inducing=True, key=key
        )
        half = found.transition.noise_variance() / 2.0
        return with_noises(found, process=self.process**2 * half, measurement=half[: data.episodes.num_outputs])


def first_model(
    model: GPSSM,
    batch: Batch,
    guess: list[Float[np.ndarray, "_ D"]],
    stage: Stage,
    *,
    move_inducing: bool,
    key: PRNGKeyArray,
) -> GPSSM:
    """What the function leaves unexplained is shared out: a third to the process, a third to each end of a step."""
    found = regression(model, batch, guess, stage, move_inducing=move_inducing, key=key)
    return with_shared_noise(found, batch.y.shape[-1])


def regression(
    model: GPSSM,
    batch: Batch,
    guess: list[Float[np.ndarray, "_ D"]],
    stage: Stage,
    *,
    move_inducing: bool,
    key: PRNGKeyArray,
) -> GPSSM:
    """Kernels, q(u) and process noise, in which all is that the function leaves unexplained."""
    means = np.zeros((*batch.valid.shape, model.state_dim))
    for i, x in enumerate(guess):
        means[i, : len(x)] = x
    eye = jnp.broadcast_to(jnp.eye(model.state_dim), (*means.shape, model.state_dim))
    states = PerStepStates.from_posterior(GaussMarkov(jnp.asarray(means), 0.0 * eye, 1e-3 * eye))
    # One node is the mean.
    inference = MeanField(states, Collapsed(), GaussHermite(1))

    def held(model: GPSSM, inference: MeanField):
        assert isinstance(model.transition, SparseGP)
        inducing = () if move_inducing else model.transition.inducing
        return (model.emission, inducing, inference.recognition)

    # Short, so that it is neither shown nor recorded; but it hears Ctrl-C.
    quiet = replace(stage, store=None, progress=Silent())
    tree = prepare((model, inference), np.float64)
    found = LBFGS(ITERATIONS).run(tree, Training(batch, freeze=held), quiet, key=key)
    return found.model
