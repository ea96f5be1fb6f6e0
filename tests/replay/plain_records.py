"""What the reader should make of a record, from the JSON that Kafka has of it, by name and one at a time."""

from typing import Any

from kip848_records.kinds import Role
from kip848_records.replay.numbers import PartitionNumbers, role_name, task_of
from kip848_records.replay.records import ClassicGroupValue, Record
from kip848_records.replay.share.values import ShareStateValue

_KINDS = {
    **dict.fromkeys((3, 4, 5, 6, 7, 8, 16), "consumer"),
    2: "classic",
    **dict.fromkeys(range(9, 16), "share"),
    **dict.fromkeys((17, *range(19, 24)), "streams"),
}
_ROLES = {
    Role.CLASSIC_GROUP: {2},
    Role.GROUP_EPOCH: {3, 11, 17},
    Role.MEMBER: {5, 10, 19},
    Role.ASSIGNMENT_EPOCH: {6, 12, 20},
    Role.MEMBER_TARGET: {7, 13, 21},
    Role.CURRENT_ASSIGNMENT: {8, 14, 22},
    Role.PARTITION_METADATA: {4},
    Role.REGULAR_EXPRESSION: {16},
    Role.OTHER: {9},
    Role.SHARE_STATE: {15},
    Role.TOPOLOGY: {23},
}


