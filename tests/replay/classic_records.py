"""The value of a type 2 as the replay takes it, from the JSON that Kafka has of it, one member at a time."""

import struct
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.records import Assignment, ClassicGroupValue, ClassicMemberValue, Subscription
from tests.protocol.kafka_form import kafka_form
from tests.protocol.plain_decoder import BadMessageError, PlainDecoder


def classic_group_of(value: Mapping[str, Any], numbers: PartitionNumbers) -> ClassicGroupValue:
    """Payloads are as Kafka's tool prints them, decoded or in base64; stories have none."""
    kind = value.get("protocolType")
    members = tuple(_member(kind, member, numbers.of_names) for member in value["members"])
    at = value.get("currentStateTimestamp", -1)
    return ClassicGroupValue(
        value["generation"],
        tuple(member.member_id for member in members),
        members,
        kind,
        value.get("protocol"),
        value.get("leader"),
        None if at == -1 else at,
    )


def _member(kind: str | None, member: Mapping[str, Any], numbers: PartitionNumbers) -> ClassicMemberValue:
    payloads = [member.get("subscription"), member.get("assignment")]
    subscription = assignment = None
    if kind == "consumer":
        found = _decoded(CONSUMER_PROTOCOL_SUBSCRIPTION, payloads[0])
        if found is not None:
            owned = _partitions(found.get("ownedPartitions"), numbers)
            subscription, payloads[0] = Subscription(tuple(sorted(found["topics"])), owned), None
        found = _decoded(CONSUMER_PROTOCOL_ASSIGNMENT, payloads[1])
        if found is not None:
            assigned = _partitions(found.get("assignedPartitions"), numbers)
            assignment, payloads[1] = Assignment(assigned, _bytes(found.get("userData")) or None), None
        elif payloads[1] in {"", b""}:
            assignment = Assignment(frozenset())
    names = ("memberId", "groupInstanceId", "clientId", "clientHost", "rebalanceTimeout", "sessionTimeout")
    raw = [_bytes(payload) or None for payload in payloads]
    return ClassicMemberValue(*(member.get(name) for name in names), subscription, assignment, *raw)


def _bytes(payload: Any) -> bytes | None:
    return b64decode(payload) if isinstance(payload, str) else payload


def _decoded(message: Any, payload: Any) -> dict[str, Any] | None:
    if payload is None or isinstance(payload, dict):
        return payload
    data = _bytes(payload)
    if data is None or len(data) < 2:
        return None
    layout = message.layouts[min(max(struct.unpack(">h", data[:2])[0], 0), max(message.layouts))]
    try:
        return kafka_form(layout, layout.struct, PlainDecoder(layout, data[2:]).struct(layout.struct))
    except BadMessageError:
        return None


def _partitions(topics: Any, numbers: PartitionNumbers) -> frozenset[int]:
    return frozenset(numbers.topic(topic["topic"]) + number for topic in topics or () for number in topic["partitions"])
