"""A model of one state with given inducing values, data drawn from it, and its evidence on a fixed fine grid."""

import jax.numpy as jnp
import numpy as np
from gpjax.kernels import RBF

from gpssm.data import Episodes
from gpssm.inference.marginal import GivenFunction
from gpssm.models import GPSSM, LinearGaussian, SparseGP
from tests.reference.kernels import matrix, rbf

SCALE, VARIANCE = 0.8, 0.6
"""Of the RBF kernel."""


def scalar_model(*, noise: float, process: float, size: int = 5, seed: int = 0) -> tuple[GPSSM, np.ndarray]:
    """One state, an RBF kernel on a grid, inducing values from the prior."""
    inducing = np.linspace(-2.0, 2.0, size)[:, None]
    created = SparseGP.create(
        RBF(lengthscale=jnp.asarray([SCALE]), variance=VARIANCE), jnp.asarray(inducing), state_dim=1, noise=process
    )
    emission = LinearGaussian.first_states(1, 1, noise=noise)
    values = np.random.default_rng(seed).standard_normal((1, size))
    return GPSSM(created, emission, 1), values


def simulated(model: GPSSM, values: np.ndarray, *, episodes: int, steps: int, seed: int) -> Episodes:
    function = GivenFunction.of(model.transition, jnp.asarray(values))
    table = np.linspace(-8.0, 8.0, 2001)
    images = np.asarray(function(jnp.asarray(table)[:, None], jnp.zeros(0))[0])[:, 0]
    rng = np.random.default_rng(seed)
    process, noise = float(model.transition.noise_variance()[0]), float(model.emission.noise_variance()[0])
    found = []
    for _ in range(episodes):
        x, y = rng.standard_normal(), []
        for _ in range(steps):
            y.append(x + np.sqrt(noise) * rng.standard_normal())
            x = np.interp(x, table, images) + np.sqrt(process) * rng.standard_normal()
        found.append(np.asarray(y)[:, None])
    return Episodes.from_arrays(y=found)


def grid_evidence(
    model: GPSSM,
    values: np.ndarray,
    episodes: Episodes,
    *,
    low: float = -9.0,
    high: float = 9.0,
    size: int = 3000,
    fitc: bool = False,
) -> float:
    """By a fixed fine grid and plain NumPy: p(x) as a histogram, moved by a dense matrix. With `fitc`, what inducing
    values leave of the prior variance is noise of the process."""
    transition = model.transition
    assert isinstance(transition, SparseGP)
    z = np.asarray(transition.inducing)
    k = rbf(SCALE, VARIANCE)
    K = matrix(k, z, z)
    L = np.linalg.cholesky(K + 1e-6 * VARIANCE * np.eye(len(z)))
    x = np.linspace(low, high, size)
    cross = np.linalg.solve(L, matrix(k, z, x[:, None]))
    images = x + values[0] @ cross
    process, noise = transition.noise_variance()[0], float(model.emission.noise_variance()[0])
    process = float(process) + (VARIANCE - (cross**2).sum(axis=0) if fitc else np.zeros(size))[None, :]
    move = np.exp(-0.5 * (x[:, None] - images[None, :]) ** 2 / process) / np.sqrt(2.0 * np.pi * process)
    cell, total = x[1] - x[0], 0.0
    for episode in episodes:
        density = np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)
        for t in range(len(episode)):
            if t > 0:
                density = move @ density * cell
            if episode.observed[t, 0]:
                density = density * np.exp(-0.5 * (episode.y[t, 0] - x) ** 2 / noise) / np.sqrt(2.0 * np.pi * noise)
                total += np.log(density.sum() * cell)
                density /= density.sum() * cell
    return total
