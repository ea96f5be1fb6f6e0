"""Small sets of segment files, which Python reads in less time than Spark takes to start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.machine.paths import URI, path_without_session
from kip848_records.sources.listing import without_replaced
from kip848_records.sources.rows import ROWS_SCHEMA
from kip848_records.sources.segment_rows import mapped, read_file, segment_files
from kip848_records.specs.log_columns import TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.sources.file_coverage import SegmentFile

LARGEST_BYTES: Final = 64 << 20


def read_plain(path: str) -> pa.Table | None:
    """Return the records (`sources.log.COPY_SCHEMA`) of plain segment files, by partition and offset; else None.

    A log is plain if each row can be decided by itself. It has one copy of at most 64 MB on this machine. All of it is
    readable, no offset occurs twice, and no transaction is open at the end of a file that has a successor.
    `sources.read_log` reads all other logs, and reports their errors.
    """
    files = _files(path)
    if not files or sum(Path(file).stat().st_size for file in files) > LARGEST_BYTES:
        return None
    in_order = sorted(files, key=lambda file: (files[file].partition, files[file].base_offset))
    tables = [pa.Table.from_batches(read_file(mapped(file), file, files[file]), ROWS_SCHEMA) for file in in_order]
    for file, following, rows in zip(in_order, [*in_order[1:], None], tables, strict=True):
        is_last = following is None or files[following].partition != files[file].partition
        if rows["error_code"].null_count < len(rows) or not (is_last or _is_resolved(rows)):
            return None
    log = pa.concat_tables(tables)
    records = log.filter(pc.and_(pc.is_null(log["control"]), pc.is_null(log["files"])))
    return records.filter(pc.not_equal(records["transaction"], "aborted")) if is_in_order(records) else None


def may_be_elsewhere(path: str) -> bool:
    """Return whether Spark may look for a path on another file system than that of this machine."""
    return URI.match(path) is not None or path_without_session(path) is None


def is_in_order(records: pa.Table) -> bool:
    """Return whether records are in the order of partition and offset, and no offset occurs twice."""
    partitions, offsets = (records[name].to_numpy() for name in ("partition", "offset"))
    return bool(np.all((np.diff(partitions) > 0) | (np.diff(offsets) > 0)))


def _files(path: str) -> Mapping[str, SegmentFile]:
    """Return each segment file in a broker's data folder or in that of a partition, or the one that the path names."""
    if may_be_elsewhere(path):
        return {}
    place = Path(os.path.abspath(path))  # noqa: PTH100 - as Spark does, which leaves links
    below = "" if place.name.startswith(f"{TOPIC}-") else f"{TOPIC}-*/"
    endings = ("log", "log.swap")
    matching = [place] if place.is_file() else [file for each in endings for file in place.glob(f"{below}*.{each}")]
    found = without_replaced([str(file) for file in matching if file.name[0] not in "._"])
    known = segment_files(found)
    return known if len(known) == len(found) else {}


def _is_resolved(rows: pa.Table) -> bool:
    return not pc.any(pc.equal(rows["transaction"], "pending")).as_py()
