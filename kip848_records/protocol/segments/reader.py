"""Log segments of record batches v2: the bytes of one `<base offset>.log` file -> Arrow rows.

Batches are read in groups of a few MiB, a group column by column: `record_batch` finds the batches and reads their
headers, `compression` gets at the bytes of their records, `record_fields` at the records, `transactions` says what
became of them, `rows` makes rows.
"""

from collections.abc import Iterator
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kip848_records.protocol.segments import transactions
from kip848_records.protocol.segments.compression import CompressionError, Decompressor
from kip848_records.protocol.segments.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    TRANSACTIONAL,
    BatchHeaders,
    NotASegmentError,
    SegmentError,
    UnsupportedMagicError,
    find_batches,
)
from kip848_records.protocol.segments.record_fields import PADDING, parse_records
from kip848_records.protocol.segments.rows import SEGMENT_SCHEMA, BatchGroup, compacted_row, error_row, group_rows

__all__ = ["SEGMENT_SCHEMA", "NotASegmentError", "SegmentError", "UnsupportedMagicError", "read_segment"]

MAX_BATCH_BYTES: Final = 128 * 1024 * 1024
# Arrow's binary arrays count in int32.
LARGEST_BATCH_BYTES: Final = 1024 * 1024 * 1024
GROUP_BYTES: Final = 4 * 1024 * 1024
# What a control record of type abort, commit and any other says.
MARKER_OUTCOMES: Final = np.array([transactions.ABORTED, transactions.COMMITTED, transactions.UNKNOWN], np.int8)


