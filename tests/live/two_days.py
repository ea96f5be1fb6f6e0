"""A small log of two days: what is old enough to go, what is not, and groups that go through both."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.simulate.partition_log import KAFKA_ROWS
from tests.live.topics import Topic, read_as_consumed
from tests.simulator.scenario import Capture, Scenario

HOURS = 60 * 60 * 1000
FIRST_DAY = {0: 25, 1: 34}
"""Where the partitions end after the first day."""


def two_days() -> Capture:
    story = Scenario(partitions=2)
    story.topic("orders", partitions=4)
    busy = story.group("busy")
    busy.join("ann", ["orders"])
    story.advance(5_000)
    bob = busy.join("bob", ["orders"])
    story.advance(20_000)
    bob.leave()
    story.advance(10_000)
    gone = story.group("gone")
    member = gone.join("soon gone", ["orders"])
    story.advance(10_000)
    member.leave()
    story.advance(5_000)
    gone.delete()
    story.group("quiet").join("quiet", ["orders"])
    story.advance(10_000)
    stuck = story.group("stuck")
    stuck.join("holder", ["orders"], revoke_ms=None)
    story.advance(5_000)
    stuck.join("waiting", ["orders"])
    story.advance(48 * HOURS)
    cy = busy.join("cy", ["orders"])
    story.advance(30_000)
    story.group("new").join("new", ["orders"])
    story.advance(10_000)
    cy.leave()
    story.advance(20_000)
    return story.capture()


def write(folder: Path) -> None:
    """Write the log as rows of the Kafka source."""
    pq.write_table(pa.Table.from_pylist(two_days().rows(), KAFKA_ROWS), folder / "dump.parquet")


def topic(folder: Path, until: dict[int, int]) -> Topic:
    """The log that was written there, as a live topic that ends there yet."""
    return Topic(read_as_consumed(folder / "dump.parquet"), until)
