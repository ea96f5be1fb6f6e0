"""Log segments of record batches v2: the bytes of one `<base offset>.log` file -> Arrow rows.

The file is scanned once (`survey`), which checks the CRCs, then read in windows of some MiB (`window`), and each window
in groups of as many bytes of decompressed records. A group is read column by column: `record_batch` reads the batches'
headers, `compression` decompresses their records, `record_fields` parses the records, `transactions` resolves their
outcomes, and `rows` makes rows.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kip848_records.protocol.segments.compression import Decompressor
from kip848_records.protocol.segments.faults import BatchError, Fault
from kip848_records.protocol.segments.record_batch import TRANSACTIONAL, BatchHeaders
from kip848_records.protocol.segments.rows import (
    NO_OFFSET,
    SEGMENT_SCHEMA,
    GroupColumns,
    compacted_row,
    error_rows,
    group_columns,
    group_rows,
)
from kip848_records.protocol.segments.survey import (
    NotASegmentError,
    SegmentError,
    UnsupportedMagicError,
    survey_segment,
)
from kip848_records.protocol.segments.transactions import Transactions
from kip848_records.protocol.segments.window import Extent, Window

__all__ = ["SEGMENT_SCHEMA", "NotASegmentError", "Segment", "SegmentError", "UnsupportedMagicError", "read_segment"]

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
# Arrow's binary arrays count in int32.
LARGEST_BATCH_BYTES: Final = 1024 * 1024 * 1024
# Record batches are read in parallel, one NumPy step for a record of each: large batches need a large group.
BATCH_ROWS: Final = 50_000


def read_segment(
    data: memoryview | bytes | pa.Buffer,
    *,
    base_offset: int | None,
    batch_rows: int = BATCH_ROWS,
    max_batch_bytes: int = MAX_BATCH_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Read a segment into Arrow batches of `SEGMENT_SCHEMA`, at most `batch_rows` rows each, in file order.

    The arguments and errors are those of `Segment`. There are four kinds of rows:

    - a record: `control` and `error` are null. `timestamp` is in ms since the epoch; `timestamp_type` is 0 (CreateTime)
      or 1 (LogAppendTime). `transaction` is none, committed, aborted, pending (no marker up to the file's end), or
      unknown (the marker cannot be read, or damaged bytes before it may have been it). `producer_id` is -1 for none.
      `leader_epoch` is the partition leader's when the batch was appended;
    - a transaction marker: `control` is commit or abort (unknown: a control record of another type), key and value are
      null;
    - the end of a file whose last batch lost its last records to compaction: `control` is compacted, `offset` is the
      last one that the batch covers. So the largest offset of the rows is the last offset that the file covers;
    - a batch that cannot be read: `error_code` is a `faults.Fault`, `error` has the reason and the position in the
      file, `value` has its bytes (the first MiB), `timestamp` is null. `offset` is its base offset; if that cannot be
      right, it is the offset after the last readable batch before it (-1: unknown). Its other offsets are unknown.

    `compaction_gap`: offsets right before the row (for a compacted row: up to its own) are missing in a way that only
    compaction causes. The row after an error never has it: the error may have caused the gap.
    """
    segment = Segment(data, base_offset=base_offset, batch_rows=batch_rows, max_batch_bytes=max_batch_bytes)
    for columns in segment.groups():
        if (rows := segment.rows(columns)).num_rows:
            yield rows
            # The next batch may be as large.
        del columns, rows
    if segment.compacted_end is not None:
        yield compacted_row(segment.compacted_end)
    if (rows := segment.tail_rows()).num_rows:
        yield rows


