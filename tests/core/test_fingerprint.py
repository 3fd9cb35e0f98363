"""Fingerprints tell apart what would be traced differently, and nothing is given one whose code nobody knows."""

import enum
from functools import partial

import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from gpssm._core import _code_state
from gpssm._core._alike import for_each
from gpssm._core._fingerprint import UnknownError, fingerprint
from gpssm.methods import ModelSpec

DIFFERENT = [
    None,
    *(0, 1, True, False, 1.0, -0.0, 0.0, "1", b"1", ..., float("nan"), 1j),
    *((), [], {}, (1,), [1], (1, 2), ((1,), 2), (1, (2,)), {"a": 1}, {"a": 2}, {"b": 1}, slice(1), slice(1, None)),
    *(np.float32(1), np.float64(1), np.zeros(2), np.zeros((1, 2)), np.zeros(2, int), np.ones(2), np.dtype("f4")),
    *(jnp.sin, jnp.cos, jax.nn.relu, jax.jit, dict, tuple, for_each),
    *(partial(jnp.sum, axis=0), partial(jnp.sum, axis=1), partial(jnp.mean, axis=0)),
    *(gk.RBF(n_dims=1), gk.RBF(n_dims=2), gk.Matern12(n_dims=1), gk.RBF(n_dims=1) + gk.RBF(n_dims=1)),
    *(jax.tree.structure(gk.RBF(n_dims=1)), jax.tree.structure(gk.Matern12(n_dims=1)), jax.tree.structure((1, 2))),
    *(optax.adam(1e-3), optax.adam(1e-2), optax.sgd(1e-3), ModelSpec(2), ModelSpec(3)),
]


def test_different_things_have_different_fingerprints():
    found = [fingerprint(value) for value in DIFFERENT]
    assert len(set(found)) == len(DIFFERENT)


def test_equal_things_have_one():
    made = [lambda: gk.RBF(n_dims=1), lambda: optax.adam(1e-3), lambda: {"a": np.ones(3)}, lambda: ModelSpec(2)]
    for make in made:
        assert fingerprint(make()) == fingerprint(make())


def test_where_one_ends_and_the_next_begins_matters():
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint((1,), 2) != fingerprint(1, (2,))


class Own(gk.RBF):
    """A kernel of somebody's."""


class Kind(enum.Enum):
    one = 1


class Held:
    def __init__(self):
        self.held = 1


@pytest.mark.parametrize("value", [Own(n_dims=1), lambda x: x, Kind.one, Held(), Held, (1, [Held()]), object(), {1, 2}])
def test_what_is_not_known_has_none(value):
    with pytest.raises(UnknownError):
        fingerprint(value)


def test_what_a_function_was_given_is_part_of_it():
    assert fingerprint(optax.exponential_decay(1.0, 2, 0.5)) != fingerprint(optax.exponential_decay(1.0, 2, 0.25))
    rate = optax.exponential_decay(1.0, 2, 0.5)
    assert fingerprint(optax.adam(rate)) != fingerprint(optax.adam(1.0))


def test_every_letter_of_the_code_counts(tmp_path):
    source = tmp_path / "a.py"
    states = []
    for text in ("x = 1", "x = 2", "x = 1 "):
        source.write_text(text)
        _code_state._state.cache_clear()
        states.append(_code_state._state(tmp_path))
    source.rename(tmp_path / "b.py")
    _code_state._state.cache_clear()
    assert len({*states, _code_state._state(tmp_path)}) == 4