def read_segment(
    data: memoryview | bytes | pa.Buffer,
    *,
    base_offset: int | None,
    batch_rows: int = 10_000,
    max_batch_bytes: int = MAX_BATCH_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Read a segment into Arrow batches of `SEGMENT_SCHEMA`, at most `batch_rows` rows each, in file order.

    `base_offset` is the offset in the file's name (None: not known), `max_batch_bytes` (at most 1 GiB) the bound on the
    records of one batch, decompressed. There are four kinds of rows:

    - a record: `control` and `error` are null. `timestamp` is in ms since the epoch, `timestamp_type` 0 CreateTime or 1
      LogAppendTime, `transaction` one of none, committed, aborted, pending (no marker up to the end of this file) and
      unknown (a marker that cannot be read), `producer_id` -1 for none;
    - a transaction marker: `control` is commit or abort (unknown: a control record of another type), key and value are
      null;
    - the end of a file whose last batch lost its last records to compaction: `control` is compacted, `offset` is the
      last one that the batch covers. So the largest offset of the rows is the last offset that the file covers;
    - a batch that cannot be read: `error` says why and where in the file, `value` has its bytes (the first MiB),
      `offset` its base offset as the header gives it (-1: cut before it), `timestamp` is null. Which offsets it covers
      is not known.

    `compaction_gap`: the offsets right before the row (of a compacted row: up to its own) are missing as only
    compaction makes them go missing. The row behind an error never has it: what is missing there may be the error's.

    Raises `UnsupportedMagicError` for magic 0 or 1 and `NotASegmentError` for a foreign file; both are `SegmentError`,
    with `position`.
    """
    if not 0 < max_batch_bytes <= LARGEST_BATCH_BYTES:
        raise ValueError(f"max_batch_bytes is {max_batch_bytes}, not between 1 and {LARGEST_BATCH_BYTES}")
    segment = memoryview(data).cast("B")
    if not len(segment):
        return
    positions, tail = find_batches(segment)
    headers = BatchHeaders.read(segment, positions)
    reader = _SegmentReader(segment, headers, base_offset, batch_rows, Decompressor(max_batch_bytes))
    for rows in reader.read():
        for start in range(0, rows.num_rows, batch_rows):
            yield rows.slice(start, batch_rows)
    if tail.reason is not None:
        yield error_row(segment[tail.position :], tail.reason)


class _SegmentReader:
    def __init__(
        self,
        segment: memoryview,
        headers: BatchHeaders,
        base_offset: int | None,
        batch_rows: int,
        decompressor: Decompressor,
    ) -> None:
        self.segment = segment
        self.headers = headers
        self.base_offset = base_offset
        self.batch_rows = batch_rows
        self.decompressor = decompressor
        self.faults = headers.faults(base_offset)

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the whole batches, some MiB at a time."""
        outcomes = self._outcomes()
        expected = self.base_offset
        done = 0
        last_unread = True
        for group in self._groups(np.arange(len(self.headers))):
            size = len(group.headers)
            rows, expected = group_rows(self.segment, group, outcomes[done : done + size], expected)
            yield rows
            done += size
            last_unread = size - 1 in group.errors
        if not last_unread and (expected is None or expected <= self.headers.last_offset[-1]):
            yield compacted_row(self.headers[-1:])

    def _outcomes(self) -> npt.NDArray[np.int8]:
        """The transaction outcome of each batch. Markers come after what they decide, so they are read first."""
        marker = np.zeros(len(self.headers), np.int8)
        control = np.flatnonzero(self.headers.has(CONTROL))
        marker[control] = transactions.UNKNOWN
        done = 0
        for group in self._groups(control):
            marker[control[done + group.records.batch]] = MARKER_OUTCOMES[group.control_types()]
            done += len(group.headers)
        return transactions.transaction_outcomes(self.headers.producer_id, self.headers.has(TRANSACTIONAL), marker)

    def _groups(self, chosen: npt.NDArray[np.int64]) -> Iterator[BatchGroup]:
        """Cut these batches into groups of at most `batch_rows` records and a few MiB, or of one batch."""
        records_up_to = np.cumsum(np.maximum(self.headers.count[chosen], 1, dtype=np.int64))
        start = 0
        while start < len(chosen):
            enough = records_up_to[start - 1] * (start > 0) + self.batch_rows
            stop = max(int(np.searchsorted(records_up_to, enough, side="right")), start + 1)
            group = chosen[start:stop]
            pieces, errors = self._pieces(group)
            start += len(pieces)
            yield _parse(self.headers[group[: len(pieces)]], pieces, errors)

    def _pieces(self, batches: npt.NDArray[np.int64]) -> tuple[list[bytes], dict[int, str]]:
        """The records sections of these batches, as many as make up a group, and why some could not be had."""
        headers = self.headers[batches]
        columns = (batches, headers.position, headers.size, headers.crc, headers.attributes & CODEC_MASK)
        pieces: list[bytes] = []
        errors: dict[int, str] = {}
        size = 0
        for batch, position, batch_size, crc, codec in zip(*(column.tolist() for column in columns), strict=True):
            try:
                if batch in self.faults:
                    raise ValueError(self.faults[batch])  # noqa: TRY301
                records = self._records(position, batch_size, crc, codec)
            except ValueError as error:
                errors[len(pieces)] = f"batch at byte {position}: {error}"
                records = b""
            pieces.append(records)
            size += len(records)
            if size >= GROUP_BYTES:
                break
        return pieces, errors

    def _records(self, position: int, size: int, crc: int, codec: int) -> bytes:
        """Return the records section of one batch, decompressed; raises ValueError with the reason."""
        if size - HEADER_SIZE > self.decompressor.limit:
            raise CompressionError(f"refused: more than {self.decompressor.limit} bytes of records")
        checked = bytes(self.segment[position + ATTRIBUTES_AT : position + size])
        actual = google_crc32c.value(checked)
        if actual != crc:
            raise ValueError(f"its CRC-32C is {actual:#010x}, the header says {crc:#010x}")
        records = checked[HEADER_SIZE - ATTRIBUTES_AT :]
        return self.decompressor.decompress(codec, records) if codec and records else records


def _parse(headers: BatchHeaders, pieces: list[bytes], errors: dict[int, str]) -> BatchGroup:
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    ends = np.cumsum(sizes)
    counts = headers.count.astype(np.int64)
    counts[list(errors)] = 0
    buffer = b"".join([*pieces, bytes(PADDING)])
    records, faults = parse_records(buffer, ends - sizes, ends, counts, headers.last_offset_delta.astype(np.int64))
    located = {batch: f"batch at byte {headers.position[batch]}: {reason}" for batch, reason in faults.items()}
    return BatchGroup(headers, buffer, records, errors | located)
