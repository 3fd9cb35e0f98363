"""The system whose filters are known in closed form."""

import pytest

from tests.reference.linear_case import LinearCase, linear_case


@pytest.fixture(scope="session")
def linear() -> LinearCase:
    """Two states, two outputs, one input."""
    return linear_case()
