"""The tables of an audit: every row is what a replay of Kafka's own dump of the log says, fed without Spark.

The replay is its own oracle: what the audit adds to it is compared. `tests/replay/` compares its rows with others.
"""

import json
from datetime import datetime
from itertools import starmap

import pytest

from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.rows import ROW_CLASSES, AwaitedPartition
from kip848_records.specs.tables import REPLAYED
from tests.audits import dumped
from tests.replay.logs import record_of as kinds_record_of
from tests.replay.offset_commits import of_capture
from tests.replay.simulated_records import group_of, record_of

# What a release refuses shows in bytes that the dump does not have.
TABLES = sorted(REPLAYED.keys() - {"latest_state", "quarantine", "unknown_record", "refused_record"})
OTHER_KINDS = (9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 22, 23)
KINDS = (2, 3, 4, 5, 6, 7, 8, 16, *OTHER_KINDS)
# The dump does not say how many bytes a record has, nor from which leader's epoch it is, and the bytes of members are
# read without their version and what an assignor added.
NOT_IN_DUMP = {"largest_operation_bytes", "largest_operation_offset", "leader_changed"}
NOT_IN_DUMP |= {"subscription_version", "user_data_bytes"}


@pytest.fixture(scope="module")
def replayed(audits):
    """The rows of a capture by table: of its dump, replayed in this process."""
    known = {}

    def rows_of(capture):
        if capture.name not in known:
            known[capture.name] = replay(audits, capture)
        return known[capture.name]

    return rows_of


def replay(audits, capture):
    captured_at = round(audits.audits[capture.name].captured_at.timestamp() * 1000)
    coverage = {
        row["partition"]: PartitionCoverage(
            ((row["complete_from"], row["last_offset"] + 1),), last_offset=row["last_offset"]
        )
        for row in audits.rows(capture.name, "partition_history")
    }
    inputs, numbers = ReplayInputs("kafka", captured_at, coverage), PartitionNumbers()
    groups = {}
    for line in sorted(dumped(capture), key=lambda line: (line["partition"], line["offset"])):
        if line["type"] in KINDS:
            key = line["partition"], group_of(line)
            group = groups.setdefault(key, GroupReplay(inputs, numbers, *key))
            read = kinds_record_of if line["type"] in OTHER_KINDS else record_of
            group.replay(read(line, numbers))
    tables = {row_class: name for name, row_class in ROW_CLASSES.items()}
    rows = {name: [] for name in TABLES}
    for group in groups.values():
        for row in group.finish():
            if (name := tables[type(row)]) in rows:
                rows[name].append(row._asdict())
    for row in rows["rebalance_lag"]:
        row["awaited"] = row["awaited"] and [*starmap(AwaitedPartition, row["awaited"])]
    return rows


@pytest.mark.parametrize("table", TABLES)
def test_every_row_is_what_the_dump_says(audits, capture, replayed, table):
    expected = replayed(capture)[table]
    # The table adds the names of topics that the log identifies by id.
    without = NOT_IN_DUMP | ({"topic"} if table in {"partition_handover", "ownership", "member_assignment"} else set())
    columns = sorted(expected[0].keys() - without) if expected else []
    ours = audits.rows(capture.name, table)
    assert comparable(ours, columns) == comparable(expected, columns)


def comparable(rows, columns):
    return sorted(repr([plain(row[name]) for name in columns]) for row in rows)


def plain(value):
    """A value as the replay has it; the names of topics are the table's."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, dict):
        is_named = "topic_id" in value
        return [plain(item) for name, item in value.items() if not (is_named and name == "topic")]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def test_topics_have_their_names(audits, capture):
    names = json.loads((capture / "topics.json").read_text())
    handovers = audits.rows(capture.name, "partition_handover")
    awaited = [item for row in audits.rows(capture.name, "rebalance_lag") for item in row["awaited"] or ()]
    assert handovers
    rows = [row for row in [*handovers, *awaited] if row.get("group_type") != "classic"]
    assert all(row["topic"] == names.get(row["topic_id"]) for row in rows)
    classic = {row["topic"] for row in handovers if row["group_type"] == "classic"}
    assert classic <= set(names.values())


def test_the_stops_of_consumption_are_those_of_the_offset_commits(audits, capture):
    expected = of_capture(capture.name)
    ours = audits.rows(capture.name, "consumption_stop")
    assert len(expected) > 50
    assert comparable(ours, sorted(expected[0])) == comparable(expected, sorted(expected[0]))


def test_groups_before_and_after_their_conversion(audits):
    """The worked example: the stop of all 28 moved partitions is known."""
    rows = [
        row for row in audits.rows("kafka-4.3.1-all-types", "protocol_comparison") if row["group_id"] == "g-upgrade"
    ]
    classic, consumer = sorted(rows, key=lambda row: row["from_offset"])
    assert (classic["stop_known"], classic["stop_max_p50_ms"], classic["rebalances"]) == (0, None, 0)
    assert (consumer["stop_known"], consumer["stop_max_p50_ms"], consumer["partitions_stopped"]) == (28, 1308, 28)
    assert consumer["unowned_min_partition_ms"] == 6436


def test_no_partition_has_two_owners(audits, capture):
    handovers = audits.rows(capture.name, "partition_handover")
    changes = [row for row in handovers if row["from_member"] is not None]
    assert changes
    assert all(row["released_at"] is not None for row in changes)
    assert audits.rows(capture.name, "anomaly") == []


def test_late_members_and_assignments_account_for_every_rebalance(audits, capture):
    found = audits.rows(capture.name, "rebalance")
    rows = [row for row in found if not row["clock_skew"] and not row["duration_is_minimum"]]
    assert len(rows) > 20
    assert all(row["assigning_ms"] + row["late_ms"] + row["not_ready_ms"] == row["duration_ms"] for row in rows)


def test_an_audit_says_what_it_read_and_when_it_was_copied(audits, capture):
    (run,) = audits.rows(capture.name, "audit_runs")
    assert (run["sources"], run["dialect"]) == ([str(capture / "segments")], "kafka")
    assert run["captured_at"] == audits.audits[capture.name].captured_at
