"""A long table of transitions is worked through in blocks, and says the same."""

import jax
import numpy as np
import pytest

from gpssm.models.transition import _sparse_dynamics
from tests.reference.compiling import jit
from tests.reference.transition_cases import N, make, random_transitions


@pytest.mark.parametrize("rows", [N - 1, 4, 1])
def test_blocks_change_neither_value_nor_gradient(rows, monkeypatch):
    transition, table = make("RBF").transition, random_transitions(np.random.default_rng(1))

    def log_prob(transition, table):
        return transition.condition().expected_log_prob(table)

    def both(arguments):
        return jax.value_and_grad(lambda pair: log_prob(*pair))(arguments)

    expected = jit(lambda arguments: both(arguments))((transition, table))
    monkeypatch.setattr(_sparse_dynamics, "ROWS", rows)
    found = jit(lambda arguments: both(arguments))((transition, table))
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
