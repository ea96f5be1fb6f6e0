"""The payloads of members of protocol type `consumer`: as Kafka parses them, and as much as a malformed one contains.

`ConsumerProtocol` in kafka-clients reads a newer version as the newest known one, and ignores bytes after the message.
The coordinator does not convert a group if a payload lacks a field of its version. Clients read what is there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Encoded, Error, decode_spans
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from kip848_records.protocol.schema import Layout, Struct
from kip848_records.replay.decode.columns import partition_sets, sorted_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Message
    from kip848_records.replay.numbers import PartitionNumbers

    Ints = NDArray[np.int64]


class ConsumerSubscription(NamedTuple):
    """The subscription of a member of protocol type `consumer`, by `ConsumerProtocolSubscription` in kafka-clients.

    `topics` are sorted. `owned`: the partitions that the member still had when it joined; empty for members that revoke
    all partitions first, None if the payload is cut there. Partitions are numbers of `PartitionNumbers.of_names`.
    """

    topics: tuple[str, ...]
    owned: frozenset[int] | None

    @property
    def url(self) -> None:
        """A consumer has no URL."""

    @property
    def may_lack_assignment(self) -> bool:
        """Whether the leader may leave the member without an assignment."""
        return False


class ConsumerAssignment(NamedTuple):
    """The assignment of a member of protocol type `consumer`; partitions are numbers of `PartitionNumbers.of_names`.

    `has_user_data`: a custom assignor added bytes of its own.
    """

    assigned: frozenset[int]
    has_user_data: bool

    def units(self, _: ConsumerSubscription | None) -> frozenset[int]:
        """Return the partitions that the member has from this generation on."""
        return self.assigned


_VERSION_BYTES: Final = 2
_OWNED: Final = "ownedPartitions"
_NOTHING: Final = ConsumerAssignment(frozenset(), has_user_data=False)


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
            parsed.values[position] = ConsumerSubscription._make(fields)
    return parsed


def read_assignments(payloads: pa.Array, rows: Ints, numbers: PartitionNumbers) -> Payloads:
    """Read the assignments at the positions `rows`. The coordinator writes no bytes for a member without one."""
    parsed = Payloads([None] * len(payloads), [None] * len(payloads))
    lengths = pc.binary_length(payloads).to_numpy(zero_copy_only=False)
    for position in rows[lengths[rows] == 0].tolist():
        parsed.values[position] = _NOTHING
    for part in _parts(CONSUMER_PROTOCOL_ASSIGNMENT, payloads, rows[lengths[rows] > 0], parsed.errors):
        assigned = partition_sets(part.values.field("assigned_partitions"), numbers, "topic")
        user_data = pc.binary_length(part.values.field("user_data"))
        has_user_data = pc.fill_null(pc.greater(user_data, 0), False).to_pylist()  # noqa: FBT003 - the value
        for position, fields in zip(part.positions, zip(assigned, has_user_data, strict=True), strict=True):
            parsed.values[position] = ConsumerAssignment._make(fields)
    return parsed


def _parts(message: Message, payloads: pa.Array, rows: Ints, errors: list[str | None]) -> Iterator[_Part]:
    """Yield the payloads at the positions `rows` by version, and note in `errors` why one is malformed."""
    if not len(rows):
        return
    encoded = Encoded(payloads)
    has_version = encoded.ends[rows] - encoded.starts[rows] >= _VERSION_BYTES
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
    starts = encoded.starts + _VERSION_BYTES
    decoded = decode_spans(layout, encoded, starts[rows], encoded.ends[rows], exact=False)
    good = decoded.errors == Error.NONE
    yield _Part(rows[good].tolist(), decoded.values if good.all() else decoded.values.filter(pa.array(good)))
    # Kafka replaces bytes that are not UTF-8, so that they are no fault of a payload.
    is_malformed = decoded.errors != Error.INVALID_UTF8
    rows, is_malformed = rows[~good], is_malformed[~good]
    fields = [field.name for field in layout.positional(layout.struct)]
    for count in range(len(fields) - 1, -1, -1):
        for is_absent in (True, False):
            if not len(rows):
                return
            lacking = fields[count]
            decoded = decode_spans(
                _first_fields(layout, count), encoded, starts[rows], encoded.ends[rows], exact=is_absent
            )
            good = decoded.errors == Error.NONE
            for position in rows[good & is_malformed].tolist():
                errors[position] = f"{'ends before' if is_absent else 'is cut in'} {lacking}"
            if count:
                values = decoded.values.filter(pa.array(good))
                yield _Part(rows[good].tolist(), values, lacking, is_absent)
            rows, is_malformed = rows[~good], is_malformed[~good]


@cache
def _first_fields(layout: Layout, count: int) -> Layout:
    """Return the layout with its first fields only; the others stay as columns of nulls."""
    kept = {field.name for field in layout.positional(layout.struct)[:count]}
    fields = (field if field.name in kept else replace(field, versions="none") for field in layout.struct.fields)
    return Layout(Struct(tuple(fields)), layout.version, layout.flexible)
