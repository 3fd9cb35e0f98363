"""Small training problems."""

from dataclasses import dataclass, field

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from gpjax.kernels import RBF, AbstractKernel
from gpjax.kernels.computations import DenseKernelComputation
from jaxtyping import Array, Float

import gpssm
from gpssm._core._params import cast
from gpssm.models._batch import Batch

OPTIMISER = optax.adam(1e-2)
EVERY = 50
"""Steps between two looks at the training; numbers of steps that are multiples of it need one compilation only."""


@dataclass(frozen=True)
class Task:
    """A model, its inference and data of one shape, in standardised units."""

    model: gpssm.GPSSM
    inference: gpssm.MeanField
    data: gpssm.Batch
    optimiser: optax.GradientTransformation = field(default=OPTIMISER)


def padded(lengths: tuple[int, ...], *, seed: int, length: int = 12) -> gpssm.Batch:
    """Records of a first-order system with one input, standardised."""
    rng = np.random.default_rng(seed)
    ys, us = [], []
    for steps in lengths:
        u, x, y = rng.standard_normal((steps, 1)), rng.standard_normal(), np.zeros((steps, 1))
        for t in range(steps):
            y[t] = x + 0.1 * rng.standard_normal()
            x = 0.7 * x + 0.6 * np.tanh(u[t, 0]) + 0.1 * rng.standard_normal()
        ys.append(y)
        us.append(u)
    episodes = gpssm.Episodes.from_arrays(y=ys, u=us)
    return Batch.of(gpssm.Scaler.from_episodes(episodes).apply(episodes), length=length)


def sparse_model(*, inducing: int = 5, seed: int = 0) -> gpssm.GPSSM:
    """One state, one input, one output; a GP with a few inducing inputs."""
    points = jnp.asarray(np.random.default_rng(seed).standard_normal((inducing, 2)))
    kernel = RBF(lengthscale=jnp.full(2, 1.5), variance=0.5)
    transition = gpssm.SparseGP.create(kernel, points, state_dim=1, noise=0.05, key=jr.key(seed))
    emission = gpssm.LinearGaussian.first_states(1, 1, noise=0.05)
    return cast(gpssm.GPSSM(transition, emission, 1), jnp.float64)


def free_states(data: gpssm.Batch) -> gpssm.PerStepStates:
    """Free states that start at the (filled) outputs."""
    eye = jnp.broadcast_to(jnp.eye(1), (*data.y.shape, 1))
    return gpssm.PerStepStates.from_posterior(gpssm.GaussMarkov(data.y, 0.5 * eye, 0.3 * eye))


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
    return Task(cast(model, jnp.float64), gpssm.MeanField(free_states(data)), data)
