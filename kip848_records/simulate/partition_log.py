"""One partition of the log, as rows of Spark's Kafka source in a Parquet file that grows as the simulation goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.machine.parquet import Writer
from kip848_records.simulate.commits import (
    ABORT,
    COMMITTED,
    NO_MARKER,
    commit_keys,
    commit_values,
    marker_key,
    no_commits,
    topic_ids,
)
from kip848_records.simulate.encoding import encode
from kip848_records.specs.log_columns import TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from kip848_records.simulate.broker.operation import Operation
    from kip848_records.simulate.broker.releases import Release
    from kip848_records.simulate.consumption import CommitKeys

KAFKA_ROWS: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
"""The columns of Spark's Kafka source."""


LOG_ROWS: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("control", pa.int8()),
        ("is_hidden", pa.bool_()),
    ]
)
"""All rows of a partition, as `COMMIT` describes them; `timestamp` in ms."""


class OrderedLog:
    """Takes operations and commits in the order of time, and gives them their offsets."""

    def __init__(self, release: Release, keys: CommitKeys) -> None:
        self.next_offset = 0
        self._release = release
        self._keys = keys
        self._encoded_keys = [marker_key(ABORT), marker_key(COMMITTED)]

    def rows(self, operations: Sequence[Operation], commits: NDArray[Any]) -> pa.Table:
        """Return the rows of one time interval, `LOG_ROWS`; `operations` are in the order of time.

        Operations get their `base_offset`, and their records are removed, because nothing needs them any more.
        """
        sizes = np.array([operation.size for operation in operations], np.int64)
        records = [record for operation in operations for record in operation.records]
        written = no_commits(len(records))
        written["time"] = np.repeat(np.array([o.time for o in operations], np.int64), sizes)
        written["timestamp"] = np.repeat(np.array([o.timestamp for o in operations], np.int64), sizes)
        rows = np.concatenate([written, commits])
        # Stable, so that the records of one operation, whose times are equal, stay together.
        place = np.where(np.arange(len(rows)) < len(records), 1, np.where(rows["comes_first"], 0, 2))
        order = np.lexsort((place, rows["time"]))
        offsets = np.empty(len(order), np.int64)
        offsets[order] = np.arange(self.next_offset, self.next_offset + len(order))
        self.next_offset += len(order)
        for operation, first in zip(operations, np.cumsum(sizes) - sizes, strict=True):
            operation.base_offset = int(offsets[first])
            operation.records = []

        encoded = [encode(record, self._release) for record in records]
        values = pa.array([value for _, value in encoded], pa.binary())
        columns = {
            "key": pa.concat_arrays([pa.array([key for key, _ in encoded], pa.binary()), self._keys_of(commits)]),
            "value": pa.concat_arrays([values, commit_values(commits, topic_ids(self._keys), self._release)]),
            "offset": offsets,
            **{name: rows[name] for name in LOG_ROWS.names[3:]},
        }
        return pa.table(columns, schema=LOG_ROWS).take(pa.array(order))

    def _keys_of(self, commits: NDArray[Any]) -> pa.Array:
        """Return the keys of commits by their numbers, and those of markers."""
        self._encoded_keys += commit_keys(self._keys, since=len(self._encoded_keys) - 2)
        numbers = np.where(commits["control"] == NO_MARKER, commits["key"] + 2, commits["control"])
        return pa.array(self._encoded_keys, pa.binary()).take(pa.array(numbers))


class PartitionLog:
    """Writes the rows that a reader of committed records sees."""

    def __init__(self, path: Path, partition: int, log: OrderedLog) -> None:
        self._partition = partition
        self._log = log
        self._writer = Writer(path, KAFKA_ROWS, compression="zstd", use_dictionary=["key", "topic"])

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the file."""
        self._writer.close()

    def append(self, operations: Sequence[Operation], commits: NDArray[Any]) -> None:
        """Write the records of one time interval; `operations` are in the order of time."""
        rows = self._log.rows(operations, commits)
        rows = rows.filter(pc.invert(rows["is_hidden"])).combine_chunks()
        count = len(rows)
        columns = {
            "key": rows["key"],
            "value": rows["value"],
            "topic": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [TOPIC]).cast(pa.string()),
            "partition": np.full(count, self._partition, np.int32),
            "offset": rows["offset"],
            "timestamp": rows["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(KAFKA_ROWS.field("timestamp").type),
            "timestampType": np.zeros(count, np.int32),
        }
        if count:
            # One row group, which no operation crosses.
            self._writer.write_table(pa.table(columns, schema=KAFKA_ROWS), row_group_size=count)
