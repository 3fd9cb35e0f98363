"""The model as built from data."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm._core._params import trainable_mask, val
from gpssm.data import Episode, Episodes, Scaler
from gpssm.models import GPSSM, LinearGaussian
from tests.reference.compiling import constant
from tests.reference.gaussian import log_density
from tests.reference.montecarlo import assert_mean


@constant
def records() -> Episodes:
    rng = np.random.default_rng(0)
    return Episodes([Episode(y=3.0 + rng.standard_normal((20, 2)).cumsum(0), u=rng.standard_normal((20, 1)))] * 2)


def test_initial_term_is_the_mean_log_density_under_the_standard_normal():
    rng = np.random.default_rng(1)
    mean, root = rng.standard_normal(2), rng.standard_normal((2, 2))
    samples = mean + rng.standard_normal((5_000, 2)) @ root.T
    model = GPSSM.from_data(records(), state_dim=2, num_inducing=4, key=jr.key(0))
    expected = model.initial_expected_log_prob(jnp.asarray(mean), jnp.asarray(root @ root.T))
    assert_mean(log_density(samples, np.zeros(2), np.eye(2)), expected)


@pytest.mark.parametrize("state_dim", [1, 2, 3])
def test_a_model_from_data_has_the_right_shapes_and_starts_where_the_system_has_been(state_dim):
    model = GPSSM.from_data(
        records(), state_dim=state_dim, num_inducing=6, process_variance=0.02, noise_variance=0.03, key=jr.key(1)
    )
    assert model.state_dim == state_dim
    assert model.transition.inducing.shape == (6, state_dim + 1)
    assert len(model.transition.kernels) == state_dim
    np.testing.assert_allclose(model.transition.noise_variance(), np.full(state_dim, 0.02), rtol=1e-10)
    np.testing.assert_allclose(model.emission.noise_variance(), np.full(2, 0.03), rtol=1e-10)
    assert val(model.emission.weight).shape == (2, state_dim)
    # Scaled states and controls lie within a few units of zero.
    assert np.all(np.abs(model.transition.inducing) < 5.0)


def test_with_enough_states_the_outputs_are_the_first_ones_and_fixed():
    model = GPSSM.from_data(records(), state_dim=3, num_inducing=4, key=jr.key(2))
    np.testing.assert_array_equal(val(model.emission.weight), np.eye(2, 3))
    assert not any(jax.tree.leaves(trainable_mask((model.emission.weight, model.emission.offset))))
    assert any(jax.tree.leaves(trainable_mask(model.emission.noise)))


def test_with_fewer_states_the_emission_spans_the_outputs_principal_directions():
    """The state is a principal component of unit variance, and the emission maps it back."""
    model = GPSSM.from_data(records(), state_dim=1, num_inducing=4, key=jr.key(3))
    y = np.concatenate([e.y for e in Scaler.from_episodes(records()).apply(records())])
    left, singular, right = np.linalg.svd(y, full_matrices=False)
    rebuilt = (left[:, :1] * np.sqrt(len(y))) @ np.asarray(val(model.emission.weight)).T
    np.testing.assert_allclose(rebuilt, singular[0] * left[:, :1] @ right[:1], rtol=1e-6, atol=1e-8)
    assert isinstance(model.emission, LinearGaussian)


def test_the_same_key_gives_the_same_model_and_the_precision_is_the_one_asked_for():
    first, second = (GPSSM.from_data(records(), state_dim=2, num_inducing=4, key=jr.key(4)) for _ in range(2))
    np.testing.assert_array_equal(first.transition.inducing, second.transition.inducing)
    np.testing.assert_array_equal(first.transition.q_mean, second.transition.q_mean)
    single = GPSSM.from_data(records(), state_dim=2, num_inducing=4, dtype=np.float32, key=jr.key(4))
    assert single.transition.inducing.dtype == val(single.emission.noise).dtype == np.float32
