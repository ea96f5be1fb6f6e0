"""The simulator's records as the replay takes them, and its truth as the rows that the replay emits."""

from kip848_records.kinds import ROLES, Role
from kip848_records.replay import rows
from kip848_records.replay.records import (
    CurrentAssignmentValue,
    GroupEpochValue,
    MemberValue,
    Record,
    RegularExpressionValue,
)
from tests.replay.classic_records import classic_group_of
from tests.replay.plain_records import classic_protocols_of

TABLES = {
    rows.Epoch: "epoch_timeline",
    rows.RebalanceLag: "rebalance_lag",
    rows.PartitionHandover: "partition_handover",
    rows.GroupStateInterval: "group_state_timeline",
    rows.Rebalance: "rebalance",
    rows.MemberStateInterval: "member_state_timeline",
    rows.Membership: "membership",
    rows.RegexResolution: "regex_resolution",
    rows.Anomaly: "anomaly",
}
"""By the class of a row, the tables of which the truth has all columns."""

NESTED = {"awaited": rows.AwaitedPartition, "blockers": rows.Blocker}


def record_of(row, numbers):
    """The record of a row of `Capture.records`; its size is not known."""
    kind, role = ROLES[row["type"]]
    key, value = row["key"], row["value"]
    return Record(
        offset=row["offset"],
        timestamp=row["timestamp"],
        kind=kind,
        role=role,
        key_type=row["type"],
        member_id=key.get("memberId"),
        value=None if value is None else VALUES[role](value, numbers),
        size=0,
        regex=key.get("regularExpression"),
    )


def group_of(row):
    return row["key"].get("groupId", row["key"].get("group"))


def partitions_of(topics, numbers):
    return frozenset(numbers.topic(topic["topicId"]) + number for topic in topics for number in topic["partitions"])


def member_of(value, _):
    return MemberValue(
        instance_id=value["instanceId"],
        rack_id=value["rackId"],
        client_id=value["clientId"],
        client_host=value["clientHost"],
        topics=tuple(sorted(value["subscribedTopicNames"])),
        regex=value["subscribedTopicRegex"] or None,
        server_assignor=value["serverAssignor"],
        rebalance_timeout_ms=value["rebalanceTimeoutMs"],
        is_classic=value.get("classicMemberMetadata") is not None,
        classic_protocols=classic_protocols_of(value.get("classicMemberMetadata")),
    )


def current_assignment_of(value, numbers):
    return CurrentAssignmentValue(
        member_epoch=value["memberEpoch"],
        previous_member_epoch=value["previousMemberEpoch"],
        state=value["state"],
        assigned=partitions_of(value["assignedPartitions"], numbers),
        pending=partitions_of(value["partitionsPendingRevocation"], numbers),
    )


VALUES = {
    Role.CLASSIC_GROUP: classic_group_of,
    Role.GROUP_EPOCH: lambda value, _: GroupEpochValue(value["epoch"], value.get("metadataHash", 0)),
    Role.MEMBER: member_of,
    Role.ASSIGNMENT_EPOCH: lambda value, _: value["assignmentEpoch"],
    Role.MEMBER_TARGET: lambda value, numbers: partitions_of(value["topicPartitions"], numbers),
    Role.CURRENT_ASSIGNMENT: current_assignment_of,
    Role.PARTITION_METADATA: lambda value, _: {topic["topicId"]: topic["topicName"] for topic in value["topics"]},
    Role.REGULAR_EXPRESSION: lambda value, _: RegularExpressionValue(
        tuple(value["topics"]), value["version"], value["timestamp"]
    ),
}


def true_row(kind, row):
    """The row of a class, of a row of the truth."""
    return kind(**{name: as_value(name, row.get(name)) for name in kind._fields})


def as_value(name, value):
    if name in NESTED and value is not None:
        structs = [NESTED[name](**{field: each.get(field) for field in NESTED[name]._fields}) for each in value]
        return tuple(map(tuple, structs) if name == "awaited" else structs)  # the replay emits those without names
    return tuple(value) if isinstance(value, list) else value
