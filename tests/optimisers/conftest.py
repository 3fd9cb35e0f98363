"""The training problem that most tests share."""

import pytest

from tests.optimisers.small_task import Task, small_task


@pytest.fixture(scope="session")
def task() -> Task:
    """A GP model with states at each step."""
    return small_task()
