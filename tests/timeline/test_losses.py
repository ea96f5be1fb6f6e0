"""States where records were lost that compaction would have kept: unknown from there on, until the group is deleted."""

from collections import defaultdict
from datetime import datetime, timezone

import pytest

from kip848_records.protocol.segments.survey import CUT
from kip848_records.timeline import PartitionHistory, group_events, lost_records, partition_losses
from tests.timeline.logs import CAPTURED_AT
from tests.timeline.spark_rows import rows_of
from tests.timeline.stories import COMPACTED, COMPLETE, START, Story, in_story_time, records_of
from tests.timeline.tables import record_table

LIVED = "1: 5 a, 3 1, 7 a, 6 1, 8 a 1"
DELETED = "50: 8 a x, 7 a x, 6 x, 5 a x, 3 x"
STORIES = [
    Story("damaged", LIVED),
    Story("neighbour", LIVED),
    Story("reborn", f"{LIVED}\n{DELETED}\n60: 5 b, 3 1, 7 b, 6 1, 8 b 1"),
    Story("classic", "1: 2 5/3"),
    Story("classic again", "1: 2 5/3\n.\n70: 2 6/2"),
    Story("never seen", ""),
    Story("deleted classic", "1: 2 5/3\n2: 2 x"),
    Story("upgraded", ".\n1: 5 a, 3 6, 7 a, 6 6, 8 a 6"),
    Story("downgraded", f"{LIVED}\n{DELETED}"),
    Story("unseen consumers", ""),
    Story("waiting", "1: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 2"),
    Story("beside", f"{LIVED}\n70: 5 c, 3 2, 7 c, 6 2, 8 c 2, 8 a 2", history=COMPACTED),
    Story("before", LIVED, history=COMPACTED),
    Story("deleted beside", f"{LIVED}\n.\n.\n{DELETED}\n60: 5 b, 3 1, 7 b, 6 1, 8 b 1", history=COMPACTED),
]
FIRST_OFFSET = {
    story.name: 100 * nth for nth, story in enumerate(story for story in STORIES if story.history == COMPLETE)
}
QUARANTINE = "partition int, offset bigint, timestamp timestamp, key binary, reason string, position int"
LOST_AT = datetime(2030, 1, 1, tzinfo=timezone.utc)


def key(group_id, key_type=8):
    return key_type.to_bytes(2, "big") + len(group_id).to_bytes(2, "big") + group_id.encode() + b"\0\1a"


@pytest.fixture(scope="module")
def told(spark):
    """The rows of the timelines of each group, by table and group."""
    lost = [
        (COMPLETE, FIRST_OFFSET["damaged"] + 50, key("damaged")),
        (COMPLETE, FIRST_OFFSET["reborn"] + 2, key("reborn", 5)),
        (COMPLETE, FIRST_OFFSET["neighbour"] + 50, key("neighbour", 1)),  # an offset commit
        (COMPLETE, FIRST_OFFSET["classic"] + 50, key("classic", 2)[:-3]),
        (COMPLETE, FIRST_OFFSET["classic again"] + 1, key("classic again", 2)[:-3]),
        (COMPLETE, FIRST_OFFSET["never seen"], key("never seen", 2)[:-3]),
        (COMPLETE, FIRST_OFFSET["deleted classic"] + 50, key("deleted classic", 2)[:-3]),
        (COMPLETE, FIRST_OFFSET["upgraded"], key("upgraded", 2)[:-3]),
        (COMPLETE, FIRST_OFFSET["downgraded"] + 50, key("downgraded", 2)[:-3]),
        (COMPLETE, FIRST_OFFSET["unseen consumers"], key("unseen consumers")),
        (COMPLETE, FIRST_OFFSET["waiting"] + 50, key("waiting")),
        (COMPACTED, 150, key("x")[:4]),  # of nobody knows whom
    ]
    quarantine = spark.createDataFrame(
        [(partition, offset, LOST_AT, written, "damaged", 3) for partition, offset, written in lost]
        + [
            (COMPACTED, 1, LOST_AT, None, "key is not base64", None),
            (COMPACTED, 900, None, None, f"file: {CUT} at byte 9", None),
        ],
        QUARANTINE,
    )
    history = {
        COMPLETE: PartitionHistory(((0, 1151),), head_missing=False, last_offset=1150),
        COMPACTED: PartitionHistory(((0, 251),), head_missing=False, last_offset=250),
    }
    lost, losses = lost_records(quarantine), partition_losses(quarantine, history)
    events = group_events(record_table(spark, records_of(STORIES)), history, lost, losses)
    told = {}
    for table, rows in rows_of(spark, events, CAPTURED_AT).items():
        told[table] = defaultdict(list)
        for row in in_story_time(rows):
            told[table][row["group_id"]].append(row)
    return told


