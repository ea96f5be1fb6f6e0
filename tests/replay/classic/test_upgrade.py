"""Which classic groups a consumer member can convert, by the answers of Kafka's own coordinator."""

import struct

import numpy as np
import pyarrow as pa
import pytest

from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_SUBSCRIPTION
from kip848_records.replay.classic.payloads import read_subscriptions
from kip848_records.replay.numbers import PartitionNumbers
from tests.protocol.plain_decoder import BadMessageError, PlainDecoder
from tests.replay.loadable_logs import loadable_log, loadable_logs

NOT_SYNCED = "convert-streams-application-not-synced"
"""Kafka converts a group of Kafka Streams of which no member has an assignment yet. A moment later it does not."""


@pytest.mark.slow
def test_the_coordinator_converts_the_groups_that_are_upgradable() -> None:
    compared = 0
    for log in loadable_logs():
        rows = [row for row in log.tables()["group_state"] if row["group_type"] == "classic"]
        for row in rows:
            if row["group_id"] in log.converts and log.name != NOT_SYNCED:
                assert row["upgradable"] == log.converts[row["group_id"]], log.name
                compared += 1
            assert (row["upgradable_reason"] is not None) == (row["upgradable"] is False), log.name
    assert compared == 50


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kafka-go", "malformed_subscription"),
        ("one-of-two-malformed", "malformed_subscription"),
        ("subscription-empty", "malformed_subscription"),
        ("subscription-negative", "malformed_subscription"),
        ("subscription-v9-short", "malformed_subscription"),
        ("assignment-cut", "malformed_assignment"),
        ("assignment-negative", "malformed_assignment"),
        ("assignment-v0-no-user-data", "malformed_assignment"),
        ("assignment-user-data", "assignor_user_data"),
        ("assignment-empty-user-data", None),
        ("assignment-none", None),
        ("subscription-trailing", None),
        ("subscription-user-data", None),
        ("subscription-v9", None),
        ("no-topics", None),
        ("custom-assignor-name", None),
        ("connect", "protocol_type"),
        ("schema-registry", "protocol_type"),
        ("protocol-type-empty", "protocol_type"),
        ("protocol-null", "no_protocol"),
        ("duplicate-instance", "duplicate_instance"),
        ("streams-application", "assignor_user_data, streams_application"),
        ("streams-application-not-synced", "streams_application"),
        ("created", None),
        ("emptied", None),
    ],
)
def test_the_reason(name: str, reason: str | None) -> None:
    (row,) = loadable_log(f"convert-{name}").tables()["group_state"]
    assert (row["upgradable"], row["upgradable_reason"]) == (reason is None, reason)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("kafka-go", "version 1 ends before ownedPartitions"),
        ("subscription-v9-short", "version 9 ends before rackId"),
        ("subscription-negative", "its version is -1"),
    ],
)
def test_a_malformed_subscription_is_read_as_far_as_it_goes(name: str, error: str) -> None:
    tables = loadable_log(f"convert-{name}").tables()
    (member,) = tables["classic_member"]
    assert (member["topics"], member["owned"], member["subscription_error"]) == (["t"], [], error)
    assert member["subscription"] is not None
    (stay,) = tables["membership"]
    assert stay["topics"] == ["t"]


def test_a_malformed_assignment_is_read_as_far_as_it_goes() -> None:
    tables = loadable_log("convert-assignment-v0-no-user-data").tables()
    (member,) = tables["classic_member"]
    assert member["assigned"] == [{"topic": "t", "partitions": [0]}]
    assert member["assignment_error"] == "version 0 ends before userData"
    assert tables["classic_generation"][-1]["units"] == 1


def test_only_the_malformed_member_is_named() -> None:
    members = loadable_log("convert-one-of-two-malformed").tables()["classic_member"]
    assert [each["member_id"] for each in members if each["subscription_error"] is not None] == ["m2"]


WHOLE = (
    b"\0\1\0\6orders"  # topics
    b"\xff\xff\xff\xff"  # user data: none
    b"\0\0\0\1\0\6orders\0\0\0\1\0\0\0\7"  # owned partitions
    b"\0\0\0\5\0\1r"  # generation, rack
)
"""A subscription of version 3, without its version."""


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_that_is_cut_anywhere(version: int) -> None:
    whole = struct.pack(">h", version) + b"\0\0" + WHOLE
    payloads = [whole[:end] for end in range(len(whole) + 1)]
    numbers = PartitionNumbers()
    found = read_subscriptions(pa.array(payloads, pa.binary()), np.arange(len(payloads)), numbers)
    layout = CONSUMER_PROTOCOL_SUBSCRIPTION.layouts[version]
    for payload, value, error in zip(payloads, *found, strict=True):
        assert (error is None) == (len(payload) > 1 and _parses(layout, payload[2:])), payload
        if len(payload) >= 14:
            assert value.topics == ("orders",)
        if error is None:
            assert value.owned == (frozenset({numbers.topic("orders") + 7}) if version else frozenset())
        elif value is not None:
            # Known if the payload ends before the field, or has all of it.
            assert (value.owned is None) == (14 < len(payload) < 18 or 18 < len(payload) < 38), payload


def _parses(layout, data: bytes) -> bool:  # type: ignore[no-untyped-def]
    try:
        PlainDecoder(layout, data).struct(layout.struct)
    except BadMessageError:
        return False
    return True
