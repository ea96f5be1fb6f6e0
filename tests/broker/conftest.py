"""What the broker's own tests need."""

import pytest

from tests.broker.clients import make_topic


@pytest.fixture(scope="session")
def topic(broker):
    """A topic of four partitions."""
    make_topic(broker, "of-broker-tests", 4)
    return "of-broker-tests"
