"""Random keys as users give them."""

import jax.random as jr
import jaxtyping
import numpy as np
import pytest

from gpssm._core._random import as_key


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
