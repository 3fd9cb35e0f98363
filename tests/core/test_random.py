"""Random keys as users give them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import jaxtyping
import numpy as np
import pytest

from gpssm._core._random import as_key, fold_in, seed_of, split


def numbers(key) -> np.ndarray:
    return np.asarray(jr.key_data(key))


@pytest.fixture
def unchecked(monkeypatch) -> None:
    """The run-time type checks of the test-suite would complain first; users run without them."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.parametrize("given", [{"seed": 7}, {"key": 7}, {"seed": np.int64(7)}, {"key": np.uint8(7)}], ids=str)
def test_a_whole_number_is_a_seed_wherever_it_is_given(given, unchecked):
    np.testing.assert_array_equal(numbers(as_key(**given)), numbers(jr.key(7)))


def test_a_key_is_taken_as_it_is():
    key = jr.key(3)
    assert as_key(key) is key
    assert as_key(None) is not None
    raw = jr.PRNGKey(3)
    np.testing.assert_array_equal(numbers(as_key(raw)), numbers(key))


def test_nothing_at_all_is_seed_zero():
    np.testing.assert_array_equal(numbers(as_key()), numbers(jr.key(0)))
    np.testing.assert_array_equal(numbers(as_key(None, None)), numbers(jr.key(0)))


@pytest.mark.parametrize("both", [(0, 0), (1, 2), (jr.key, 0)], ids=["equal", "different", "a key"])
def test_a_key_and_a_seed_are_one_too_many(both):
    key, seed = both
    with pytest.raises(ValueError, match="either key= or seed=, not both"):
        as_key(key(0) if callable(key) else key, seed)


@pytest.mark.parametrize("given", [True, 1.5, "0", np.zeros(2)], ids=["bool", "float", "text", "array"])
def test_anything_else_is_refused_with_a_word_on_what_to_write(given, unchecked):
    with pytest.raises(TypeError, match="write seed=0"):
        as_key(given)


def _bits(key) -> np.ndarray:
    return np.asarray(jr.key_data(key))


@pytest.mark.parametrize("count", [2, 4])
def test_parts_of_a_key_are_those_of_jax(getkey, count: int):
    key = getkey(3)
    for ours, theirs in zip(split(key, count), jr.split(key, count), strict=True):
        np.testing.assert_array_equal(_bits(ours), _bits(theirs))


@pytest.mark.parametrize("number", [0, 1, 1 << 20])
def test_numbers_are_folded_in_as_by_jax(getkey, number: int):
    np.testing.assert_array_equal(_bits(fold_in(getkey(3), number)), _bits(jr.fold_in(getkey(3), number)))


def test_seeds_are_whole_numbers_in_both_precisions(getkey):
    for wide in (True, False):
        with jax.enable_x64(wide):
            assert seed_of(getkey(3)) == int(jr.randint(getkey(3), (), 0, 2**31 - 1))


def test_keys_of_the_old_kind_and_traced_ones_are_split_too(getkey):
    old = _bits(getkey(3))
    np.testing.assert_array_equal(split(jnp.asarray(old))[1], jr.split(jnp.asarray(old))[1])
    traced = jax.jit(lambda key: split(key)[1])(getkey(3))
    np.testing.assert_array_equal(_bits(traced), _bits(split(getkey(3))[1]))
