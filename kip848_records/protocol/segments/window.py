"""Some thousand neighbouring batches of a segment, read in groups: the headers are known, now come the records."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments import transactions
from kip848_records.protocol.segments.compression import CompressionError, Decompressor
from kip848_records.protocol.segments.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    BatchHeaders,
)
from kip848_records.protocol.segments.record_fields import PADDING, parse_records
from kip848_records.protocol.segments.rows import ERROR_VALUE_BYTES, BatchGroup

GROUP_BYTES: Final = 4 * 1024 * 1024
# Where the records start in what the CRC covers.
RECORDS_AT: Final = HEADER_SIZE - ATTRIBUTES_AT
# What a control record of type abort, commit and any other says.
MARKER_OUTCOMES: Final = np.array([transactions.ABORTED, transactions.COMMITTED, transactions.UNKNOWN], np.int8)


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring batches, and why some of them cannot be right, by index.

    `sound` says whose CRC was found right, if anybody has looked.
    """

    segment: memoryview
    headers: BatchHeaders
    faults: dict[int, str]
    decompressor: Decompressor
    batch_rows: int
    sound: npt.NDArray[np.bool_] | None = None

    def markers(self) -> npt.NDArray[np.int8]:
        """Return what each batch says as a transaction marker, as an outcome; NONE for those that are no markers."""
        marker = np.zeros(len(self.headers), np.int8)
        control = np.flatnonzero(self.headers.has(CONTROL))
        marker[control] = transactions.UNKNOWN
        done = 0
        for group in self.groups(control):
            marker[control[done + group.records.batch]] = MARKER_OUTCOMES[group.control_types()]
            done += len(group.headers)
        return marker

    def find_sound(self) -> npt.NDArray[np.bool_]:
        """Return for which batches a CRC vouches: what their headers say is what was written.

        Not for one with more records than anybody wants to look at.
        """
        sound = self.headers.size - HEADER_SIZE <= self.decompressor.limit
        checked = np.flatnonzero(sound)
        columns = (self.headers.position, self.headers.size, self.headers.crc)
        for batch, position, size, crc in zip(checked.tolist(), *(c[checked].tolist() for c in columns), strict=True):
            sound[batch] = google_crc32c.value(self._checked(position, size)) == crc
        return sound

    def groups(self, chosen: npt.NDArray[np.int64]) -> Iterator[BatchGroup]:
        """Cut these batches into groups of at most `batch_rows` records and a few MiB, or of one batch."""
        records_up_to = np.cumsum(np.maximum(self.headers.count[chosen], 1, dtype=np.int64))
        start = 0
        while start < len(chosen):
            enough = records_up_to[start - 1] * (start > 0) + self.batch_rows
            stop = max(int(np.searchsorted(records_up_to, enough, side="right")), start + 1)
            group = self._group(chosen[start:stop])
            start += len(group.headers)
            yield group
            # The next may be as large.
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
        located = {batch: f"batch at byte {headers.position[batch]}: {reason}" for batch, reason in faults.items()}
        misplaced = frozenset(place for place in errors if int(batches[place]) in self.faults)
        return BatchGroup(headers, buffer, records, errors | located, misplaced)

    def _contents(self, batches: npt.NDArray[np.int64]) -> tuple[bytes, npt.NDArray[np.int64], dict[int, str]]:
        """Join what `_content` gives of these batches, as many as make up a group.

        Returns the bytes, how many of them are of each batch, and why some batches have none.
        """
        headers = self.headers[batches]
        sound = np.zeros(len(batches), np.bool_) if self.sound is None else self.sound[batches]
        columns = (batches, headers.position, headers.size, headers.crc, headers.attributes & CODEC_MASK, sound)
        contents: list[bytes] = []
        errors: dict[int, str] = {}
        size = 0
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for batch, position, batch_size, crc, codec, is_sound in rows:
            try:
                if batch in self.faults:
                    raise ValueError(self.faults[batch])  # noqa: TRY301
                content = self._content(position, batch_size, None if is_sound else crc, codec)
                size += len(content)
            except ValueError as error:
                errors[len(contents)] = f"batch at byte {position}: {error}"
                content = b""
                size += min(batch_size, ERROR_VALUE_BYTES)
            contents.append(content)
            if size >= GROUP_BYTES:
                break
        sizes = np.fromiter(map(len, contents), np.int64, len(contents))
        return b"".join([*contents, bytes(PADDING)]), sizes, errors

    def _content(self, position: int, size: int, crc: int | None, codec: int) -> bytes:
        """Return the records of a batch, behind `RECORDS_AT` other bytes if they are not compressed.

        `crc` is None for one that was checked. Raises ValueError with the reason.
        """
        if size - HEADER_SIZE > self.decompressor.limit:
            raise CompressionError(f"refused: more than {self.decompressor.limit} bytes of records")
        checked = self._checked(position, size)
        if crc is not None and (actual := google_crc32c.value(checked)) != crc:
            raise ValueError(f"its CRC-32C is {actual:#010x}, the header says {crc:#010x}")
        return self.decompressor.decompress(codec, checked[RECORDS_AT:]) if codec else checked

    def _checked(self, position: int, size: int) -> bytes:
        """Return the bytes that a batch's CRC covers."""
        return bytes(self.segment[position + ATTRIBUTES_AT : position + size])
