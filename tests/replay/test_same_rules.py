"""A streams group of one thread a process, with active tasks alone, behaves as a consumer group: both replays agree.

The replay is its own oracle: it shows that two kinds of groups agree, not that they are right.
`tests/replay/test_coordinator.py` and `test_simulated.py` compare those with others.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kip848_records.replay.group.vocabulary import RECORD_NOT_LOADABLE
from kip848_records.replay.inputs import ReplayInputs
from tests.replay.captures import CAPTURED_AT, capture_records
from tests.replay.compaction import compacted, odd_groups, read_by_night, wrong_values
from tests.replay.logs import END, Rows, inputs_of, replayed
from tests.replay.random_log import random_records
from tests.seeds import daily_seeds, nightly

Records = list[dict[str, Any]]

TYPES = {3: 17, 5: 19, 6: 20, 7: 21, 8: 22}
_FIELDS = {7: ("topicPartitions", "activeTasks"), 8: ("assignedPartitions", "activeTasks")}
_PENDING = "partitionsPendingRevocation"
_TOPOLOGY = {"epoch": 0, "subtopologies": []}
_READY = {"validatedTopologyEpoch": 0, "lastAssignmentConfigs": [{"key": "num.standby.replicas", "value": "0"}]}

DIFFERENT = {
    *("group_type", "cause", "causes", "trigger_member_ids", "metadata_changed", "process_id", "topics", "awaited"),
    *("topology_epoch", "topology_lag_ms"),
    *("topology_epoch", "validated_topology_epoch", "standby_replicas", "regex", "server_assignor"),
}
"""What is not compared: names of the kinds, and what only one of them has."""
LONGEST_OPERATION = 30
SAME = ("Epoch", "RebalanceLag", "GroupStateInterval", "GroupState", "Rebalance", "MemberStateInterval", "Membership")


def both_kinds(records: Iterable[Mapping[str, Any]]) -> tuple[Records, Records]:
    """The records of consumer groups, and the same as those of streams groups.

    Without groups that were classic, or have regular expressions. A group's life begins with a topology; in the log of
    consumer groups a tombstone of type 4 stands in its place.
    """
    consumers: Records = []
    streams: Records = []
    offsets: Counter[int] = Counter()
    alive: set[str] = set()
    records = [{"partition": 0, **record} for record in records]
    others = {each["key"].get("groupId", each["key"].get("group")) for each in records if each["type"] in {2, 16}}
    records = [each for each in records if each["key"].get("groupId") not in others]
    for record in sorted(records, key=lambda each: (each["partition"], each["offset"])):
        partition, group_id, value = record["partition"], record["key"].get("groupId"), record["value"]
        if record["type"] not in TYPES:
            # A type 4 leaves no gap, which would end its operation.
            offsets[partition] += record["type"] != 4
            continue
        place = {"partition": partition, "timestamp": record["timestamp"]}
        if group_id not in alive:
            alive.add(group_id)
            begin = {**place, "offset": offsets[partition], "key": {"groupId": group_id}}
            consumers.append({**begin, "type": 4, "value": None})
            streams.append({**begin, "type": 23, "value": _TOPOLOGY})
            offsets[partition] += 1
        place["offset"] = offsets[partition]
        offsets[partition] += 1
        consumers.append({**record, **place})
        streams.append({**record, **place, "type": TYPES[record["type"]], "value": _as_streams(record, value)})
        if record["type"] == 3 and value is None:
            alive.discard(group_id)
    return consumers, streams


def _as_streams(record: Mapping[str, Any], value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    found = dict(value)
    if record["type"] == 3:
        found |= _READY
    elif record["type"] == 5:
        found |= {"processId": record["key"]["memberId"], "topologyEpoch": 0}
    elif record["type"] in _FIELDS:
        name, tasks = _FIELDS[record["type"]]
        found[tasks] = _as_tasks(value.get(name))
        found["activeTasksPendingRevocation"] = _as_tasks(value.get(_PENDING))
    if value.get("state") is not None:
        found["state"] = value["state"] + 1
    return found


def _as_tasks(topics: Iterable[Mapping[str, Any]] | None) -> Records:
    return [{"subtopologyId": each["topicId"], "partitions": each["partitions"]} for each in topics or ()]


def unassigned(consumers: Records) -> dict[tuple[int, str], list[range]]:
    """The offsets of each group up to the first assignment of each of its lives, and the operation that wrote it.

    There it is unknown whether a streams member is behind: Kafka 4.2 starts with another assignment epoch than 4.3.
    """
    found: dict[tuple[int, str], list[range]] = defaultdict(list)
    begins: dict[tuple[int, str], int | None] = {}
    for record in consumers:
        place = record["partition"], record["key"]["groupId"]
        begin = begins.setdefault(place, record["offset"])
        if record["type"] == 6 and record["value"] is not None and begin is not None:
            found[place].append(range(begin, record["offset"] + LONGEST_OPERATION))
            begins[place] = None
        elif record["type"] == 3 and record["value"] is None:
            found[place] += [] if begin is None else [range(begin, record["offset"] + 1)]
            del begins[place]
    for place, begin in begins.items():
        found[place] += [] if begin is None else [range(begin, END)]
    return found


def rows_of(rows: Rows, skipped: Mapping[tuple[int, str], list[range]]) -> dict[str, Counter[Any]]:
    found = {table: Counter(_comparable(row) for row in rows[table]) for table in SAME}
    found["MemberStateInterval"] = Counter(
        _comparable(row)
        for row in rows["MemberStateInterval"]
        if not any(row.from_offset in each for each in skipped[row.partition, row.group_id])
    )
    # Kafka refuses other records of a streams group than of a consumer group.
    anomalies = (row for row in rows["Anomaly"] if row.kind != RECORD_NOT_LOADABLE)
    found["Anomaly"] = Counter((row.kind, row.offset, row.member_id, row.is_proven) for row in anomalies)
    handovers = Counter(
        (row.topic_id, row.partition, row.released_offset, row.acquired_offset, *_gap(row), row.group_epoch)
        for row in rows["PartitionHandover"]
    )
    tasks = Counter(
        (row.subtopology_id, row.task, row.released_offset, row.acquired_offset, *_gap(row), row.epoch)
        for row in rows["TaskHandover"]
    )
    return {**found, "handovers": handovers or tasks}


def _comparable(row: Any) -> str:
    columns = {name: value for name, value in row._asdict().items() if name not in DIFFERENT}
    if columns.get("blocker") is not None:  # its texts name what the kind of group has: partitions, or tasks
        columns["blocker"] = columns["blocker"]._replace(sentence=None, next_step=None, ongoing=None)
    return repr([*columns.values()])


def _gap(row: Any) -> tuple[Any, ...]:
    times = row.released_at, row.acquired_at, row.unowned_ms, row.wanted, row.wanted_ms
    return *times, row.from_member, row.to_member, row.history, row.clock_skew


def assert_same(records: Iterable[Mapping[str, Any]], complete_from: int) -> None:
    consumers, streams = both_kinds(records)
    inputs = inputs_of(dict.fromkeys(range(4), complete_from), CAPTURED_AT)
    skipped = unassigned(consumers)
    expected, found = (rows_of(replayed(each, inputs), skipped) for each in (consumers, streams))
    assert min(expected[table].total() for table in ("Epoch", "RebalanceLag", "handovers", "MemberStateInterval")) > 5
    for table, rows in expected.items():
        assert (table, found[table] - rows, rows - found[table]) == (table, Counter(), Counter())


@pytest.mark.parametrize("complete_from", [0, 200])
@pytest.mark.parametrize("seed", [0, *nightly(daily_seeds(8, "same rules"))])
def test_random_logs(seed: int, complete_from: int) -> None:
    assert_same(random_records(seed, groups=120, operations=30, partitions=3), complete_from)


@pytest.mark.parametrize("name", ["kafka-4.3.1", "kafka-4.0.0-zstd", "kafka-4.3.1-all-types"])
def test_captures(name: str) -> None:
    assert_same(capture_records(name), 0)


def with_standbys(streams: Records) -> Records:
    """The tasks of the second subtopology become standbys of the first one's, and threads share three processes."""
    found = []
    for record in streams:
        value = record["value"]
        if value is not None and "activeTasks" in value:
            value = dict(value)
            for suffix in ("Tasks", "TasksPendingRevocation"):
                tasks = value.get(f"active{suffix}", [])
                active = [each for each in tasks if each["subtopologyId"] == "t0"]
                standby = [{**each, "subtopologyId": "t0"} for each in tasks if each not in active]
                value |= {f"active{suffix}": active, f"standby{suffix}": standby}
        elif record["type"] == 19 and value is not None:
            value = {**value, "processId": f"p{sum(map(ord, record['key']['memberId'])) % 3}"}
        found.append({**record, "value": value})
    return found


@pytest.mark.parametrize("seed", [0, *nightly(daily_seeds(8, "random roles"))])
def test_random_roles(seed: int) -> None:
    """Whoever waits for whom: every moment of a rebalance counts once, and no claim about a compacted log is false."""
    _, streams = both_kinds(random_records(seed, groups=120, operations=30, partitions=3))
    records = with_standbys(streams)
    whole = replayed(records, inputs_of(dict.fromkeys(range(3), 0), CAPTURED_AT))
    assert len({row.role for row in whole["OwnershipInterval"]}) == 2
    measured = [row for row in whole["Rebalance"] if row.history == "observed" and not row.clock_skew]
    assert len(measured) > 5
    for row in measured:
        assert row.assigning_ms + row.late_ms + row.not_ready_ms == row.duration_ms
    for read in (compacted, read_by_night):
        left, known = read(records, random.Random(seed))  # noqa: S311 - no secret
        seen, wrong = wrong_values(whole, replayed(left, ReplayInputs("kafka", CAPTURED_AT, known)), odd_groups(whole))
        assert wrong == Counter()
        assert sum(seen.values()) > 20
