"""Columns of decoded types 2 -> `ClassicGroupValue`, with the payloads of the members parsed.

The payloads are bytes of the members' own protocol: that of the protocol type `consumer`, all of a batch parsed
together (`payloads`), and that of Connect workers, one at a time.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar import Encoded
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE, CONSUMER_PROTOCOL_TYPE
from kip848_records.protocol.short import VERSION_BYTES
from kip848_records.replay.classic.payloads import read_assignments, read_subscriptions
from kip848_records.replay.decode.columns import int_objects, list_parts, texts, tuples
from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from kip848_records.replay.classic.payloads import Payloads
    from kip848_records.replay.decode.columns import Columns

    Rows = NDArray[np.int64]
    PayloadReader = Callable[..., Any]

_UNKNOWN_TIME: Final = -1
_PAYLOADS: Final = ("subscription", "assignment")


def classic_groups(
    columns: Columns, worker_payloads: Callable[[], tuple[PayloadReader, PayloadReader]]
) -> Iterable[ClassicGroupValue]:
    """Return the values of records of type 2.

    `worker_payloads` returns what reads the subscription and the assignment of a Connect worker.
    """
    offsets, members = list_parts(columns["members"])
    ids: list[Any] = texts(members.field("member_id"))
    kinds = list(columns.texts("protocol_type"))
    of_consumers = np.repeat(np.array([kind == CONSUMER_PROTOCOL_TYPE for kind in kinds], bool), np.diff(offsets))
    rows = np.flatnonzero(of_consumers)
    parsed = (
        read_subscriptions(members.field("subscription"), rows, columns.numbers.of_names),
        read_assignments(members.field("assignment"), rows, columns.numbers.of_names),
    )
    workers = np.flatnonzero(np.repeat([kind == CONNECT_PROTOCOL_TYPE for kind in kinds], np.diff(offsets)))
    readers = worker_payloads() if len(workers) else ()
    for name, found, read in zip(_PAYLOADS, parsed, readers, strict=False):
        _read_workers(members.field(name), workers, found.values, partial(read, numbers=columns.numbers.of_names))
    described = list(
        tuples(
            ClassicMemberValue,
            ids,
            *(texts(members.field(name)) for name in ("group_instance_id", "client_id", "client_host")),
            *(int_objects(members.field(name)).tolist() for name in ("rebalance_timeout", "session_timeout")),
            *(payloads.values for payloads in parsed),
            *(_unparsed(members.field(name), each) for name, each in zip(_PAYLOADS, parsed, strict=True)),
            *(payloads.errors for payloads in parsed),
            _versions(members.field("subscription"), rows),
        )
    )
    bounds = list(pairwise(offsets.tolist()))
    times = (None if at == _UNKNOWN_TIME else at for at in columns.ints("current_state_timestamp"))
    return tuples(
        ClassicGroupValue,
        columns.ints("generation"),
        (tuple(ids[first:end]) for first, end in bounds),
        (tuple(described[first:end]) for first, end in bounds),
        kinds,
        columns.texts("protocol"),
        columns.texts("leader"),
        times,
    )


def _read_workers(payloads: pa.Array, rows: Rows, found: list[Any], read: Callable[[bytes], Any]) -> None:
    """Add the payloads of Connect workers; most recur from one generation to the next, and are read once."""
    encoded = payloads.take(pa.array(rows, pa.int64())).fill_null(b"").dictionary_encode()
    read_once: list[Any] = [None] * len(encoded.dictionary)
    for place, payload in enumerate(encoded.dictionary.to_pylist()):
        with suppress(ValueError):
            read_once[place] = read(payload) if payload else None
    for row, place in zip(rows.tolist(), encoded.indices.to_pylist(), strict=True):
        found[row] = read_once[place]


def _versions(payloads: pa.Array, rows: Rows) -> list[int | None]:
    """Return the version of the payloads at the positions `rows` as written; None for others and without one."""
    found: list[int | None] = [None] * len(payloads)
    encoded = Encoded(payloads)
    rows = rows[encoded.ends[rows] - encoded.starts[rows] >= VERSION_BYTES]
    for row, version in zip(rows.tolist(), encoded.view(">i2")[encoded.starts[rows]].tolist(), strict=True):
        found[row] = version
    return found


def _unparsed(payloads: pa.Array, parsed: Payloads) -> list[bytes | None]:
    """Return the bytes of the payloads that were not read, or are malformed."""
    found: list[bytes | None] = [None] * len(payloads)
    values = zip(*parsed, strict=True)
    rows = [row for row, (value, error) in enumerate(values) if value is None or error is not None]
    for row, payload in zip(rows, payloads.take(pa.array(rows, pa.int64())).to_pylist(), strict=True):
        found[row] = payload or None
    return found
