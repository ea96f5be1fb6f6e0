"""Finds batches of a segment that break the ascending order of offsets.

The CRC does not cover the base offset, so a batch with a wrong one may look right otherwise.
"""

from array import array

import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments.record_batch import BatchHeaders


class OffsetOrder:
    """Compares neighbouring batches; `add` takes a file's batches in file order, in portions of any size.

    If two batches overlap, one is at fault: the first, if it left a gap after its predecessor and the second fits into
    that gap; else the second. `blamed` has the positions of the batches at fault, ascending.
    """

    def __init__(self, base_offset: int | None) -> None:
        self.blamed = array("q")
        self._base_offset = base_offset
        # The last two batches: position, first offset and last.
        self._seen: npt.NDArray[np.int64] = np.zeros((3, 0), np.int64)

    def add(self, batches: BatchHeaders) -> None:
        """Compare the next batches, whose headers have no faults."""
        if not len(batches):
            return
        added = np.stack([batches.position, batches.base_offset, batches.last_offset])
        position, base, last = both = np.concatenate([self._seen, added], axis=1)
        start = base[0] if self._base_offset is None else self._base_offset
        before = np.concatenate([[start - 1], last[:-1]])
        # Earlier batches have been compared with each other.
        new = max(self._seen.shape[1], 1)
        second = np.flatnonzero(base[new:] <= last[new - 1 : -1]) + new
        first = second - 1
        first_at_fault = (base[first] > before[first] + 1) & (base[second] > before[first])
        self.blamed.extend(position[np.where(first_at_fault, first, second)].tolist())
        self._seen = both[:, -2:]
