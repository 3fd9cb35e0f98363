"""Moments of functions of RBF kernels in closed form, against many nodes."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF, Matern32
from jaxtyping import Array, Float

from gpssm.data import Episodes
from gpssm.inference import GaussHermite
from gpssm.inference.marginal import (
    ExactMoments,
    GivenFunction,
    OnNodes,
    evidence_of,
)
from gpssm.models import GPSSM, AbstractMean, Batch, LinearGaussian, LinearMean, SparseGP
from tests.reference.compiling import jit


def curved(dims: int, kernels: int, inputs: int = 1, each: bool = False) -> GPSSM:
    rng = np.random.default_rng(dims + kernels)
    made = [
        RBF(lengthscale=jnp.asarray(rng.uniform(0.6, 1.5, dims + inputs)), variance=float(rng.uniform(0.3, 1.0)))
        for _ in range(kernels)
    ]
    mean = LinearMean(
        jnp.asarray(rng.standard_normal((dims, dims))), jnp.asarray(rng.standard_normal((dims, inputs))), jnp.ones(dims)
    )
    shape = (dims, 7, dims + inputs) if each else (7, dims + inputs)
    created = SparseGP.create(made, jnp.asarray(rng.standard_normal(shape)), state_dim=dims, mean=mean)
    return GPSSM(created, LinearGaussian.first_states(1, dims), dims)


@jit
def carried(carry, model, values, mean, chol, u):
    return carry(GivenFunction.of(model.transition, values), mean, chol, u)


@pytest.mark.parametrize(
    ("dims", "kernels", "each"), [(1, 1, False), (2, 1, False), (2, 2, False), (2, 1, True), (3, 3, False)]
)
def test_exact_moments_are_those_of_many_nodes(dims: int, kernels: int, each: bool):
    model, rng = curved(dims, kernels, each=each), np.random.default_rng(8)
    values = jnp.asarray(rng.standard_normal((dims, 7)))
    chol = jnp.asarray(np.tril(0.4 * rng.standard_normal((dims, dims))) + 0.4 * np.eye(dims))
    given = (model, values, jnp.asarray(rng.standard_normal(dims)), chol, jnp.asarray(rng.standard_normal(1)))
    found = carried(ExactMoments(), *given)
    expected = carried(OnNodes(GaussHermite({1: 60, 2: 40, 3: 22}[dims])), *given)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_exact_moments_have_gradients_that_finite_differences_confirm():
    model, values = curved(2, 2), jnp.asarray(np.random.default_rng(3).standard_normal((2, 7)))
    batch = Batch.of(Episodes.from_arrays(y=[np.random.default_rng(4).standard_normal((6, 1))], u=[np.ones((6, 1))]))

    @jit
    @jax.value_and_grad
    def evidence(values):
        return evidence_of(model, values, batch, ExactMoments(), fitc=False).log_evidence

    slope, step = evidence(values)[1], 1e-5 * jr.normal(jr.key(0), values.shape)
    difference = float(evidence(values + step)[0] - evidence(values - step)[0]) / 2.0
    np.testing.assert_allclose(float(jnp.sum(slope * step)), difference, rtol=1e-5)


def test_exact_moments_of_other_kernels_are_refused():
    created = SparseGP.create(Matern32(lengthscale=1.0), jnp.zeros((3, 1)), state_dim=1)
    model = GPSSM(created, LinearGaussian.first_states(1, 1), 1)
    with pytest.raises(TypeError, match="RBF kernels over all inputs, not for Matern32"):
        carried(ExactMoments(), model, jnp.zeros((1, 3)), jnp.zeros(1), jnp.eye(1), jnp.zeros(0))


class Bent(AbstractMean):
    """No line."""

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """A sine."""
        return jnp.sin(x)


def test_exact_moments_of_mean_functions_that_bend_are_refused():
    created = SparseGP.create(RBF(lengthscale=1.0), jnp.zeros((3, 1)), state_dim=1, mean=Bent())
    model = GPSSM(created, LinearGaussian.first_states(1, 1), 1)
    with pytest.raises(TypeError, match="linear in the state, not Bent"):
        carried(ExactMoments(), model, jnp.zeros((1, 3)), jnp.zeros(1), jnp.eye(1), jnp.zeros(0))
