"""One small training problem that most tests share, so that its step is compiled once."""

import pytest

import gpssm
from tests.fit.small_task import Task, free_states, padded, sparse_model


@pytest.fixture(scope="session")
def task() -> Task:
    """A GP model with free states, expectations on one random path, q(u) trained by gradients."""
    data = padded((12, 9, 12), seed=0)
    return Task(sparse_model(), gpssm.MeanField(free_states(data), gpssm.Explicit(), gpssm.MonteCarlo(1)), data)
