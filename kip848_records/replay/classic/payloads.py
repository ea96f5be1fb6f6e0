"""The payloads of members of protocol type `consumer`: as Kafka parses them, and as much as a malformed one contains.

`ConsumerProtocol` in kafka-clients reads a newer version as the newest known one, and ignores bytes after the message.
The coordinator does not convert a group if a payload lacks a field of its version. Clients read what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Encoded, Error, decode_spans
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from kip848_records.protocol.short import VERSION_BYTES, short_messages
from kip848_records.replay.decode.columns import partition_sets, sorted_texts
from kip848_records.replay.records import Assignment, Subscription

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Layout, Message
    from kip848_records.replay.numbers import PartitionNumbers

    Ints = NDArray[np.int64]


_OWNED: Final = "ownedPartitions"
_NOTHING: Final = Assignment(frozenset())


class Payloads(NamedTuple):
    """The value of each payload, None if nothing of it was read, and why it is malformed, None if it is not."""

    values: list[Any]
    errors: list[str | None]


class _Part(NamedTuple):
    """Payloads of one version that were read alike. `positions`: of the payloads.

    `lacking`: the first field that was not read, None if all were. `is_absent`: the payloads end before that field.
    """

    positions: list[int]
    values: pa.StructArray
    lacking: str | None = None
    is_absent: bool = False


def read_subscriptions(payloads: pa.Array, rows: Ints, numbers: PartitionNumbers) -> Payloads:
    """Read the subscriptions at the positions `rows`.

    A member whose payload ends before `ownedPartitions` owns none, as with version 0. If that field is cut, it is
    unknown what the member owns.
    """
    parsed = Payloads([None] * len(payloads), [None] * len(payloads))
    for part in _parts(CONSUMER_PROTOCOL_SUBSCRIPTION, payloads, rows, parsed.errors):
        topics = sorted_texts(part.values.field("topics"))
        owned: Sequence[frozenset[int] | None]
        owned = partition_sets(part.values.field("owned_partitions"), numbers, "topic")
        if not part.is_absent and part.lacking in {_OWNED, "userData"}:
            owned = [None] * len(owned)
        for position, fields in zip(part.positions, zip(topics, owned, strict=True), strict=True):
            parsed.values[position] = Subscription(*fields)
    return parsed


def read_assignments(payloads: pa.Array, rows: Ints, numbers: PartitionNumbers) -> Payloads:
    """Read the assignments at the positions `rows`. The coordinator writes no bytes for a member without one."""
    parsed = Payloads([None] * len(payloads), [None] * len(payloads))
    lengths = pc.binary_length(payloads).to_numpy(zero_copy_only=False)
    for position in rows[lengths[rows] == 0].tolist():
        parsed.values[position] = _NOTHING
    for part in _parts(CONSUMER_PROTOCOL_ASSIGNMENT, payloads, rows[lengths[rows] > 0], parsed.errors):
        assigned = partition_sets(part.values.field("assigned_partitions"), numbers, "topic")
        user_data = part.values.field("user_data").to_pylist()
        for position, fields in zip(part.positions, zip(assigned, user_data, strict=True), strict=True):
            parsed.values[position] = Assignment(*fields)
    return parsed


def _parts(message: Message, payloads: pa.Array, rows: Ints, errors: list[str | None]) -> Iterator[_Part]:
    """Yield the payloads at the positions `rows` by version, and note in `errors` why one is malformed."""
    if not len(rows):
        return
    encoded = Encoded(payloads)
    has_version = encoded.ends[rows] - encoded.starts[rows] >= VERSION_BYTES
    for position in rows[~has_version].tolist():
        errors[position] = "it has no version"
    rows = rows[has_version]
    written = encoded.view(">i2")[encoded.starts[rows]]
    versions = np.clip(written, 0, max(message.layouts))
    for version in np.unique(versions):
        yield from _version_parts(message.layouts[int(version)], encoded, rows[versions == version], errors)
    for position, version in zip(rows.tolist(), written.tolist(), strict=True):
        if version < 0:
            errors[position] = f"its version is {version}"
        elif (error := errors[position]) is not None:
            errors[position] = f"version {version} {error}"


def _version_parts(layout: Layout, encoded: Encoded, rows: Ints, errors: list[str | None]) -> Iterator[_Part]:
    """Yield the payloads of one version: those with all its fields, then those that lack more and more of them."""
    starts, ends = encoded.starts[rows] + VERSION_BYTES, encoded.ends[rows]
    decoded = decode_spans(layout, encoded, starts, ends, exact=False)
    good = decoded.errors == Error.NONE
    yield _Part(rows[good].tolist(), decoded.values if good.all() else decoded.values.filter(pa.array(good)))
    # Kafka replaces bytes that are not UTF-8, so that they are no fault of a payload.
    malformed = {*rows[(decoded.errors != Error.NONE) & (decoded.errors != Error.INVALID_UTF8)].tolist()}
    for short in short_messages(layout, encoded, rows[~good], cut=True):
        positions = short.rows.tolist()
        for position in malformed.intersection(positions):
            errors[position] = f"{'is cut in' if short.is_cut else 'ends before'} {short.lacking}"
        if short.layout.positional(short.layout.struct):
            yield _Part(positions, short.values, short.lacking, is_absent=not short.is_cut)
