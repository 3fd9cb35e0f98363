"""Training with a recognition network on minibatches, q(u) by natural gradients, held-out episodes watched."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.inference import BiRNN, Explicit, MeanField, MonteCarlo, NaturalGradient
from gpssm.optimisers import Minibatches, _watch
from tests.optimisers.small_task import Task, finite, padded, sparse_model

STEPS = 400


@pytest.fixture(scope="module")
def trained():
    data, held_out = padded((12, 9, 12, 10, 12, 12), seed=0), padded((12, 12), seed=1)
    network = BiRNN.create(outputs=1, inputs=1, state_dim=1, hidden=3, skip=jnp.eye(1), key=jr.key(0))
    task = Task(sparse_model(), MeanField(network, NaturalGradient(0.1), MonteCarlo(1)), data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_watch, "WATCH_EVERY", 100)
        patch.setattr(_watch, "FELL", np.inf)  # it does fall here, and the last model is what is looked at below
        done = task.train(task.adam(STEPS, batches=Minibatches(3)), held_out=held_out, key=jr.key(0))
    return task.model, done, held_out


@pytest.mark.system
def test_minibatches_with_natural_gradients_train(trained):
    model, done, _ = trained
    assert done.result is gpssm.Result.finished
    assert done.history.bound[-50:].mean() > done.history.bound[:50].mean() + 0.3
    assert not np.array_equal(done.model.transition.q_mean, model.transition.q_mean), "q(u) moved, without gradients"
    assert finite(done.model)


@pytest.mark.system
def test_held_out_scores_are_taken_where_asked(trained):
    _, done, held_out = trained
    steps, scores = zip(*done.history.held_out, strict=True)
    assert steps == (100, 200, 300, 400)
    assert np.isfinite(scores).all()
    assert len(set(scores)) == 4, "the model changed in between"
    # The last score is the bound of the returned model on the held-out episodes, without the divergence of q(u).
    key = jr.split(jr.key(0), 3)[2]
    explicit = MeanField(done.inference.recognition, Explicit(), MonteCarlo(1))
    bound, _ = eqx.filter_jit(explicit.bound)(done.model, held_out, key=key)
    expected = float(bound.total() - bound["inducing"]) / float(held_out.valid.sum())
    assert scores[-1] == pytest.approx(expected, rel=1e-9)
