"""The content of a dump by key (`specs.log_columns.BY_KEY`). A dump shows neither batches nor markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar.encoded import Encoded
from kip848_records.queries.texts import rendered
from kip848_records.sources.key_contents import KeyContents, KeyedRecords, Slices, by_key
from kip848_records.sources.key_hashes import WORD, hashes_of
from kip848_records.sources.rows import times_of
from kip848_records.specs.log_columns import BY_KEY, OPEN
from kip848_records.times import NO_TIMESTAMP_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kip848_records.engines.engine import Engine, Relation

_FOUND: Final = pa.schema([("partition", pa.int32()), ("by_key", pa.list_(BY_KEY))])
_AT_ONCE: Final = 8_192


def by_key_of_rows(engine: Engine, rows: Relation, columns: Mapping[str, str], is_readable: str) -> dict[int, pa.Array]:
    """Return by partition what rows hold by key, as an array of `BY_KEY` with an element for each part of the rows.

    `columns`: ``partition, offset, timestamp, key, value`` in SQL, over rows that are named `dump`.
    """
    text = rendered("sources/sql/keyed_rows.sql", columns=columns, is_readable=is_readable)
    counted = engine.map(count_by_key, engine.sql(text, dump=rows), _FOUND)
    found: dict[int, list[pa.Array]] = {}
    for batch in engine.materialize(counted, "by-key").batches():
        for partition, each in zip(batch["partition"].to_pylist(), batch["by_key"], strict=True):
            found.setdefault(partition, []).append(each.values.cast(BY_KEY))
    return {partition: _numbered(pa.concat_arrays(parts)) for partition, parts in found.items()}


def count_by_key(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what rows hold by key: a row (`_FOUND`) for each partition, and for each part of it in order."""
    counts: dict[int, KeyContents] = {}
    reached: dict[int, int] = {}
    for batch in batches:
        for partition, records in _by_partition(batch):
            if records.offset[0] <= reached.get(partition, -1):
                yield _row(partition, counts.pop(partition))
            counts.setdefault(partition, KeyContents()).add(records)
            reached[partition] = int(records.offset[-1])
    for partition, counted in counts.items():
        yield _row(partition, counted)


def _by_partition(batch: pa.RecordBatch) -> Iterator[tuple[int, KeyedRecords]]:
    """Yield the records of each partition in the order of their offsets, some thousands at once."""
    keyed = batch.filter(pc.greater(pc.fill_null(pc.binary_length(batch["key"].cast(pa.binary())), 0), 0))
    if not keyed.num_rows:
        return
    partitions, offsets = keyed["partition"].to_numpy(), keyed["place"].to_numpy()
    millis, _, is_timed = times_of(keyed["timestamp"])
    keys, values = _slices(keyed["key"]), _slices(keyed["value"])
    hashes = hashes_of(keys.buffer, keys.starts, keys.sizes)
    every = KeyedRecords(hashes, keys, values, offsets, np.where(is_timed, millis, NO_TIMESTAMP_MS))
    order = np.lexsort((offsets, partitions))
    starts = np.flatnonzero(np.diff(partitions[order], prepend=-1))
    for first, behind in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        for at in range(first, behind, _AT_ONCE):
            rows = order[at : min(at + _AT_ONCE, behind)]
            yield int(partitions[rows[0]]), every.of(rows, hashes[rows])


def _slices(column: pa.Array) -> Slices:
    """Return the bytes of a column, with some zeros in front, which a hash of a short key reads."""
    encoded = Encoded(column.cast(pa.binary()))
    is_null = pc.is_null(column).to_numpy(zero_copy_only=False)
    sizes: NDArray[np.int64] = np.where(is_null, -1, encoded.ends - encoded.starts)
    return Slices(bytes(WORD) + encoded.bytes, encoded.starts + WORD, sizes)


def _row(partition: int, counted: KeyContents) -> pa.RecordBatch:
    fields = {**counted.rows(), "open": pa.array([], OPEN), "ended": pa.array([], pa.int64())}
    return pa.RecordBatch.from_arrays([pa.array([partition], pa.int32()), by_key(fields)], schema=_FOUND)


def _numbered(parts: pa.StructArray) -> pa.StructArray:
    fields = {field.name: parts.field(field.name) for field in BY_KEY}
    fields["number"] = pa.array(np.arange(len(parts)), pa.int32())
    return pa.StructArray.from_arrays(list(fields.values()), fields=list(BY_KEY))
