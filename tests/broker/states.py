"""States of groups in the broker's own words: librdkafka knows none that came with the consumer protocol."""

import socket
import struct
from io import BytesIO

from tests.broker.running import Broker
from tests.broker.waiting import wait_until

_LIST_GROUPS, _VERSION = 16, 5
_CORRELATION = 1
_NO_TAGS = b"\0"
_NO_FILTER = b"\x01"  # an empty compact array


def group_states(broker: Broker) -> dict[str, tuple[str, str]]:
    """Return type (consumer, classic ...) and state (Empty, Assigning, Reconciling, Stable ...) of each group.

    One ListGroups request, see ListGroupsRequest.json of Kafka.
    """
    header = struct.pack(">hhih", _LIST_GROUPS, _VERSION, _CORRELATION, -1) + _NO_TAGS
    answer = _ask(broker, header + _NO_FILTER + _NO_FILTER + _NO_TAGS)
    correlation, _, _, error = struct.unpack(">ibih", answer.read(11))
    if error or correlation != _CORRELATION:
        raise RuntimeError(f"the broker does not list its groups: error {error}")
    states = {}
    for _ in range(_length(answer)):
        group, _, state, kind = (answer.read(_length(answer)).decode() for _ in range(4))
        answer.read(len(_NO_TAGS))
        states[group] = (kind, state)
    return states


def wait_for_state(broker: Broker, group: str, state: str, patience: float = 20) -> None:
    """Return when the group is Empty, Assigning, Reconciling, Stable, or whatever `state` is named."""
    wait_until(lambda: group_states(broker).get(group, ("", ""))[1] == state, f"{group} is {state}", patience)


def _ask(broker: Broker, request: bytes) -> BytesIO:
    with socket.create_connection(("127.0.0.1", broker.ports["PLAINTEXT"]), timeout=10) as broker_socket:
        broker_socket.sendall(struct.pack(">i", len(request)) + request)
        with broker_socket.makefile("rb") as stream:
            return BytesIO(stream.read(*struct.unpack(">i", stream.read(4))))


def _length(answer: BytesIO) -> int:
    """Read a compact length: an unsigned varint, one more than the length."""
    value = shift = 0
    while (byte := answer.read(1)[0]) > 127:
        value += (byte & 127) << shift
        shift += 7
    return value + (byte << shift) - 1
