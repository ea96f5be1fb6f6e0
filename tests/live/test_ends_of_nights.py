"""Nights that end at odd places of the log: the tables are those of one run over all of it.

The product is its own oracle: several runs are compared with its one run. `tests/pipeline/test_audit.py` compares one
run with Kafka's own tools.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.simulate.partition_log import KAFKA_ROWS
from kip848_records.simulate.spec import START_MS
from tests.live.topics import Topic, ends_of, read_as_consumed, tables
from tests.simulator.scenario import Scenario

GROUP_EPOCH = 3


def topic_of(folder, rows):
    pq.write_table(pa.Table.from_pylist(rows, KAFKA_ROWS), folder / "dump.parquet")
    return Topic(read_as_consumed(folder / "dump.parquet"), {})


def assert_as_one_run(topic, folder):
    """The tables of the nights so far are those of one run over all that they read."""
    topic.audit(folder / "once")
    nights, once = (tables(folder / out) for out in ("nights", "once"))
    assert nights.keys() == once.keys()
    for name in once:
        assert nights[name] == once[name], name


def operations_of_more_than_one_record(group_id):
    """Two members join within the same millisecond, and one of them subscribes to another topic."""
    story = Scenario()
    story.topic("orders", partitions=2)
    story.topic("payments", partitions=1)
    group = story.group(group_id)
    ann = group.join("ann", ["orders"])
    group.join("bob", ["orders"])
    story.advance(20_000)
    ann.subscribe(["orders", "payments"])
    story.advance(20_000)
    return [{**row, "timestamp": row["timestamp"] // 1_000_000 * 1_000_000} for row in story.capture().rows()]


@pytest.mark.usefixtures("each_engine")
@pytest.mark.nightly
def test_a_night_may_end_behind_any_record(tmp_path):
    """The records of one operation may be read by two runs."""
    ends = range(1, len(operations_of_more_than_one_record("g")))
    rows = [{**row, "partition": end} for end in ends for row in operations_of_more_than_one_record(f"ends at {end}")]
    topic = topic_of(tmp_path, rows)
    for until in ({end: end for end in ends}, ends_of(topic.rows)):
        topic.until = until
        topic.audit(tmp_path / "nights")
    assert_as_one_run(topic, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("joining", [("bob",), ("bob", "cy")])
def test_epochs_that_are_assigned_before_they_are_bumped_to(tmp_path, joining):
    """No coordinator does so; yet each row is there once, and the same as in one run."""
    story = Scenario()
    story.topic("orders", partitions=2)
    group = story.group("g")
    group.join("ann", ["orders"])
    story.advance(5_000)
    for member in joining:
        group.join(member, ["orders"])
    story.advance(30_000)
    capture = story.capture()
    for record in capture.records:
        if record["type"] == GROUP_EPOCH:
            record["value"]["epoch"] -= 1
    topic = topic_of(tmp_path, capture.rows())
    joined = sum(record["timestamp"] < START_MS + 6_000 for record in capture.records)
    for until in ({0: joined}, ends_of(topic.rows)):
        topic.until = until
        topic.audit(tmp_path / "nights")
    assert_as_one_run(topic, tmp_path)
