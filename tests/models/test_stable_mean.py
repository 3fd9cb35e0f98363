"""A linear mean function that cannot become unstable, whatever training does to it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.models import LinearMean, StableMean
from tests.reference.compiling import jit

A = np.array([[0.9, 0.6], [-0.1, 0.7]])
B, C = np.array([[0.3], [-1.2]]), np.array([0.2, -0.4])


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def test_it_is_the_linear_map_that_it_was_made_around():
    rng = np.random.default_rng(0)
    x, u = rng.standard_normal((5, 2)), rng.standard_normal((5, 1))
    found = jit(lambda mean, x, u: mean(x, u))(StableMean.around(A, B, C), x, u)
    np.testing.assert_allclose(found, x @ A.T + u @ B.T + C, atol=1e-10)
    one = StableMean.around(A, B, C)(jnp.asarray(x[0]), jnp.asarray(u[0]))
    np.testing.assert_allclose(one, A @ x[0] + B @ u[0] + C, atol=1e-10)


def test_no_change_makes_it_unstable_and_every_change_moves_it():
    rng, mean = np.random.default_rng(1), StableMean.around(A, B, C)
    for size in (0.1, 3.0, 100.0):
        moved = StableMean(
            mean.stable, jax.numpy.asarray(size * rng.standard_normal((2, 2))), mean.control_matrix, mean.offset
        )
        linear = moved.linear()
        assert isinstance(linear, LinearMean)
        assert np.abs(np.linalg.eigvals(np.asarray(linear.state_matrix))).max() < 1.0
        assert np.abs(np.asarray(linear.state_matrix) - A).max() > 1e-3


def test_what_it_was_made_around_is_held_in_training():
    def squared(mean: StableMean) -> jax.Array:
        return jax.numpy.sum(mean(jax.numpy.ones(2), jax.numpy.ones(1)) ** 2)

    slopes = jax.grad(squared)(StableMean.around(A, B, C))
    assert all(not np.asarray(leaf).any() for leaf in jax.tree.leaves(slopes.stable))
    assert all(np.asarray(leaf).any() for leaf in (slopes.change, slopes.control_matrix, slopes.offset))