class Segment:
    """The bytes of a `<base offset>.log` file, read by groups of batches.

    `groups` yields the columns of each group's records before any becomes a row, and `rows` makes rows of the chosen
    ones. After the last group two values are valid. `compacted_end` is the file's last batch if that lost its last
    records to compaction, else None. `tail_rows` are the rows for the bytes after the last whole batch.
    """

    def __init__(
        self,
        data: memoryview | bytes | pa.Buffer,
        *,
        base_offset: int | None,
        batch_rows: int = BATCH_ROWS,
        max_batch_bytes: int = MAX_BATCH_BYTES,
    ) -> None:
        """Scan the whole file.

        `base_offset` is the offset in the file's name (None: unknown), `batch_rows` the largest number of rows of a
        group, `max_batch_bytes` (at most 1 GiB) the limit for the decompressed records of one batch.

        Raises `UnsupportedMagicError` for magic 0 or 1 and `NotASegmentError` for a foreign file; both are
        `SegmentError`, with `position` and `fault`.
        """
        if not 0 < max_batch_bytes <= LARGEST_BATCH_BYTES:
            raise ValueError(f"max_batch_bytes is {max_batch_bytes}, not between 1 and {LARGEST_BATCH_BYTES}")
        self.segment = memoryview(data).cast("B")
        self.base_offset = base_offset
        self.batch_rows = batch_rows
        self.decompressor = Decompressor(max_batch_bytes)
        self.survey = survey_segment(self.segment, base_offset, self.decompressor)
        self.compacted_end: BatchHeaders | None = None
        # The offset after the last batch that could be read.
        self.reached = base_offset

    def groups(self) -> Iterator[GroupColumns]:
        """Yield the groups in file order, once."""
        expected = self.base_offset
        unread = True
        for extent, outcomes in zip(self.survey.windows, self._outcomes(), strict=True):
            window, misplaced = self._window(extent)
            done = 0
            for group in window.groups(self.batch_rows, misplaced):
                size = len(group.headers)
                theirs = np.zeros(size, np.int8) if outcomes is None else outcomes[done : done + size]
                # A group has more only if it is a single batch.
                for first in range(0, max(len(group.records), 1), self.batch_rows):
                    part = replace(group, records=group.records[first : first + self.batch_rows])
                    columns = group_columns(part, theirs, expected, self.reached)
                    expected = columns.next_expected
                    yield columns
                done += size
                self.reached = group.reached(self.reached)
                unread = size - 1 in group.errors
                # The next group may be as large.
                del group, part, columns
            last_batch = window.headers[-1:]
            # The next window may be as large as well.
            del window
        if not unread and (expected is None or expected <= last_batch.last_offset[0]):
            self.compacted_end = last_batch

    def rows(self, columns: GroupColumns, chosen: npt.NDArray[np.bool_] | None = None) -> pa.RecordBatch:
        """Return the rows (`SEGMENT_SCHEMA`) of a group's chosen records, None for all, and of unreadable batches."""
        return group_rows(self.segment, columns, chosen)

    def tail_rows(self) -> pa.RecordBatch:
        """Return a row for the bytes after the last whole batch; none for nothing or preallocated zeros."""
        tail = self.survey.tail
        if tail.error is None:
            return error_rows([], [], [])
        # In a truncated file, the bytes of the offset may be incomplete.
        offset = NO_OFFSET if self.reached is None else self.reached
        return error_rows([self.segment[tail.position :]], [tail.error], [offset])

    def _outcomes(self) -> list[npt.NDArray[np.int8] | None]:
        """Return the transaction outcomes of each window's batches, None for a window without transactions."""
        windows, transactions = self.survey.windows, Transactions()
        outcomes: list[npt.NDArray[np.int8] | None] = [None] * len(windows)
        concerned = [index for index, extent in enumerate(windows) if extent.transactional]
        # Include the windows in between: a damaged batch there may have been a marker.
        for index in range(concerned[-1], concerned[0] - 1, -1) if concerned else ():
            window, misplaced = self._window(windows[index])
            outcomes[index] = transactions.outcomes_before(
                window.headers.producer_id,
                window.headers.has(TRANSACTIONAL),
                window.markers(misplaced),
                ~window.sound,
            )
            del window
        return outcomes

    def _window(self, extent: Extent) -> tuple[Window, dict[int, BatchError]]:
        """Return a window, and the faults of batches with a header that cannot be right."""
        window = extent.read(self.segment, self.decompressor)
        headers = window.headers
        first, last = np.searchsorted(self.survey.out_of_order, [headers.position[0], window.end])
        overlapping = np.searchsorted(headers.position, self.survey.out_of_order[first:last])
        error = BatchError(Fault.OVERLAPPING_OFFSETS, "offsets overlap the batch beside it")
        return window, headers.faults() | dict.fromkeys(overlapping.tolist(), error)
