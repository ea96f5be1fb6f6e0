"""Offset commits of a segment file that nobody asked for: left out where the file is read, and counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar.encoded import Encoded
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources.log import LEFT_OUT

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARKERS: Final = ("commit", "abort")
_TYPE_BYTES: Final = 2
_COUNT_BYTES: Final = 8


class LeftOut:
    """Drops the offset commits of a file's rows, and the markers of the transactions that only they are written in."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str]] = Counter()
        self._newest_ms: int | None = None
        self._last_offset = -1

    def drop(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return what is left of log rows (`sources.log.COPY_SCHEMA`), and count the rest."""
        readable = rows["error"].is_null().to_numpy(zero_copy_only=False)
        is_record = readable & rows["control"].is_null().to_numpy(zero_copy_only=False)
        types = np.where(is_record, _key_types(rows["key"]), -1)
        is_commit = np.isin(types, OFFSET_COMMIT_TYPES)
        if is_commit.any():
            self._count(rows.filter(pa.array(is_commit)), types[is_commit])
        is_kept = ~is_commit
        if not is_record.all():
            is_kept &= ~(readable & np.isin(rows["control"].to_numpy(zero_copy_only=False), MARKERS))
        return rows if is_kept.all() else rows.filter(pa.array(is_kept))

    def _count(self, rows: pa.RecordBatch, types: NDArray[np.int64]) -> None:
        outcomes = rows["transaction"].dictionary_encode()
        names, codes = outcomes.dictionary.to_pylist(), outcomes.indices.to_numpy()
        for key_type in OFFSET_COMMIT_TYPES:
            counts = np.bincount(codes[types == key_type], minlength=len(names)).tolist()
            self._counts.update({(key_type, name): count for name, count in zip(names, counts, strict=True) if count})
        newest_ms = pc.max(rows["timestamp"].cast(pa.int64())).as_py() // 1000
        self._newest_ms = newest_ms if self._newest_ms is None else max(newest_ms, self._newest_ms)
        self._last_offset = rows["offset"][-1].as_py()

    def rows(self) -> list[dict[str, Any]]:
        """Return a control row for each type and outcome of what was left out, by columns (`SEGMENT_SCHEMA`)."""
        return [
            {
                "key": key_type.to_bytes(_TYPE_BYTES, "big"),
                "value": count.to_bytes(_COUNT_BYTES, "big"),
                "offset": self._last_offset,
                "timestamp": self._newest_ms,
                "transaction": transaction,
                "compaction_gap": False,
                "control": LEFT_OUT,
            }
            for (key_type, transaction), count in sorted(self._counts.items())
        ]


def _key_types(keys: pa.Array) -> NDArray[np.int64]:
    """Return the type that each key begins with, -1 for one that is too short."""
    encoded = Encoded(keys)
    is_typed = encoded.ends - encoded.starts >= _TYPE_BYTES
    types = np.full(len(keys), -1, np.int64)
    types[is_typed] = encoded.view(">i2")[encoded.starts[is_typed]]
    return types
