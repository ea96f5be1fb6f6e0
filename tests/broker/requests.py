"""Requests about groups in the broker's own protocol.

librdkafka has them too, but it knows no state that came with the consumer protocol; and while a coordinator moves, such
a request of its admin client can end the whole process (an assertion on `eonce->refcnt`).
"""

from __future__ import annotations

import socket
import struct
from io import BytesIO
from typing import TYPE_CHECKING

from tests.broker.waiting import wait_until

if TYPE_CHECKING:
    from tests.broker.running import Broker

# Api keys and versions; Kafka's FindCoordinatorRequest.json and its like say what is in them.
_FIND_COORDINATOR = (10, 0)
_DESCRIBE_GROUPS = (15, 0)
_LIST_GROUPS = (16, 5)
_DELETE_GROUPS = (42, 0)

_NO_TAGS = b"\0"
_EMPTY = b"\x01"  # a compact array

NO_ERROR, NOT_COORDINATOR = 0, 16
"""Error codes (`Errors.java`). The second one is also the answer of a coordinator that failed to load the group."""


def has_coordinator(broker: Broker, group: str) -> bool:
    """Return whether a group has a coordinator. The question makes the broker create `__consumer_offsets`."""
    _, error = struct.unpack(">ih", _ask(broker, _FIND_COORDINATOR, _string(group)).read(6))
    return error == 0


def group_states(broker: Broker) -> dict[str, tuple[str, str]]:
    """Return type (consumer, classic ...) and state (Empty, Assigning, Reconciling, Stable ...) of each group."""
    answer = _ask(broker, _LIST_GROUPS, _NO_TAGS + _EMPTY + _EMPTY + _NO_TAGS)
    *_, error = struct.unpack(">ibih", answer.read(11))
    _expect_none(error, "the list of groups")
    states = {}
    for _ in range(_length(answer)):
        group, _, state, kind = (answer.read(_length(answer)).decode() for _ in range(4))
        answer.read(len(_NO_TAGS))
        states[group] = (kind, state)
    return states


def describe_error(broker: Broker, group: str) -> int:
    """Return the error code with which the coordinator answers about a group; 0 also if there is none of that id."""
    answer = _ask(broker, _DESCRIBE_GROUPS, struct.pack(">i", 1) + _string(group))
    *_, error = struct.unpack(">iih", answer.read(10))
    return int(error)


def wait_for_state(broker: Broker, group: str, state: str, patience: float = 20) -> None:
    """Return when the group is Empty, Assigning, Reconciling, Stable, or whatever `state` is named."""
    wait_until(lambda: group_states(broker).get(group, ("", ""))[1] == state, f"{group} is {state}", patience)


def delete_group(broker: Broker, group: str) -> None:
    """Delete a group without members: tombstones for all that the log says of it."""
    answer = _ask(broker, _DELETE_GROUPS, struct.pack(">i", 1) + _string(group))
    (error,) = struct.unpack(">h", answer.read()[-2:])
    _expect_none(error, f"the deletion of {group}")


def _ask(broker: Broker, api: tuple[int, int], body: bytes) -> BytesIO:
    """Send a request and return the answer: what follows its length."""
    request = struct.pack(">hhih", *api, 0, -1) + body
    with socket.create_connection(("127.0.0.1", broker.ports["PLAINTEXT"]), timeout=20) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as stream:
            return BytesIO(stream.read(*struct.unpack(">i", stream.read(4))))


def _expect_none(error: int, what: str) -> None:
    if error:
        raise RuntimeError(f"{what}: the broker answers with error {error}")


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _length(answer: BytesIO) -> int:
    """Read a compact length: an unsigned varint, one more than the length."""
    value = shift = 0
    while (byte := answer.read(1)[0]) > 127:
        value += (byte & 127) << shift
        shift += 7
    return value + (byte << shift) - 1
