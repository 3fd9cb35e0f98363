"""Systems to predict with: a linear one whose answers are known, and a small one that was learnt."""

import pytest

import gpssm
from tests.reference.linear_case import LinearCase, linear_case
from tests.reference.small_system import record, trained


@pytest.fixture(scope="session")
def linear() -> LinearCase:
    """Two states, two outputs, one input."""
    return linear_case()


@pytest.fixture(scope="session")
def small() -> gpssm.System:
    """The small learnt system."""
    return trained()


@pytest.fixture(scope="session")
def unseen() -> gpssm.Episode:
    """A record of the small system that was not trained on, as long as the training records."""
    return record(30, seed=99)
