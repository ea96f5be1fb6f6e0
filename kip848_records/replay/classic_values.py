"""Columns of decoded types 2 -> `ClassicGroupValue`, with the payloads of the members parsed.

The payloads are bytes of the members' own protocol: that of `ConsumerPartitionAssignor` for the protocol type
`consumer`, all of a batch parsed together by version, and that of Connect workers (`connect_values`).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Encoded, Error, decode_spans
from kip848_records.protocol.messages.classic import (
    CONSUMER_PROTOCOL_ASSIGNMENT,
    CONSUMER_PROTOCOL_SUBSCRIPTION,
    CONSUMER_PROTOCOL_TYPE,
)
from kip848_records.replay.columns import int_objects, list_parts, new, partition_sets, sorted_texts, texts
from kip848_records.replay.connect_records import CONNECT_PROTOCOL_TYPE
from kip848_records.replay.connect_values import read_assignment, read_subscription
from kip848_records.replay.records import (
    ClassicGroupValue,
    ClassicMemberValue,
    ConsumerAssignment,
    ConsumerSubscription,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Message
    from kip848_records.replay.columns import Columns
    from kip848_records.replay.records import PartitionNumbers

    Rows = NDArray[np.int64]

_VERSION_BYTES: Final = 2
_UNKNOWN_TIME: Final = -1
_READ_WORKER: Final[tuple[Callable[..., Any], ...]] = (read_subscription, read_assignment)
_NOTHING: Final = ConsumerAssignment(frozenset(), has_user_data=False)


def classic_groups(columns: Columns) -> Iterable[ClassicGroupValue]:
    """Return the values of records of type 2."""
    offsets, members = list_parts(columns["members"])
    ids: list[Any] = texts(members.field("member_id"))
    kinds = list(columns.texts("protocol_type"))
    of_consumers = np.repeat(np.array([kind == CONSUMER_PROTOCOL_TYPE for kind in kinds], bool), np.diff(offsets))
    rows = np.flatnonzero(of_consumers)
    parsed: tuple[list[Any], list[Any]] = (
        _subscriptions(members.field("subscription"), rows, columns.numbers.of_names),
        _assignments(members.field("assignment"), rows, columns.numbers.of_names),
    )
    workers = np.flatnonzero(np.repeat([kind == CONNECT_PROTOCOL_TYPE for kind in kinds], np.diff(offsets)))
    for name, found, read in zip(("subscription", "assignment"), parsed, _READ_WORKER, strict=True):
        _read_workers(members.field(name), workers, found, partial(read, numbers=columns.numbers.of_names))
    fields = zip(
        ids,
        *(texts(members.field(name)) for name in ("group_instance_id", "client_id", "client_host")),
        *(int_objects(members.field(name)).tolist() for name in ("rebalance_timeout", "session_timeout")),
        *parsed,
        _unparsed(members.field("subscription"), parsed[0]),
        _unparsed(members.field("assignment"), parsed[1]),
        strict=True,
    )
    described = list(map(new(ClassicMemberValue), fields))
    bounds = list(pairwise(offsets.tolist()))
    times = (None if at == _UNKNOWN_TIME else at for at in columns.ints("current_state_timestamp"))
    return map(
        new(ClassicGroupValue),
        zip(
            columns.ints("generation"),
            (tuple(ids[first:end]) for first, end in bounds),
            (tuple(described[first:end]) for first, end in bounds),
            kinds,
            columns.texts("protocol"),
            columns.texts("leader"),
            times,
            strict=False,  # a field that the layout lacks repeats without an end
        ),
    )


def _subscriptions(payloads: pa.Array, rows: Rows, numbers: PartitionNumbers) -> list[ConsumerSubscription | None]:
    """Return the subscriptions; None for other rows than `rows`, and if they do not parse."""
    found: list[ConsumerSubscription | None] = [None] * len(payloads)
    for places, values in _parsed(CONSUMER_PROTOCOL_SUBSCRIPTION, payloads, rows):
        topics = sorted_texts(values.field("topics"))
        owned = partition_sets(values.field("owned_partitions"), numbers, "topic")
        for place, subscription in zip(places, zip(topics, owned, strict=True), strict=True):
            found[place] = ConsumerSubscription._make(subscription)
    return found


def _assignments(payloads: pa.Array, rows: Rows, numbers: PartitionNumbers) -> list[ConsumerAssignment | None]:
    """Return the assignments as `_subscriptions` does. The coordinator writes no bytes for a member without one."""
    found: list[ConsumerAssignment | None] = [None] * len(payloads)
    lengths = pc.binary_length(payloads).to_numpy(zero_copy_only=False)
    for place in rows[lengths[rows] == 0].tolist():
        found[place] = _NOTHING
    for places, values in _parsed(CONSUMER_PROTOCOL_ASSIGNMENT, payloads, rows):
        assigned = partition_sets(values.field("assigned_partitions"), numbers, "topic")
        has_user_data = pc.fill_null(pc.greater(pc.binary_length(values.field("user_data")), 0), False)  # noqa: FBT003
        for place, assignment in zip(places, zip(assigned, has_user_data.to_pylist(), strict=True), strict=True):
            found[place] = ConsumerAssignment._make(assignment)
    return found


def _read_workers(payloads: pa.Array, rows: Rows, found: list[Any], read: Callable[[bytes], Any]) -> None:
    """Add the payloads of Connect workers, one at a time: their groups are small."""
    for row, payload in zip(rows.tolist(), payloads.take(pa.array(rows, pa.int64())).to_pylist(), strict=True):
        with suppress(ValueError):
            found[row] = read(payload) if payload else None


def _parsed(message: Message, payloads: pa.Array, rows: Rows) -> Iterator[tuple[list[int], pa.StructArray]]:
    """Yield the rows of payloads that parse, and their fields, by version.

    As `ConsumerProtocol` in kafka-clients does, read a newer version as the newest known one, and ignore bytes after
    the message.
    """
    if not len(rows):
        return
    encoded = Encoded(payloads)
    rows = rows[encoded.ends[rows] - encoded.starts[rows] >= _VERSION_BYTES]
    versions = np.clip(encoded.view(">i2")[encoded.starts[rows]], 0, max(message.layouts))
    for version in np.unique(versions):
        these = rows[versions == version]
        starts, ends = encoded.starts[these] + _VERSION_BYTES, encoded.ends[these]
        decoded = decode_spans(message.layouts[int(version)], encoded, starts, ends, exact=False)
        good = decoded.errors == Error.NONE
        yield these[good].tolist(), decoded.values if good.all() else decoded.values.filter(pa.array(good))


def _unparsed(payloads: pa.Array, parsed: list[Any]) -> list[bytes | None]:
    """Return the bytes of the payloads that did not parse."""
    found: list[bytes | None] = [None] * len(parsed)
    rows = [row for row, value in enumerate(parsed) if value is None]
    for row, payload in zip(rows, payloads.take(pa.array(rows, pa.int64())).to_pylist(), strict=True):
        found[row] = payload or None
    return found
