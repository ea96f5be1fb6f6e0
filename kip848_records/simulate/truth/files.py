"""The truth as Parquet files, one per timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

_TEXT, _INT, _LONG, _FLAG = pa.string(), pa.int32(), pa.int64(), pa.bool_()
_TIME = pa.timestamp("us", "UTC")
_INCARNATION = [("group_id", _TEXT), ("incarnation", _INT)]
_AWAITED = pa.list_(pa.struct([("topic_id", _TEXT), ("partition", _INT), ("owner", _TEXT)]))

SCHEMAS: Final = {
    "epoch_timeline": pa.schema(
        [
            *_INCARNATION,
            ("group_epoch", _INT),
            ("group_type", _TEXT),
            ("bumped_at", _TIME),
            ("bump_offset", _LONG),
            ("cause", _TEXT),
            ("assigned_at", _TIME),
            ("converged_at", _TIME),
            ("status", _TEXT),
            ("superseded_by", _INT),
            ("members", _INT),
            ("partitions_moved", _INT),
            ("assign_lag_ms", _LONG),
            ("reconcile_lag_ms", _LONG),
            ("rebalance_lag_ms", _LONG),
            ("history", _TEXT),
            ("clock_skew", _FLAG),
        ]
    ),
    "rebalance_lag": pa.schema(
        [
            *_INCARNATION,
            ("group_epoch", _INT),
            ("member_id", _TEXT),
            ("target_at", _TIME),
            ("reconciled_at", _TIME),
            ("status", _TEXT),
            ("superseded", _FLAG),
            ("first_bumped_at", _TIME),
            ("lag_ms", _LONG),
            ("revoke_ms", _LONG),
            ("wait_ms", _LONG),
            ("blocked_by", pa.list_(_TEXT)),
            ("awaited", _AWAITED),
            ("instance_id", _TEXT),
            ("client_id", _TEXT),
            ("client_host", _TEXT),
            ("history", _TEXT),
            ("clock_skew", _FLAG),
        ]
    ),
    "partition_handover": pa.schema(
        [
            *_INCARNATION,
            ("topic_id", _TEXT),
            ("partition", _INT),
            ("from_member", _TEXT),
            ("released_at", _TIME),
            ("to_member", _TEXT),
            ("acquired_at", _TIME),
            ("unowned_ms", _LONG),
            ("wanted", _FLAG),
            ("group_epoch", _INT),
            ("history", _TEXT),
        ]
    ),
    "group_state_timeline": pa.schema(
        [
            *_INCARNATION,
            ("group_type", _TEXT),
            ("state", _TEXT),
            ("from_at", _TIME),
            ("from_offset", _LONG),
            ("to_at", _TIME),
            ("duration_ms", _LONG),
            ("history", _TEXT),
        ]
    ),
}
"""The columns of the timelines."""

LOG_PARTITION: Final = pa.schema([("partition", _INT), ("rows", _LONG), ("end_offset", _LONG), ("cleaned_to", _LONG)])
"""Rows of a partition's log, the offset after its last one, and the one below which the cleaner has been."""


_ROWS_PER_WRITE: Final = 20_000


class TruthFiles:
    """Writes rows of the timelines as they come, to one file each: `<folder>/<timeline><suffix>.parquet`."""

    def __init__(self, folder: Path, suffix: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = {name: folder / f"{name}{suffix}.parquet" for name in SCHEMAS}
        self._writers = {name: pq.ParquetWriter(path, SCHEMAS[name]) for name, path in self.paths.items()}
        self._rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in SCHEMAS}

    def __enter__(self) -> Self:
        """Return the files themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the files."""
        for name, writer in self._writers.items():
            self._flush(name)
            writer.close()

    def write(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Append rows, whose times are in ms, by the name of their timeline."""
        for name, found in rows.items():
            self._rows[name] += found
            if len(self._rows[name]) >= _ROWS_PER_WRITE:
                self._flush(name)

    def join(self, parts: Iterable[Mapping[str, Path]]) -> None:
        """Append what other files of the timelines hold, and remove those."""
        for part in parts:
            for name, path in part.items():
                with pq.ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        self._writers[name].write_table(file.read_row_group(group))
                path.unlink()

    def _flush(self, name: str) -> None:
        if self._rows[name]:
            self._writers[name].write_table(_table(name, self._rows[name]))
        self._rows[name] = []


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    schema = SCHEMAS[name]
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if field.type == _TIME:
            columns.append(pa.array(values, pa.timestamp("ms", "UTC")).cast(_TIME))
        else:
            columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=schema)
