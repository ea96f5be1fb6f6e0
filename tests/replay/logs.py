"""Records as `tests.dump_log` has them, replayed: rows by table."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kip848_records.kinds import ROLES, STREAMS, Role
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.records import (
    CurrentAssignmentValue,
    GroupEpochValue,
    MemberValue,
    Record,
    RegularExpressionValue,
)
from kip848_records.replay.share.values import ShareStateValue, ShareTopic
from tests.replay.classic_records import classic_group_of
from tests.replay.plain_records import classic_protocols_of
from tests.replay.streams_json import streams_value

END = 1 << 40
"""Behind every offset."""

Rows = dict[str, list[Any]]


def inputs_of(
    complete_from: Mapping[int, int], captured_at: int | None, dialect: str = "kafka", **known: Any
) -> ReplayInputs:
    """Partitions that are complete from an offset on; of others nothing is known. The log has offset commits."""
    partitions = {
        partition: PartitionCoverage(((first, END),), last_offset=END - 1, **known)
        for partition, first in complete_from.items()
    }
    return ReplayInputs(dialect, captured_at, partitions, offset_commits=True)


def replayed(records: Iterable[Mapping[str, Any] | Record], inputs: ReplayInputs) -> Rows:
    """Replay records in any order; the rows of each table by its class's name."""
    numbers = PartitionNumbers()
    groups: dict[tuple[int, str], GroupReplay] = {}
    for raw in sorted(records, key=lambda record: (record["partition"], record["offset"])):
        if raw["type"] not in ROLES:
            continue
        place = raw["partition"], raw["key"].get("groupId", raw["key"].get("group"))
        if place not in groups:
            groups[place] = GroupReplay(inputs, numbers, *place)
        groups[place].replay(record_of(raw, numbers))
    rows: Rows = defaultdict(list)
    for group in groups.values():
        for row in group.finish():
            rows[type(row).__name__].append(row)
    return rows


def record_of(raw: Mapping[str, Any], numbers: PartitionNumbers) -> Record:
    kind, role = ROLES[raw["type"]]
    if raw.get("lost"):
        role = Role.LOST
    read = streams_value if kind == STREAMS else _value
    value = None if raw["value"] is None else read(role, raw["value"], numbers)
    key = raw["key"]
    return Record(
        raw["offset"],
        raw["timestamp"],
        kind,
        role,
        raw["type"],
        key.get("memberId"),
        value,
        raw.get("size", 0),
        key.get("regularExpression"),
        raw.get("leaderEpoch"),
    )


def _value(role: Role, value: Mapping[str, Any], numbers: PartitionNumbers) -> Any:  # noqa: PLR0911 - one per role
    match role:
        case Role.CLASSIC_GROUP:
            return classic_group_of(value, numbers)
        case Role.GROUP_EPOCH:
            return GroupEpochValue(value["epoch"], value.get("metadataHash", 0))
        case Role.MEMBER:
            return MemberValue(
                value.get("instanceId"),
                value.get("rackId"),
                value.get("clientId"),
                value.get("clientHost"),
                tuple(sorted(value.get("subscribedTopicNames") or ())),
                value.get("subscribedTopicRegex") or None,
                value.get("serverAssignor"),
                value.get("rebalanceTimeoutMs"),
                value.get("classicMemberMetadata") is not None,
                tuple(tuple(each) for each in value.get("assignors") or ()),
                classic_protocols_of(value.get("classicMemberMetadata")),
            )
        case Role.ASSIGNMENT_EPOCH:
            return value["assignmentEpoch"]
        case Role.MEMBER_TARGET:
            return _partitions(value.get("topicPartitions"), numbers)
        case Role.CURRENT_ASSIGNMENT:
            return CurrentAssignmentValue(
                value["memberEpoch"],
                value.get("previousMemberEpoch"),
                value.get("state"),
                _partitions(value.get("assignedPartitions"), numbers),
                _partitions(value.get("partitionsPendingRevocation"), numbers),
            )
        case Role.REGULAR_EXPRESSION:
            return RegularExpressionValue(
                tuple(sorted(value.get("topics") or ())), value.get("version", 0), value.get("timestamp", 0)
            )
        case Role.PARTITION_METADATA:
            return {}
        case Role.SHARE_STATE:
            names = ("initializingTopics", "initializedTopics", "deletingTopics")
            return ShareStateValue(*(_share_topics(value.get(name) or (), numbers) for name in names))
        case _:
            return True


def _share_topics(topics: Iterable[Mapping[str, Any]], numbers: PartitionNumbers) -> tuple[ShareTopic, ...]:
    return tuple(
        ShareTopic(topic["topicId"], topic["topicName"], _partitions([{"partitions": (), **topic}], numbers))
        for topic in topics
    )


def _partitions(topics: Iterable[Mapping[str, Any]] | None, numbers: PartitionNumbers) -> frozenset[int]:
    return frozenset(
        numbers.topic(topic["topicId"]) + number for topic in topics or () for number in topic["partitions"]
    )
