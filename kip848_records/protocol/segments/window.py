"""Some thousand neighbouring batches of a segment with known headers, whose records are read in groups."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments import transactions
from kip848_records.protocol.segments.compression import Decompressor
from kip848_records.protocol.segments.faults import BatchError, Fault, UnreadableBatchError
from kip848_records.protocol.segments.record_batch import ATTRIBUTES_AT, CODEC_MASK, CONTROL, HEADER_SIZE, BatchHeaders
from kip848_records.protocol.segments.record_fields import PADDING, parse_records
from kip848_records.protocol.segments.rows import ERROR_VALUE_BYTES, BatchGroup

GROUP_BYTES: Final = 4 * 1024 * 1024
# The start of the records in the bytes that the CRC covers.
RECORDS_AT: Final = HEADER_SIZE - ATTRIBUTES_AT
# The outcomes in control records of type abort, commit and any other.
MARKER_OUTCOMES: Final = np.array([transactions.ABORTED, transactions.COMMITTED, transactions.UNKNOWN], np.int8)


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring batches, and the faults of some of them, by index.

    `sound`: which batches have a correct CRC; None if they were not checked.
    """

    segment: memoryview
    headers: BatchHeaders
    faults: dict[int, BatchError]
    decompressor: Decompressor
    batch_rows: int
    sound: npt.NDArray[np.bool_] | None = None

    def markers(self) -> npt.NDArray[np.int8]:
        """Return the outcome in each batch that is a transaction marker; NONE for all others."""
        marker = np.zeros(len(self.headers), np.int8)
        control = np.flatnonzero(self.headers.has(CONTROL))
        marker[control] = transactions.UNKNOWN
        done = 0
        for group in self.groups(control):
            marker[control[done + group.records.batch]] = MARKER_OUTCOMES[group.control_types()]
            done += len(group.headers)
        return marker

    def find_sound(self) -> npt.NDArray[np.bool_]:
        """Return which batches have a correct CRC: their headers contain what was written.

        Batches with more records than the limit are not checked.
        """
        sound = self.headers.size - HEADER_SIZE <= self.decompressor.limit
        checked = np.flatnonzero(sound)
        columns = (self.headers.position, self.headers.size, self.headers.crc)
        for batch, position, size, crc in zip(checked.tolist(), *(c[checked].tolist() for c in columns), strict=True):
            sound[batch] = google_crc32c.value(self._checked(position, size)) == crc
        return sound

    def groups(self, chosen: npt.NDArray[np.int64]) -> Iterator[BatchGroup]:
        """Split these batches into groups of at most `batch_rows` records and a few MiB, or of one batch."""
        records_up_to = np.cumsum(np.maximum(self.headers.count[chosen], 1, dtype=np.int64))
        start = 0
        while start < len(chosen):
            enough = records_up_to[start - 1] * (start > 0) + self.batch_rows
            stop = max(int(np.searchsorted(records_up_to, enough, side="right")), start + 1)
            group = self._group(chosen[start:stop])
            start += len(group.headers)
            yield group
            # The next group may be as large.
            del group

    def _group(self, batches: npt.NDArray[np.int64]) -> BatchGroup:
        """Read as many of these batches as make up a group."""
        buffer, sizes, errors = self._contents(batches)
        headers = self.headers[batches[: len(sizes)]]
        ends = np.cumsum(sizes)
        starts = ends - sizes + np.where((headers.attributes & CODEC_MASK) | (sizes == 0), 0, RECORDS_AT)
        counts = headers.count.astype(np.int64)
        counts[list(errors)] = 0
        records, faults = parse_records(buffer, starts, ends, counts, headers.last_offset_delta.astype(np.int64))
        located = {batch: _located(error, int(headers.position[batch])) for batch, error in faults.items()}
        misplaced = frozenset(place for place in errors if int(batches[place]) in self.faults)
        return BatchGroup(headers, buffer, records, errors | located, misplaced)

    def _contents(self, batches: npt.NDArray[np.int64]) -> tuple[bytes, npt.NDArray[np.int64], dict[int, BatchError]]:
        """Join the results of `_content` for these batches, as many as fill a group.

        Returns the bytes, the number of bytes of each batch, and the errors of batches without any.
        """
        headers = self.headers[batches]
        sound = np.zeros(len(batches), np.bool_) if self.sound is None else self.sound[batches]
        columns = (batches, headers.position, headers.size, headers.crc, headers.attributes & CODEC_MASK, sound)
        contents: list[bytes] = []
        errors: dict[int, BatchError] = {}
        size = 0
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for batch, position, batch_size, crc, codec, is_sound in rows:
            try:
                if batch in self.faults:
                    raise UnreadableBatchError(*self.faults[batch])  # noqa: TRY301
                content = self._content(position, batch_size, None if is_sound else crc, codec)
                size += len(content)
            except UnreadableBatchError as unreadable:
                errors[len(contents)] = _located(unreadable.error, position)
                content = b""
                size += min(batch_size, ERROR_VALUE_BYTES)
            contents.append(content)
            if size >= GROUP_BYTES:
                break
        sizes = np.fromiter(map(len, contents), np.int64, len(contents))
        return b"".join([*contents, bytes(PADDING)]), sizes, errors

    def _content(self, position: int, size: int, crc: int | None, codec: int) -> bytes:
        """Return the records of a batch, preceded by `RECORDS_AT` other bytes if they are not compressed.

        `crc` is None if it was checked already. Raises UnreadableBatchError with the reason.
        """
        if size - HEADER_SIZE > self.decompressor.limit:
            reason = f"refused: more than {self.decompressor.limit} bytes of records"
            raise UnreadableBatchError(Fault.TOO_LARGE, reason)
        checked = self._checked(position, size)
        if crc is not None and (actual := google_crc32c.value(checked)) != crc:
            reason = f"its CRC-32C is {actual:#010x}, but the header has {crc:#010x}"
            raise UnreadableBatchError(Fault.BAD_CRC, reason)
        return self.decompressor.decompress(codec, checked[RECORDS_AT:]) if codec else checked

    def _checked(self, position: int, size: int) -> bytes:
        """Return the bytes that a batch's CRC covers."""
        return bytes(self.segment[position + ATTRIBUTES_AT : position + size])


def _located(error: BatchError, position: int) -> BatchError:
    return error._replace(reason=f"batch at byte {position}: {error.reason}")
