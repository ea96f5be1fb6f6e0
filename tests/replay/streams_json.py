"""The values of streams groups' records, from the JSON that Kafka has of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from kip848_records.kinds import Role
from kip848_records.replay.numbers import ROLES, PartitionNumbers
from kip848_records.replay.records import CurrentAssignmentValue, StreamsGroupEpochValue, StreamsMemberValue
from kip848_records.replay.streams.values import TopologyValue

_NAMES = ("activeTasks", "standbyTasks", "warmupTasks")
_STATE_OFFSET = 1


def streams_value(role: Role, value: Mapping[str, Any], numbers: PartitionNumbers) -> Any:
    match role:
        case Role.GROUP_EPOCH:
            validated = value.get("validatedTopologyEpoch", -1)
            configs = _pairs(value.get("lastAssignmentConfigs"))
            return StreamsGroupEpochValue(value["epoch"], value.get("metadataHash", 0), validated, configs)
        case Role.MEMBER:
            endpoint = value.get("userEndpoint")
            return StreamsMemberValue(
                *(value.get(name) for name in ("instanceId", "rackId", "clientId", "clientHost", "rebalanceTimeoutMs")),
                value.get("processId"),
                value.get("topologyEpoch"),
                None if endpoint is None else (endpoint["host"], endpoint["port"]),
                _pairs(value.get("clientTags")),
            )
        case Role.ASSIGNMENT_EPOCH:
            return value["assignmentEpoch"]
        case Role.MEMBER_TARGET:
            return _tasks(value, "", numbers)
        case Role.CURRENT_ASSIGNMENT:
            state = value.get("state")
            return CurrentAssignmentValue(
                value["memberEpoch"],
                value.get("previousMemberEpoch"),
                None if state is None else state - _STATE_OFFSET,
                _tasks(value, "", numbers),
                _tasks(value, "PendingRevocation", numbers),
            )
    parts = value["subtopologies"]
    stateful = frozenset(each["subtopologyId"] for each in parts if each["stateChangelogTopics"])
    sources = {each["subtopologyId"]: tuple(sorted(_sources(each))) for each in parts}
    return TopologyValue(value["epoch"], stateful, sources)


def _sources(subtopology: Mapping[str, Any]) -> set[str]:
    repartition = subtopology.get("repartitionSourceTopics") or ()
    return {*(subtopology.get("sourceTopics") or ()), *(topic["name"] for topic in repartition)}


def _pairs(items: Iterable[Mapping[str, Any]] | None) -> tuple[tuple[str, str], ...]:
    return tuple((each["key"], each["value"]) for each in items or ())


def _tasks(value: Mapping[str, Any], suffix: str, numbers: PartitionNumbers) -> frozenset[int]:
    return frozenset(
        numbers.topic(each["subtopologyId"]) + number + role
        for name, role in zip(_NAMES, ROLES, strict=True)
        for each in value.get(name + suffix) or ()
        for number in each["partitions"]
    )
