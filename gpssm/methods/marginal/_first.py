"""The model from which marginal inference starts: the function that guessed states show."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm.fitting._problem import Training, prepare
from gpssm.fitting._progress import Silent
from gpssm.fitting._stage import Stage
from gpssm.inference import Collapsed, GaussHermite, MeanField, PerStepStates
from gpssm.models import GPSSM, Batch, GaussMarkov, SparseGP
from gpssm.optimisers import LBFGS
from gpssm.optimisers._first_noise import with_shared_noise

ITERATIONS = 30


def first_model(
    model: GPSSM,
    batch: Batch,
    guess: list[Float[np.ndarray, "_ D"]],
    stage: Stage,
    *,
    move_inducing: bool,
    key: PRNGKeyArray,
) -> GPSSM:
    """Kernels, noises and q(u) by regression of each guessed state on the one before, as if they were known.

    What the function leaves unexplained is shared out: a third to the process, a third to each end of a step.
    """
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
    return with_shared_noise(found.model, batch.y.shape[-1])