@pytest.mark.parametrize(
    ("offset", "reason", "timestamp", "is_loss"),
    [
        (250, "a wrong CRC", None, False),  # another copy has it
        (200, "a wrong CRC", None, False),
        (199, "a wrong CRC", None, True),
        (200, "undecodable", LOST_AT, True),  # a record, which no other copy has otherwise
        (250, "undecodable", LOST_AT, True),
        (251, f"file: {CUT} at byte 9", None, False),
        (199, f"file: {CUT} at byte 9", None, True),
        (251, "a wrong CRC", None, True),  # who copies a live log gets whole batches, and one that is cut
        (251, "no record batch at byte 9", None, True),
    ],
)
def test_what_is_a_loss(spark, offset, reason, timestamp, is_loss):
    history = {0: PartitionHistory(((200, 251),), head_missing=False, last_offset=250)}
    quarantine = spark.createDataFrame([(0, offset, timestamp, None, reason, None)], QUARANTINE)
    found = [tuple(row) for row in partition_losses(quarantine, history).collect()]
    assert found == ([(0, offset, offset)] if is_loss else [])


def test_last_states(told):
    assert {group: row["state"] for group, (row,) in told["group_state"].items()} == {
        "damaged": "unknown",
        "neighbour": "Stable",
        "reborn": "Stable",
        "classic": "unknown",
        "classic again": "Stable",
        "never seen": "unknown",
        "deleted classic": "unknown",
        "upgraded": "unknown",
        "downgraded": "unknown",
        "unseen consumers": "unknown",
        "waiting": "unknown",
        "beside": "unknown",
        "before": "unknown",
        "deleted beside": "Stable",
    }


def test_a_type_2_that_was_lost_was_of_a_classic_group(told):
    """Unless records of a consumer group follow: it was the tombstone of an upgrade then."""
    last = {group: row for group, (row,) in told["group_state"].items()}
    classic = {group for group, row in last.items() if row["group_type"] == "classic"}
    assert classic == {"classic", "classic again", "never seen", "deleted classic", "downgraded"}
    assert {(last[group]["generation"], last[group]["members"]) for group in ("never seen", "deleted classic")} == {
        (None, None)
    }
    intervals = told["group_state_timeline"]
    assert [(row["incarnation"], row["group_type"]) for row in intervals["downgraded"]] == [
        (0, "consumer"),
        (1, "classic"),
    ]
    # At the lost record nobody knew yet.
    assert [row["group_type"] for row in intervals["upgraded"]] == ["classic", "consumer"]


def test_nobody_knows_the_members_of_a_group_behind_a_loss(told):
    assert {told["group_state"][group][0]["members"] for group in ("damaged", "waiting", "beside", "before")} == {None}
    assert told["group_state"]["reborn"][0]["members"] == 1


def test_a_state_that_a_loss_ends_lasted_at_least_until_then(told):
    """Until the record that was lost; where it may be anybody's, until the group's last one before it."""
    intervals = {
        group: [
            (row["state"], row["from_at"], row["to_at"], row["history"]) for row in told["group_state_timeline"][group]
        ]
        for group in ("damaged", "classic", "before")
    }
    lost_at = round(LOST_AT.timestamp() * 1000) - START
    assert sorted(intervals["damaged"], key=repr) == [
        ("Stable", 1, lost_at, "censored"),
        ("unknown", lost_at, None, "censored"),
    ]
    assert sorted(intervals["classic"], key=repr) == [
        ("Stable", 1, lost_at, "censored"),
        ("unknown", lost_at, None, "censored"),
    ]
    assert sorted(intervals["before"], key=repr) == [("unknown", 1, None, "censored")]
    assert {group: told["group_state"][group][0]["since"] for group in ("damaged", "before")} == {
        "damaged": lost_at,
        "before": 1,
    }


def test_nobody_knows_whether_a_member_still_waits(told):
    ((row,), (neighbour,)) = told["rebalance_lag"]["waiting"], told["rebalance_lag"]["neighbour"]
    assert (row["status"], row["lag_ms"], row["awaited"], row["blocked_by"]) == ("unknown", None, None, [])
    assert neighbour["status"] == "reconciled"
