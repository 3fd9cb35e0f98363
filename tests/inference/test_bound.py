"""A bound is the sum of its terms, whatever they are called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.inference import Bound
from tests.reference.compiling import jit


def bound(values: dict[str, float], once: tuple[str, ...] = ()) -> Bound:
    terms = {name: jnp.asarray(value) for name, value in values.items()}
    return Bound.of(terms, jitter=jnp.asarray(1e-6), once=once)


@jit
def sums(given: Bound) -> tuple[jax.Array, jax.Array]:
    return given.total(), given.of_episodes()


def test_any_names_will_do_and_are_kept_in_order():
    found = bound({"fit": 1.5, "smoothness": -0.25, "hyperprior": -2.0})
    assert list(found.terms()) == ["fit", "smoothness", "hyperprior"]
    assert found["smoothness"] == -0.25
    with pytest.raises(KeyError):
        found["likelihood"]


def test_terms_are_added_up_in_their_order():
    """Rounding tells: the small term is lost beside the large one that comes before it, and only then."""
    large = 1e17
    assert sums(bound({"a": large, "b": 1.0, "c": -large}))[0] == 0.0
    assert sums(bound({"a": large, "b": -large, "c": 1.0}))[0] == 1.0


def test_jitter_is_told_but_not_added():
    found = bound({"a": 0.0, "b": 0.0, "c": 0.0})
    assert found.jitter == 1e-6
    assert sums(found)[0] == 0.0


def test_what_is_counted_once_is_left_out_of_what_episodes_contribute():
    total, of_episodes = sums(bound({"a": 1.0, "kl": -3.0, "prior": -0.5}, once=("kl", "prior")))
    assert (total, of_episodes) == (-2.5, 1.0)
    total, of_episodes = sums(bound({"a": 1.0, "kl": -3.0, "prior": -0.5}))
    assert total == of_episodes == -2.5


def test_only_a_term_can_be_counted_once():
    with pytest.raises(ValueError, match=r"'kl' is said to be counted once.*\['a'\]"):
        bound({"a": 1.0}, once=("kl",))


def test_shares_of_a_bound_add_up_leaf_by_leaf():
    """As devices do it: the names are no part of the arithmetic."""
    halves = bound({"a": 1.0, "b": 2.0, "c": 3.0}), bound({"a": 0.5, "b": -2.0, "c": 4.0})
    together = jax.tree.map(lambda x, y: np.asarray(x) + np.asarray(y), *halves)
    assert {name: float(value) for name, value in zip(together.names, together.values, strict=True)} == {
        "a": 1.5,
        "b": 0.0,
        "c": 7.0,
    }


def test_bounds_under_vmap_keep_their_names():
    many = jit(jax.vmap(lambda x: Bound.of({"a": x, "b": 2.0 * x}, jitter=x)))(jnp.arange(3.0))
    np.testing.assert_array_equal(many["b"], [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(many.total(), [0.0, 3.0, 6.0])
