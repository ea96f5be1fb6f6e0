"""A column of encoded messages in, one typed Arrow array and an error code per row out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar.cursors import Cursors, Outcome
from kip848_records.protocol.columnar.encoded import Encoded
from kip848_records.protocol.columnar.errors import Error
from kip848_records.protocol.columnar.plan import plan
from kip848_records.protocol.columnar.scatter import scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.columnar.cursors import Offsets
    from kip848_records.protocol.schema import Layout


@dataclass(frozen=True)
class Decoded:
    """A decoded column: `values` has a struct per row, null if the row is null or failed.

    `errors` holds an `Error` per row. `positions` holds the byte of the row at which the wrong field starts, with its
    length (for an invalid string, the start of its text); -1 in good rows.
    """

    values: pa.StructArray
    errors: NDArray[np.int8]
    positions: NDArray[np.int32]


def decode(layout: Layout, column: pa.Array) -> Decoded:
    """Decode a `binary` or `large_binary` column; every byte of a row must be consumed. Null rows stay null."""
    encoded = Encoded(column)
    if not column.null_count:
        return decode_spans(layout, encoded, encoded.starts, encoded.ends)
    present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    decoded = decode_spans(layout, encoded, encoded.starts[present], encoded.ends[present])
    errors, positions = np.zeros(len(column), np.int8), np.full(len(column), -1, np.int32)
    errors[present], positions[present] = decoded.errors, decoded.positions
    return Decoded(scatter(decoded.values, present, len(column)), errors, positions)


def decode_spans(layout: Layout, encoded: Encoded, starts: Offsets, ends: Offsets, *, exact: bool = True) -> Decoded:
    """Decode the rows of `encoded` that span `starts` to `ends`, which ascend and do not overlap.

    With `exact`, bytes after the last field are an error.
    """
    outcome = Outcome(starts)
    cursors = Cursors(encoded, outcome, starts, ends, lambda: np.arange(len(starts)))
    (values,) = plan(layout).read(cursors)
    if exact:
        cursors.fail(cursors.pos != cursors.end, Error.TRAILING_BYTES, cursors.pos)
    if outcome.any_failed:
        failed = pa.array(outcome.errors != Error.NONE)
        values = pa.StructArray.from_arrays(values.flatten(), fields=list(values.type), mask=failed)
    return Decoded(values, outcome.errors, outcome.positions)
