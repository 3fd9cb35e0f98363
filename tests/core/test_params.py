"""Constrained parameters and the split into trained and held leaves."""

import equinox as eqx
import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import numpy as np
import paramax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._params import LowerTriangular, Positive, cast, trainable_mask, val


@settings(deadline=None, max_examples=30)
@given(st.floats(1e-12, 1e12))
def test_a_positive_parameter_keeps_its_value(value):
    np.testing.assert_allclose(val(Positive.of(value)), value, rtol=1e-12)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_triangular_parameter_keeps_its_value_and_only_that(batch):
    rng = np.random.default_rng(0)
    chol = np.tril(rng.standard_normal((*batch, 3, 3)))
    index = np.arange(3)
    chol[..., index, index] = np.exp(rng.standard_normal((*batch, 3)))
    parameter = LowerTriangular.of(jnp.asarray(chol))
    np.testing.assert_allclose(val(parameter), chol, rtol=1e-12)
    # Whatever is stored, the value is lower-triangular with a positive diagonal.
    value = np.asarray(val(LowerTriangular(jnp.asarray(rng.standard_normal((*batch, 3, 3))))))
    np.testing.assert_array_equal(value, np.tril(value))
    assert np.all(value[..., index, index] > 0.0)


def test_cast_reaches_parameters_given_as_python_numbers_and_leaves_the_rest():
    tree = (gk.RBF(lengthscale=2.0), 0.5, jnp.arange(3), "name", None)
    kernel, number, integers, name, nothing = cast(tree, np.float32)
    leaves = jax.tree.leaves((kernel, number))
    assert all(leaf.dtype == np.float32 and not leaf.weak_type for leaf in leaves)
    assert integers.dtype == jnp.arange(3).dtype and name == "name" and nothing is None
    np.testing.assert_allclose(val(kernel.lengthscale), 2.0, rtol=1e-6)


def test_frozen_parts_and_fixed_parameters_are_not_trained():
    tree = {
        "free": jnp.ones(2),
        "held": jnp.ones(3),
        "fixed": paramax.non_trainable(jnp.ones(1)),
        "count": jnp.arange(2),
    }
    mask = trainable_mask(tree, [tree["held"]])
    assert mask["free"] is True and mask["held"] is False and mask["count"] is False
    assert jax.tree.leaves(mask["fixed"]) == [False]
    trained, held = eqx.partition(tree, mask)
    assert [leaf.shape for leaf in jax.tree.leaves(trained)] == [(2,)]
    assert len(jax.tree.leaves(held)) == 3


def test_without_frozen_parts_every_real_array_is_trained():
    assert jax.tree.leaves(trainable_mask({"a": jnp.ones(1), "b": jnp.zeros(2)})) == [True, True]
