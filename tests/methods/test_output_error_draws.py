"""Models drawn from the posterior of an output-error fit: the posterior decides, not the Gaussian they are drawn by."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm.methods.output_error._draws import CHAINS, KEPT, drawn_models, posterior_at
from gpssm.methods.output_error._parameters import flat, linear_part, residuals
from tests.methods.test_output_error_posterior import problem

SCALE = 0.4


@pytest.mark.system
@pytest.mark.parametrize("wrong", [1.0, 0.1, 5.0])
def test_draws_are_those_of_the_posterior_however_wrong_its_curvature(wrong: float):
    """Only the offset of the emission is free: residuals are linear in it, and its posterior is known. The prior says
    as much as the data, and something else."""
    made = problem()
    empty = eqx.tree_at(lambda p: p.emission.offset, made.parameters, jnp.full(1, np.inf))
    free = ~np.isfinite(flat(empty))
    assert free.sum() == 1
    missed = np.asarray(residuals(made.parameters, made.frame, made.records))[:, 0]
    told = len(missed) / SCALE**2
    precision = np.full(len(free), told)
    exact, expected = 2.0 * told, 0.8
    best = (missed.sum() / SCALE**2 + told * expected) / exact
    curvature = np.zeros((len(free), len(free)))
    curvature[free, free] = wrong * exact - told
    centre, at = flat(made.parameters), flat(made.parameters)
    centre[free] += expected
    at[free] += best
    posterior = posterior_at(at, free, centre, precision, curvature, np.array([SCALE]))
    drawn = drawn_models(posterior, made.parameters, made.frame, made.records, jr.key(1))
    offsets = np.asarray(drawn.emission[1])[:, 0] - float(made.parameters.emission.offset[0])
    assert len(offsets) == CHAINS * KEPT
    # 16 chains whose draws are nearly independent: four standard errors of a mean of 64 and of a deviation.
    assert abs(offsets.mean() - best) < 4.0 / np.sqrt(64 * exact)
    assert 0.65 < offsets.std() * np.sqrt(exact) < 1.4
    # What is held does not move.
    np.testing.assert_array_equal(drawn.values, np.broadcast_to(made.parameters.values, drawn.values.shape))
    np.testing.assert_allclose(drawn.mean[0][0], linear_part(made.parameters, made.frame).state_matrix, rtol=1e-12)


@pytest.mark.system
def test_all_parts_are_drawn_and_every_linear_part_is_stable():
    made = problem()
    drawn = made.drawn(jr.key(2))
    for part in (drawn.values, *drawn.mean, *drawn.emission):
        assert np.asarray(part).reshape(CHAINS * KEPT, -1).std(axis=0).min() > 0.0
    radii = np.abs(np.linalg.eigvals(np.asarray(drawn.mean[0]))).max(axis=1)
    assert radii.max() < 1.0
    assert drawn.fits(made.model())