def expected(key_type: int, key: dict[str, Any], value: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of a record that its JSON gives, sets of partitions as (topic id, partition)."""
    kind = _KINDS[key_type]
    return {
        "kind": kind,
        "role": next(role for role, types in _ROLES.items() if key_type in types),
        "key_type": key_type,
        "member_id": key.get("memberId"),
        "value": None if value is None else (_streams_value if kind == "streams" else _value)(key_type, value),
        "regex": key.get("regularExpression"),
    }


def found(record: Record, numbers: PartitionNumbers) -> dict[str, Any]:
    """The same fields of a record that was read."""
    fields = {name: getattr(record, name) for name in ("kind", "role", "key_type", "member_id", "regex")}
    value = record.value
    if isinstance(value, frozenset):
        value = _named(value, numbers)
    elif record.role == Role.CURRENT_ASSIGNMENT and isinstance(value, tuple):
        value = tuple(_named(item, numbers) if isinstance(item, frozenset) else item for item in value)
    elif record.role == Role.CLASSIC_GROUP and isinstance(value, ClassicGroupValue):
        value = tuple(value._replace(members=tuple(tuple(member[:6]) for member in value.members)))
    elif isinstance(value, ShareStateValue):
        value = tuple(tuple((*topic[:2], _named(topic.partitions, numbers)) for topic in topics) for topics in value)
    elif isinstance(value, tuple):
        value = tuple(value)
    return {**fields, "value": value}


def _named(partitions: frozenset[int], numbers: PartitionNumbers) -> set[tuple[str, int]]:
    return {_name(number, numbers) for number in partitions}


def _name(unit: int, numbers: PartitionNumbers) -> tuple[str, int]:
    role, (name, number) = role_name(unit), numbers.name(task_of(unit))
    return (name if role == "active" else f"{role} {name}"), number


def _value(key_type: int, value: dict[str, Any]) -> Any:  # noqa: PLR0911 - one line a type
    match key_type:
        case 2:
            return (
                value["generation"],
                tuple(member["memberId"] for member in value["members"]),
                _classic_members(value),
                *(value[name] for name in ("protocolType", "protocol", "leader")),
                None if value.get("currentStateTimestamp", -1) == -1 else value["currentStateTimestamp"],
            )
        case 3 | 11:
            return value["epoch"], value.get("metadataHash", 0)
        case 4:
            return _topic_names(value["topics"])
        case 5 | 10:
            return _member(value)
        case 6 | 12:
            return value["assignmentEpoch"]
        case 7 | 13:
            return _partitions(value["topicPartitions"])
        case 8 | 14:
            return (
                value["memberEpoch"],
                value.get("previousMemberEpoch"),
                value.get("state"),
                _partitions(value.get("assignedPartitions", value.get("topicPartitions"))),
                _partitions(value.get("partitionsPendingRevocation", [])),
            )
        case 15:
            lists = ("initializingTopics", "initializedTopics", "deletingTopics")
            return tuple(_share_topics(value.get(name, [])) for name in lists)
        case 16:
            return tuple(sorted(value["topics"])), value["version"], value["timestamp"]
    return True


def _streams_value(key_type: int, value: dict[str, Any]) -> Any:
    match key_type:
        case 17:
            configs = _pairs(value.get("lastAssignmentConfigs"))
            return value["epoch"], value["metadataHash"], value.get("validatedTopologyEpoch", -1), configs
        case 19:
            endpoint = value["userEndpoint"]
            return (
                *(value[name] for name in ("instanceId", "rackId", "clientId", "clientHost", "rebalanceTimeoutMs")),
                value["processId"],
                value["topologyEpoch"],
                None if endpoint is None else (endpoint["host"], endpoint["port"]),
                _pairs(value["clientTags"]),
            )
        case 20:
            return value["assignmentEpoch"]
        case 21:
            return _tasks(value, "Tasks")
        case 22:
            epochs = value["memberEpoch"], value["previousMemberEpoch"], value["state"] - 1
            return *epochs, _tasks(value, "Tasks"), _tasks(value, "TasksPendingRevocation")
    parts = value["subtopologies"]
    stateful = frozenset(part["subtopologyId"] for part in parts if part["stateChangelogTopics"])
    return value["epoch"], stateful, {part["subtopologyId"]: _topics_read(part) for part in parts}


def _topics_read(part: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted({*part["sourceTopics"], *(topic["name"] for topic in part["repartitionSourceTopics"])}))


def _pairs(items: list[dict[str, Any]] | None) -> tuple[tuple[str, str], ...]:
    return tuple((each["key"], each["value"]) for each in items or [])


def _tasks(value: dict[str, Any], suffix: str) -> set[tuple[str, int]]:
    return {
        (part["subtopologyId"] if role == "active" else f"{role} {part['subtopologyId']}", partition)
        for role in ("active", "standby", "warmup")
        for part in value[role + suffix]
        for partition in part["partitions"]
    }


def _classic_members(value: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
    names = ("memberId", "groupInstanceId", "clientId", "clientHost", "rebalanceTimeout", "sessionTimeout")
    return tuple(tuple(member.get(name) for name in names) for member in value["members"])


def _member(value: dict[str, Any]) -> tuple[Any, ...]:
    assignors = (
        (assignor["name"], assignor["minimumVersion"], assignor["maximumVersion"], assignor["version"])
        for assignor in value.get("assignors", [])
    )
    return (
        *(value.get(name) for name in ("instanceId", "rackId", "clientId", "clientHost")),
        tuple(sorted(value["subscribedTopicNames"])),
        value.get("subscribedTopicRegex") or None,
        *(value.get(name) for name in ("serverAssignor", "rebalanceTimeoutMs")),
        value.get("classicMemberMetadata") is not None,
        tuple(assignors),
        classic_protocols_of(value.get("classicMemberMetadata")),
    )


def classic_protocols_of(metadata: dict[str, Any] | None) -> tuple[str, ...] | None:
    """The names of the assignors of a member of the classic protocol."""
    return None if metadata is None else tuple(each["name"] for each in metadata["supportedProtocols"])


def _partitions(topics: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(topic["topicId"], partition) for topic in topics for partition in topic["partitions"]}


def _share_topics(topics: list[dict[str, Any]]) -> tuple[tuple[str, str, set[tuple[str, int]]], ...]:
    return tuple((topic["topicId"], topic["topicName"], _partitions([{"partitions": [], **topic}])) for topic in topics)


def _topic_names(topics: list[dict[str, Any]]) -> dict[str, str]:
    return {topic["topicId"]: name for topic in topics if (name := topic.get("topicName"))}
