"""What is trained and what is held."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._params import trainable_mask
from gpssm.fitting._problem import Problem, prepare
from gpssm.inference import Collapsed, Explicit, MeanField, NaturalGradient
from gpssm.models import GPSSM
from gpssm.optimisers import Adam
from tests.optimisers.small_task import Task, padded


def _counts(mask) -> int:
    return sum(jax.tree.leaves(mask))


@pytest.fixture(scope="module")
def two_states() -> GPSSM:
    """One kernel object given for two state dimensions."""
    rng = np.random.default_rng(0)
    episodes = gpssm.Episodes.from_arrays(y=rng.standard_normal((20, 2)))
    kernel = RBF(lengthscale=jnp.ones(2), variance=0.5)
    return GPSSM.from_data(episodes, state_dim=2, kernel=kernel, num_inducing=4, key=jr.key(0))


def test_copies_of_a_kernel_can_be_frozen_one_by_one(task, two_states):
    """Arrays shared between the copies would freeze together, because frozen parts are recognised by identity."""
    shared = eqx.tree_at(lambda m: m.transition.kernels, two_states, (two_states.transition.kernels[0],) * 2)
    for tree in (two_states, prepare((shared, task.inference), np.float64)[0]):
        _assert_frozen_alone(tree)


def _assert_frozen_alone(model: GPSSM) -> None:
    mask = trainable_mask(model, model.transition.kernels[0])
    assert _counts(mask.transition.kernels[0]) == 0
    assert _counts(mask.transition.kernels[1]) == 2


def test_everything_inexact_is_trained_by_default(two_states):
    mask = trainable_mask(two_states)
    assert mask.transition.q_mean is True
    assert mask.transition.inducing is True
    assert _counts(mask.emission) == 1, "the emission matrix and offset are fixed, the noise is not"


def test_non_trainable_wrappers_hold_their_content(two_states):
    held = eqx.tree_at(lambda m: m.transition.inducing, two_states, replace_fn=paramax.non_trainable)
    assert _counts(trainable_mask(held).transition.inducing) == 0


def test_q_is_held_where_gradients_do_not_train_it(task):
    for inducing, trained in ((Explicit(), True), (Collapsed(), False), (NaturalGradient(), False)):
        inference = MeanField(task.inference.recognition, inducing)
        mask = Problem.of((task.model, inference), task.data, None).mask.value
        assert mask[0].transition.q_mean is trained
        assert mask[0].transition.q_chol.raw is trained


@pytest.mark.parametrize("inducing", [Collapsed(), NaturalGradient()], ids=lambda i: type(i).__name__)
def test_freezing_q_is_refused_where_it_is_set_otherwise(task, inducing):
    """Both would overwrite the q(u) that the user asked to hold."""
    own = Task(task.model, MeanField(task.inference.recognition, inducing), task.data)
    with pytest.raises(ValueError, match="Explicit"):
        own.train(Adam(1), freeze=lambda model, inference: model.transition, key=jr.key(0))


def test_a_problem_is_the_same_for_other_data_of_the_same_shape(task):
    """Else the compiled step would not be found again."""
    one = Problem.of((task.model, task.inference), task.data, None)
    other = Problem.of((task.model, task.inference), padded((7, 12, 8), seed=5), None)
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert float(one.num_steps) == 33.0
    assert float(other.num_steps) == 27.0
