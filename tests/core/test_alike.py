"""What is written once for many parts is what would be written out for each of them."""

import jax.numpy as jnp
import numpy as np
import pytest

from gpssm._core._alike import for_each

RNG = np.random.default_rng(0)


def parts(count: int) -> list[dict[str, np.ndarray]]:
    return [{"a": RNG.standard_normal(3), "b": RNG.standard_normal((3, 3))} for _ in range(count)]


def product(part):
    return part["b"] @ part["a"], jnp.sum(part["a"])


@pytest.mark.parametrize("count", [1, 8, 9])
def test_each_part_has_its_own_answer(count):
    given = parts(count)
    found = for_each(product, given)
    assert len(found) == count
    for part, (vector, total) in zip(given, found, strict=True):
        np.testing.assert_allclose(vector, part["b"] @ part["a"], atol=1e-12)
        np.testing.assert_allclose(total, part["a"].sum(), atol=1e-12)


def test_parts_that_are_not_alike_are_worked_through_one_by_one():
    sizes = [RNG.standard_normal(size) for size in range(1, 11)]
    assert [one.shape for one in for_each(lambda part: 2.0 * part, sizes)] == [(size,) for size in range(1, 11)]


@pytest.mark.parametrize(("count", "times"), [(8, 8), (30, 1)])
def test_it_is_written_once_for_many(count, times):
    written = []

    def noting(part):
        written.append(1)
        return product(part)

    for_each(noting, parts(count))
    assert len(written) == times
