"""A small partition of a real broker's log, for each engine."""

import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from tests.sources.batches import read_rows


@pytest.fixture(scope="module")
def partition(captures):
    """The smallest partition's folder of a capture."""
    return captures / "kafka-4.0.0-zstd" / "segments" / "__consumer_offsets-0"


@pytest.fixture(scope="module")
def expected(partition):
    """Its rows, as the embedded engine reads them."""
    return read_rows(EmbeddedEngine(), str(partition))
