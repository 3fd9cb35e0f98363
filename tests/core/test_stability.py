"""Recurrences that are pulled back to the edge of stability."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._stability import companion, spectral_radius, stabilise

LIMIT = 0.9


def everything(recurrence: np.ndarray) -> tuple[np.ndarray, ...]:
    """The companion matrix, its radius, and the companion of the recurrence that has been pulled back."""
    matrix = companion(recurrence)
    return matrix, spectral_radius(matrix), companion(stabilise(recurrence, LIMIT))


def _recurrence(lags: int, outputs: int, seed: int, size: float) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal((lags, outputs, outputs))


def _radius(matrix: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(np.asarray(matrix))).max())


@pytest.mark.parametrize(("lags", "outputs"), [(1, 1), (4, 1), (2, 3)])
@given(seed=st.integers(0, 1000), size=st.floats(0.01, 3.0))
@settings(max_examples=15, deadline=None)
def test_the_radius_is_that_of_the_eigenvalues_and_is_bounded(lags: int, outputs: int, seed: int, size: float):
    matrix, radius, after = everything(_recurrence(lags, outputs, seed, size))
    assert float(radius) == pytest.approx(_radius(matrix), rel=1e-9)
    assert _radius(after) == pytest.approx(min(_radius(matrix), LIMIT), rel=1e-9)


def test_the_companion_matrix_makes_one_step_of_the_recurrence():
    recurrence, past = _recurrence(4, 1, 0, 1.0), np.random.default_rng(1).standard_normal((4, 1))
    following = sum(matrix @ y for matrix, y in zip(recurrence, past, strict=True))
    moved = np.asarray(everything(recurrence)[0]) @ past.ravel()
    np.testing.assert_allclose(moved, [*following, *past[:-1].ravel()], rtol=1e-12)


def test_eigenvalues_keep_their_directions():
    matrix, _, calm = everything(_recurrence(4, 1, 3, 1.5))
    before, after = (np.sort_complex(np.linalg.eigvals(np.asarray(part))) for part in (matrix, calm))
    assert _radius(matrix) > LIMIT
    np.testing.assert_allclose(after, before * LIMIT / np.abs(before).max(), rtol=1e-9)


def test_nothing_at_all_stays_nothing():
    _, radius, calm = everything(np.zeros((1, 1, 1)))
    assert float(radius) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_array_equal(calm, np.zeros((1, 1)))


def test_each_of_many_recurrences_is_pulled_back_by_itself():
    many = np.stack([_recurrence(3, 2, seed, size) for seed, size in enumerate((0.05, 0.4, 2.0))])
    one_by_one = np.stack([stabilise(recurrence, LIMIT) for recurrence in many])
    np.testing.assert_array_equal(stabilise(many, LIMIT), one_by_one)
    assert np.array_equal(one_by_one[0], many[0]) and not np.array_equal(one_by_one[2], many[2])
