"""A training problem whose kernel matrix can only be factorised with much jitter."""

import jax.numpy as jnp
from gpjax.kernels import AbstractKernel
from gpjax.kernels.computations import DenseKernelComputation
from jaxtyping import Array, Float

import gpssm
from gpssm._params import cast
from tests.fit.conftest import Task, free_states, padded


class Indefinite(AbstractKernel):
    """1 on the diagonal and 1 + excess off it: the smallest eigenvalue of any matrix is -excess."""

    excess: Float[Array, ""]

    def __init__(self, excess: float):
        super().__init__(compute_engine=DenseKernelComputation())
        self.excess = jnp.asarray(excess)

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.where(jnp.all(x == y), 1.0, 1.0 + self.excess)


def indefinite_task() -> Task:
    """An excess of 5e-4 takes a relative jitter of 1e-3."""
    data = padded((8, 8), seed=0, length=8)
    points = jnp.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    transition = gpssm.SparseGP.create(Indefinite(5e-4), points, state_dim=1, noise=0.05)
    model = gpssm.GPSSM(transition, gpssm.LinearGaussian.first_states(1, 1, noise=0.05), 1)
    return Task(cast(model, jnp.float64), gpssm.Variational(free_states(data)), data)
