"""States where records were lost that compaction would have kept: unknown from there on, until the group is deleted."""

from datetime import datetime, timezone

import pytest

from kip848_records.timeline import group_events, judge, last_states, lost_records, partition_losses
from tests.timeline.stories import COMPACTED, COMPLETE, Story, records_of
from tests.timeline.tables import record_table

LIVED = "1: 5 a, 3 1, 7 a, 6 1, 8 a 1"
DELETED = "50: 8 a x, 7 a x, 6 x, 5 a x, 3 x"
STORIES = [
    Story("damaged", LIVED),
    Story("neighbour", LIVED),
    Story("reborn", f"{LIVED}\n{DELETED}\n60: 5 b, 3 1, 7 b, 6 1, 8 b 1"),
    Story("beside", f"{LIVED}\n70: 5 c, 3 2, 7 c, 6 2, 8 c 2, 8 a 2", history=COMPACTED),
    Story("before", LIVED, history=COMPACTED),
    Story("deleted beside", f"{LIVED}\n.\n.\n{DELETED}\n60: 5 b, 3 1, 7 b, 6 1, 8 b 1", history=COMPACTED),
]


def key(group_id, key_type=8):
    return key_type.to_bytes(2, "big") + len(group_id).to_bytes(2, "big") + group_id.encode() + b"\0\1a"


@pytest.fixture(scope="module")
def states(spark):
    """The last state of each group."""
    starts = {story.name: 100 * nth for nth, story in enumerate(STORIES[:3])}
    lost = [
        (COMPLETE, starts["damaged"] + 50, key("damaged")),
        (COMPLETE, starts["reborn"] + 2, key("reborn", 5)),
        (COMPLETE, starts["neighbour"] + 50, key("neighbour", 1)),  # an offset commit
        (COMPACTED, 150, key("x")[:4]),  # of nobody knows whom
        (COMPACTED, 1, None),  # a batch that cannot be read
        (COMPACTED, 900, None),  # the cut end of a live copy
    ]
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    quarantine = spark.createDataFrame(
        [(partition, offset, at, written) for partition, offset, written in lost],
        "partition int, offset bigint, timestamp timestamp, key binary",
    )
    history = spark.createDataFrame(
        [(partition, 0, False, end) for partition, end in ((COMPLETE, 350), (COMPACTED, 250))],
        "partition int, complete_from bigint, head_missing boolean, last_offset bigint",
    )
    lost, losses = lost_records(quarantine), partition_losses(quarantine, history)
    events = group_events(record_table(spark, records_of(STORIES)), history, lost, losses)
    return {row.group_id: row.state for row in last_states(judge(events)).collect()}


def test_last_states(states):
    assert states == {
        "damaged": "unknown",
        "neighbour": "Stable",
        "reborn": "Stable",
        "beside": "unknown",
        "before": "unknown",
        "deleted beside": "Stable",
    }
