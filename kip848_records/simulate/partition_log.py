"""One partition of the log, as rows of Spark's Kafka source in a Parquet file that grows as the simulation goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import numpy as np
import pyarrow as pa

from kip848_records.machine.parquet import Writer
from kip848_records.simulate.commits import HIDDEN, Commits, commit_keys, commit_values, topic_ids
from kip848_records.simulate.encoding import TOPIC, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


class PartitionLog:
    """Appends operations and commits in the order of time, and gives them their offsets."""

    def __init__(self, path: Path, partition: int, release: Release, keys: CommitKeys) -> None:
        self.next_offset = 0
        self._partition = partition
        self._release = release
        self._keys = keys
        self._encoded_keys: list[bytes] = []
        self._writer = Writer(path, KAFKA_ROWS, compression="zstd", use_dictionary=["key", "topic"])

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the file."""
        self._writer.close()

    def append(
        self,
        operations: Sequence[Operation],
        commits: Commits,
        timestamps: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> None:
        """Write the records of one time interval; `operations` are in the order of time.

        `timestamps` converts times to the coordinator's clock. Operations get their `base_offset`, and their records
        are removed, because nothing needs them any more.
        """
        sizes = np.array([operation.size for operation in operations], np.int64)
        records = [record for operation in operations for record in operation.records]
        times = np.concatenate([np.repeat(np.array([o.time for o in operations], np.int64), sizes), commits.times])
        # Stable, so that the records of one operation, whose times are equal, stay together.
        order = np.argsort(times, kind="stable")
        offsets = np.empty(len(order), np.int64)
        offsets[order] = np.arange(self.next_offset, self.next_offset + len(order))
        self.next_offset += len(order)
        for operation, first in zip(operations, np.cumsum(sizes) - sizes, strict=True):
            operation.base_offset = int(offsets[first])
            operation.records = []

        shown = commits.keys != HIDDEN
        commits = Commits(commits.times[shown], commits.keys[shown])
        committed_at = timestamps(commits.times)
        encoded = [encode(record, self._release) for record in records]
        stamped = np.repeat(np.array([o.timestamp for o in operations], np.int64), sizes)
        values = [pa.array([value for _, value in encoded], pa.binary())]
        values.append(commit_values(commits, committed_at, topic_ids(self._keys), self._release))
        self._write(
            keys=self._take_keys([key for key, _ in encoded], commits.keys),
            values=pa.concat_arrays(values),
            offsets=np.concatenate([offsets[: len(records)], offsets[len(records) :][shown]]),
            timestamps=np.concatenate([stamped, committed_at]),
        )

    def _take_keys(self, keys: list[bytes], numbers: NDArray[np.int64]) -> pa.Array:
        """Return the keys of records, then those of commits by their numbers."""
        self._encoded_keys += commit_keys(self._keys, since=len(self._encoded_keys))
        encoded = pa.array(self._encoded_keys, pa.binary()).take(pa.array(numbers))
        return pa.concat_arrays([pa.array(keys, pa.binary()), encoded])

    def _write(
        self, keys: pa.Array, values: pa.Array, offsets: NDArray[np.int64], timestamps: NDArray[np.int64]
    ) -> None:
        count = len(offsets)
        in_order = pa.array(np.argsort(offsets))
        columns = {
            "key": keys,
            "value": values,
            "topic": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [TOPIC]).cast(pa.string()),
            "partition": np.full(count, self._partition, np.int32),
            "offset": offsets,
            "timestamp": pa.array(timestamps * 1000, pa.timestamp("us", "UTC")),
            "timestampType": np.zeros(count, np.int32),
        }
        if count:
            # One row group, which no operation crosses.
            self._writer.write_table(pa.table(columns, schema=KAFKA_ROWS).take(in_order), row_group_size=count)
