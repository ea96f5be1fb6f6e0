"""Small dumps in Parquet, which Python reads in less time than Spark takes to start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kip848_records.machine.files import list_files
from kip848_records.protocol.columns import TIMES
from kip848_records.protocol.keys import key_columns, lacks_group
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources.formats import FILE_NAMES
from kip848_records.sources.plain import LARGEST_BYTES, is_in_order, may_be_elsewhere
from kip848_records.specs.log_columns import TOPIC
from kip848_records.times import NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_REQUIRED: Final = ("partition", "offset", "timestamp")
_TYPES: Final[dict[str, Callable[[pa.DataType], bool]]] = {
    "key": pa.types.is_binary,
    "value": pa.types.is_binary,
    "partition": pa.types.is_signed_integer,
    "offset": pa.types.is_signed_integer,
    "timestamp": lambda kind: pa.types.is_timestamp(kind) and kind.unit in {"ms", "us"},
}


def read_plain_parquet(path: str) -> pa.Table | None:
    """Return the records of a plain dump, by partition and offset, with the columns that `inspection` needs; else None.

    A dump is plain if each row can be decided by itself. It is one file or one folder of files on this machine, with at
    most 64 MB. All its rows are records of the log, and no offset occurs twice. `sources.read_log` reads all others and
    reports their errors.
    """
    files = [] if may_be_elsewhere(path) else _files(Path(path))
    try:
        found = _read(files)
        return _records(found) if found and all(_are_records(rows) for rows in found) else None
    except (pa.ArrowException, OSError):
        return None


def _files(place: Path) -> list[str]:
    """Return the files of a dump; none if a folder contains anything else, such as folders of partition columns."""
    listed = [Path(file.removeprefix("file://")) for file in list_files(place) or ()]
    is_flat = place.is_file() or all(file.parent == place.absolute() for file in listed)
    pattern = FILE_NAMES["parquet"]
    assert pattern is not None  # noqa: S101 - names show this format
    return [str(file) for file in listed] if is_flat and all(pattern.search(file.name) for file in listed) else []


def _read(files: Sequence[str]) -> list[pa.Table]:
    """Return the rows of each file; none if one has other types, or if they are too large."""
    opened = [pq.ParquetFile(file, coerce_int96_timestamp_unit="us") for file in files]
    if not all(_is_plain(each.schema_arrow) for each in opened) or _size(opened) > LARGEST_BYTES:
        return []
    return [each.read([*_TYPES, *({"topic"} & set(each.schema_arrow.names))]) for each in opened]


def _is_plain(schema: pa.Schema) -> bool:
    return all(name in schema.names and is_right(schema.field(name).type) for name, is_right in _TYPES.items())


def _size(files: Sequence[pq.ParquetFile]) -> int:
    """Return the bytes of files without their compression."""
    metadata = [file.metadata for file in files]
    return sum(each.row_group(number).total_byte_size for each in metadata for number in range(each.num_row_groups))


def _are_records(rows: pa.Table) -> bool:
    """Return whether all rows have a location, a time that can be shown, and the topic of the log if any."""
    if any(rows[name].null_count for name in _REQUIRED):
        return False
    millis = rows["timestamp"].cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    is_of_log = "topic" not in rows.column_names or pc.all(pc.ends_with(rows["topic"].cast(pa.string()), TOPIC)).as_py()
    return is_of_log is not False and bool(np.all(can_be_shown(millis.to_numpy())))


def _times(timestamps: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times, null for records without one."""
    times = timestamps.cast(TIMES)
    millis = pc.floor_temporal(times, unit="millisecond").cast(pa.int64())
    return pc.if_else(pc.equal(millis, NO_TIMESTAMP_MS * 1000), None, times)


def _records(found: Sequence[pa.Table]) -> pa.Table | None:
    rows = pa.concat_tables([each.select([*_TYPES]) for each in found], promote_options="permissive")
    rows = rows.sort_by([("partition", "ascending"), ("offset", "ascending")]).combine_chunks()
    if not len(rows) or pc.max(rows["partition"]).as_py() > np.iinfo(np.int32).max or not is_in_order(rows):
        return None
    key_type, group_id = key_columns(rows["key"].chunk(0))
    if key_type.null_count or pc.any(lacks_group(key_type, group_id)).as_py():
        return None
    is_commit = pc.is_in(key_type, pa.array(OFFSET_COMMIT_TYPES, pa.int32()))
    columns = {
        "partition": rows["partition"].cast(pa.int32()),
        "offset": rows["offset"].cast(pa.int64()),
        "timestamp": _times(rows["timestamp"]),
        "key": rows["key"],
        "value": rows["value"],
        "key_type": key_type,
        # A dump does not show the outcomes of transactions.
        "transaction": pc.if_else(is_commit, "unknown", "none"),
    }
    return pa.table(columns)
