"""Log segments of record batches v2: the bytes of one `<base offset>.log` file -> Arrow rows.

The file is looked through once (`survey`), then read in windows of some thousand batches, each window in groups of a
few MiB, a group column by column: `record_batch` reads the batches' headers, `compression` gets at the bytes of their
records, `record_fields` at the records, `transactions` says what became of them, `rows` makes rows.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kip848_records.protocol.segments.compression import Decompressor
from kip848_records.protocol.segments.record_batch import TRANSACTIONAL
from kip848_records.protocol.segments.rows import (
    NO_OFFSET,
    SEGMENT_SCHEMA,
    Chooser,
    compacted_row,
    error_rows,
    group_columns,
    group_rows,
)
from kip848_records.protocol.segments.survey import (
    NotASegmentError,
    SegmentError,
    UnsupportedMagicError,
    read_window,
    survey_segment,
)
from kip848_records.protocol.segments.transactions import Transactions
from kip848_records.protocol.segments.window import Window

__all__ = ["SEGMENT_SCHEMA", "NotASegmentError", "SegmentError", "UnsupportedMagicError", "read_segment"]

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
# Arrow's binary arrays count in int32.
LARGEST_BATCH_BYTES: Final = 1024 * 1024 * 1024
# Record batches are read side by side, one NumPy step for a record of each: of large ones it takes many to have enough.
BATCH_ROWS: Final = 50_000


def read_segment(
    data: memoryview | bytes | pa.Buffer,
    *,
    base_offset: int | None,
    batch_rows: int = BATCH_ROWS,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    choose: Chooser | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read a segment into Arrow batches of `SEGMENT_SCHEMA`, at most `batch_rows` rows each, in file order.

    `base_offset` is the offset in the file's name (None: not known), `max_batch_bytes` (at most 1 GiB) the bound on the
    records of one batch, decompressed. `choose` is asked, group by group, which records and markers are to become rows.
    There are four kinds of rows:

    - a record: `control` and `error` are null. `timestamp` is in ms since the epoch, `timestamp_type` 0 CreateTime or 1
      LogAppendTime, `transaction` one of none, committed, aborted, pending (no marker up to the end of this file) and
      unknown (the marker cannot be read, or something damaged before it may have been it), `producer_id` -1 for none;
    - a transaction marker: `control` is commit or abort (unknown: a control record of another type), key and value are
      null;
    - the end of a file whose last batch lost its last records to compaction: `control` is compacted, `offset` is the
      last one that the batch covers. So the largest offset of the rows is the last offset that the file covers;
    - a batch that cannot be read: `error` says why and where in the file, `value` has its bytes (the first MiB),
      `offset` is its base offset, or where that cannot be right the one behind the last batch before it that was read
      (-1: not known), `timestamp` is null. Which offsets it covers is not known.

    `compaction_gap`: the offsets right before the row (of a compacted row: up to its own) are missing as only
    compaction makes them go missing. The row behind an error never has it: what is missing there may be the error's.

    Raises `UnsupportedMagicError` for magic 0 or 1 and `NotASegmentError` for a foreign file; both are `SegmentError`,
    with `position`.
    """
    if not 0 < max_batch_bytes <= LARGEST_BATCH_BYTES:
        raise ValueError(f"max_batch_bytes is {max_batch_bytes}, not between 1 and {LARGEST_BATCH_BYTES}")
    segment = memoryview(data).cast("B")
    if len(segment):
        yield from _SegmentReader(segment, base_offset, batch_rows, Decompressor(max_batch_bytes), choose).read()


class _SegmentReader:
    def __init__(
        self,
        segment: memoryview,
        base_offset: int | None,
        batch_rows: int,
        decompressor: Decompressor,
        choose: Chooser | None,
    ) -> None:
        self.segment = segment
        self.base_offset = base_offset
        self.batch_rows = batch_rows
        self.decompressor = decompressor
        self.choose = choose
        self.survey = survey_segment(segment, base_offset)
        # Of the windows that were looked at for transactions, by where they start: `Window.sound`.
        self.sound: dict[int, npt.NDArray[np.bool_]] = {}

    def read(self) -> Iterator[pa.RecordBatch]:
        expected = reached = self.base_offset
        unread = True
        for start, outcomes in zip(self.survey.windows, self._outcomes(), strict=True):
            window = self._window(start)
            done = 0
            for group in window.groups(np.arange(len(window.headers))):
                size = len(group.headers)
                theirs = np.zeros(size, np.int8) if outcomes is None else outcomes[done : done + size]
                # Only a batch that is a group of its own has more.
                for first in range(0, max(len(group.records), 1), self.batch_rows):
                    part = replace(group, records=group.records[first : first + self.batch_rows])
                    columns = group_columns(part, theirs, expected, reached)
                    expected = columns.next_expected
                    rows = group_rows(self.segment, columns, self.choose and self.choose(columns))
                    if rows.num_rows:
                        yield rows
                done += size
                reached = group.reached(reached)
                unread = size - 1 in group.errors
                # The next may be as large.
                del group, part, columns, rows
            last_batch = window.headers[-1:]
        if not unread and (expected is None or expected <= last_batch.last_offset[0]):
            yield compacted_row(last_batch)
        if (reason := self.survey.tail.reason) is not None:
            # Of a file that is cut, the bytes of the offset may not be all there.
            offset = NO_OFFSET if reached is None else reached
            yield error_rows([self.segment[self.survey.tail.position :]], [reason], [offset])

    def _outcomes(self) -> list[npt.NDArray[np.int8] | None]:
        """The transaction outcomes of each window's batches, None for a window without transactions."""
        windows = self.survey.windows
        outcomes: list[npt.NDArray[np.int8] | None] = [None] * len(windows)
        transactions = Transactions()
        concerned = np.flatnonzero(self.survey.transactional).tolist()
        # Those in between too: what is damaged there may have been a marker.
        for index in range(concerned[-1], concerned[0] - 1, -1) if concerned else ():
            unchecked = self._window(windows[index])
            sound = self.sound[windows[index]] = unchecked.find_sound()
            headers, markers = unchecked.headers, replace(unchecked, sound=sound).markers()
            outcomes[index] = transactions.outcomes_before(
                headers.producer_id, headers.has(TRANSACTIONAL), markers, ~sound
            )
        return outcomes

    def _window(self, start: int) -> Window:
        headers, end = read_window(self.segment, start)
        first, last = np.searchsorted(self.survey.out_of_order, [start, end])
        overlapping = np.searchsorted(headers.position, self.survey.out_of_order[first:last])
        faults = headers.faults() | dict.fromkeys(overlapping.tolist(), "offsets overlap the batch beside it")
        return Window(self.segment, headers, faults, self.decompressor, self.batch_rows, self.sound.get(start))
