"""One small training problem that most tests share, so that its step is compiled once."""

from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from gpjax.kernels import RBF, AbstractKernel
from gpjax.kernels.computations import DenseKernelComputation
from jaxtyping import Array, Float, PRNGKeyArray

import gpssm
from gpssm._core._params import cast
from gpssm.fitting import Run, Status
from gpssm.fitting._problem import prepare
from gpssm.inference import AbstractInference, Explicit, MeanField, MonteCarlo, PerStepStates
from gpssm.models import GPSSM, Batch, GaussMarkov, LinearGaussian, SparseGP
from gpssm.optimisers import AbstractOptimiser, Adam, Trained, Training
from tests.reference.compiling import constant, jit

OPTIMISER = optax.adam(1e-2)
"""One object whatever the number of steps: for each object the step is compiled anew."""
EVERY = 50
"""Steps between two looks at the training; numbers of steps that are multiples of it need one compilation only."""


@dataclass(frozen=True)
class Task:
    """A model, its inference and data of one shape, in standardised units."""

    model: GPSSM
    inference: AbstractInference
    data: Batch
    transformation: optax.GradientTransformation = field(default=OPTIMISER)

    @property
    def tree(self) -> tuple[GPSSM, AbstractInference]:
        """As optimisers take it."""
        return prepare((self.model, self.inference), np.float64)

    def adam(self, steps: int, **options: Any) -> Adam:
        """An optimiser whose compiled step all tests share."""
        return Adam(steps, transformation=self.transformation, **options)

    def train(
        self,
        optimiser: AbstractOptimiser,
        *,
        key: PRNGKeyArray,
        run: Run | None = None,
        held_out: Batch | None = None,
        freeze: Any = None,
    ) -> Trained:
        """Run an optimiser on it, in a stage as a method would make."""
        stage = (Run() if run is None else run).stage("train", shown=type(optimiser).__name__)
        return optimiser.run(self.tree, Training(self.data, held_out, freeze), stage, key=key)


def small_episodes(lengths: tuple[int, ...], *, seed: int) -> gpssm.Episodes:
    """Records of a first-order system with one input."""
    rng = np.random.default_rng(seed)
    ys, us = [], []
    for steps in lengths:
        u, x, y = rng.standard_normal((steps, 1)), rng.standard_normal(), np.zeros((steps, 1))
        for t in range(steps):
            y[t] = x + 0.1 * rng.standard_normal()
            x = 0.7 * x + 0.6 * np.tanh(u[t, 0]) + 0.1 * rng.standard_normal()
        ys.append(y)
        us.append(u)
    return gpssm.Episodes.from_arrays(y=ys, u=us)


def padded(lengths: tuple[int, ...], *, seed: int, length: int = 12) -> Batch:
    """Such records, standardised, for traced code."""
    episodes = small_episodes(lengths, seed=seed)
    return Batch.of(gpssm.Scaler.from_episodes(episodes).apply(episodes), length=length)


@jit
def sparse_model(*, inducing: int = 5, seed: int = 0) -> GPSSM:
    """One state, one input, one output; a GP with a few inducing inputs."""
    points = jnp.asarray(np.random.default_rng(seed).standard_normal((inducing, 2)))
    kernel = RBF(lengthscale=jnp.asarray(np.full(2, 1.5)), variance=0.5)
    transition = SparseGP.create(kernel, points, state_dim=1, noise=0.05, key=jr.key(seed))
    emission = LinearGaussian.first_states(1, 1, noise=0.05)
    return cast(GPSSM(transition, emission, 1), jnp.float64)


@jit
def free_states(data: Batch) -> PerStepStates:
    """States at each step that start at the (filled) outputs."""
    eye = np.ones((*data.y.shape, 1))
    return PerStepStates.from_posterior(GaussMarkov(data.y, jnp.asarray(0.5 * eye), jnp.asarray(0.3 * eye)))


@constant
def small_task() -> Task:
    """A GP model with states at each step, expectations on one random path, q(u) trained by gradients."""
    data = padded((12, 9, 12), seed=0)
    return Task(sparse_model(), MeanField(free_states(data), Explicit(), MonteCarlo(1)), data)


def leaves(tree: Any) -> list[np.ndarray]:
    """All numbers of a tree."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))]


def equal(a: Any, b: Any) -> bool:
    """Whether two trees are equal to the bit."""
    return all(np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))


def finite(tree: Any) -> bool:
    """Whether there is neither NaN nor infinity in a tree."""
    return all(np.isfinite(leaf).all() for leaf in leaves(tree))


class Listening:
    """Keeps what it is told."""

    def __init__(self):
        self.messages: list[str] = []

    def update(self, status: Status) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        self.messages.append(message)


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
    transition = SparseGP.create(Indefinite(5e-4), points, state_dim=1, noise=0.05)
    model = GPSSM(transition, LinearGaussian.first_states(1, 1, noise=0.05), 1)
    return Task(cast(model, jnp.float64), MeanField(free_states(data)), data)
