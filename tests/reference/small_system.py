"""One small nonlinear system, identified once for all tests that need a learnt model."""

import numpy as np

import gpssm
from tests.reference.compiling import constant

LENGTHS = (30, 22, 30)


def record(steps: int, *, seed: int, missing: float = 0.0) -> gpssm.Episode:
    """x[t+1] = 0.7 x[t] + sin(2 u[t]) + noise, measured with noise; a share of the outputs may be missing."""
    rng = np.random.default_rng(seed)
    u, x, y = rng.uniform(-1.5, 1.5, (steps, 1)), 0.0, np.zeros((steps, 1))
    for t in range(steps):
        y[t] = x + 0.1 * rng.standard_normal()
        x = 0.7 * x + np.sin(2.0 * u[t, 0]) + 0.1 * rng.standard_normal()
    y[rng.uniform(size=y.shape) < missing] = np.nan
    return gpssm.Episode(y=y, u=u, dt=0.5, name=f"record {seed}", output_names=["level"], input_names=["valve"])


def records(*, missing: float = 0.0) -> gpssm.Episodes:
    """The training records, of unequal length."""
    return gpssm.Episodes([record(length, seed=i, missing=missing) for i, length in enumerate(LENGTHS)])


def fit(episodes: gpssm.Episodes) -> gpssm.Fit:
    """Learning with the same settings, so that a second call with data of the same shape compiles nothing."""
    method = gpssm.Polished(states=1, num_inducing=6, hidden=4, steps=100, iterations=20, network_steps=50)
    return gpssm.fit(episodes, method, progress=gpssm.Silent(), seed=0)


def identify(episodes: gpssm.Episodes) -> gpssm.System:
    """The system of such a fit."""
    system = fit(episodes).system
    assert isinstance(system, gpssm.System)
    return system


def train(episodes: gpssm.Episodes) -> gpssm.System:
    """A model and its network, trained together by a few steps and no more: much quicker than `identify`."""
    method = gpssm.Variational(
        gpssm.ModelSpec(1, num_inducing=6), q_x=gpssm.Network(4), optimiser=gpssm.optimisers.Adam(150)
    )
    system = gpssm.fit(episodes, method, progress=gpssm.Silent(), seed=0).system
    assert isinstance(system, gpssm.System)
    return system


@constant
def trained() -> gpssm.System:
    """The system trained on the records."""
    return train(records())


@constant
def identified() -> gpssm.System:
    """The system learnt from the records."""
    return identify(records())
