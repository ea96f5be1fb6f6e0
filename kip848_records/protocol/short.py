"""Messages that end early: as many of their first fields as the bytes contain.

Some clients write the version of a message without all fields of that version: kafka-go, kafkajs, sarama and pykafka
write subscriptions of version 1 that end before `ownedPartitions`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from kip848_records.protocol.columnar import Encoded, Error, decode_spans
from kip848_records.protocol.schema import Layout, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

VERSION_BYTES: Final = 2
"""The bytes of the version in front of a message."""


class Short(NamedTuple):
    """Messages that have the same first fields, those of `layout`. `rows`: their positions.

    `values` has a struct for each; fields that are not there are null. `lacking`: the first of these fields. `is_cut`:
    the bytes end within that field; else they end before it.
    """

    rows: Ints
    layout: Layout
    values: pa.StructArray
    lacking: str
    is_cut: bool


def short_messages(layout: Layout, encoded: Encoded, rows: Ints, *, cut: bool) -> Iterator[Short]:
    """Yield the messages at the positions `rows` that lack fields of a layout: first those that lack the fewest.

    Each has its version in front. With `cut`, also those that end within a field.
    """
    starts = encoded.starts + VERSION_BYTES
    fields = [field.name for field in layout.positional(layout.struct)]
    for count in range(len(fields) - 1, -1, -1):
        first = _first_fields(layout, count)
        for is_cut in (False, True) if cut else (False,):
            if not len(rows):
                return
            decoded = decode_spans(first, encoded, starts[rows], encoded.ends[rows], exact=not is_cut)
            good = decoded.errors == Error.NONE
            if good.any():
                yield Short(rows[good], first, decoded.values.filter(pa.array(good)), fields[count], is_cut)
            rows = rows[~good]


@cache
def _first_fields(layout: Layout, count: int) -> Layout:
    """Return the layout with its first fields only; the others stay as columns of nulls."""
    kept = {field.name for field in layout.positional(layout.struct)[:count]}
    fields = (field if field.name in kept else replace(field, versions="none") for field in layout.struct.fields)
    return Layout(Struct(tuple(fields)), layout.version, layout.flexible)
