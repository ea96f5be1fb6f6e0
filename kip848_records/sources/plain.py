"""Segment files so few that Python reads them by itself, in less time than Spark takes to start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.sources.files import URI, without_replaced
from kip848_records.sources.log import TOPIC
from kip848_records.sources.segments import mapped, places, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.sources.coverage import Place

LARGEST_BYTES: Final = 64 << 20
# Where one of these is set, Spark may look for paths on another file system.
_NAME_FILE_SYSTEMS: Final = ("HADOOP_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_REMOTE")


def read_plain(path: str) -> pa.Table | None:
    """Return the records (`sources.log.COPY_SCHEMA`) of plain segment files, by partition and offset; else None.

    Plain is a log of which each row can be told by itself: the files of one copy, of 64 MB or less, on this machine;
    all of it readable, no offset there twice, no transaction open at the end of a file that another one follows. For
    whatever else there is `sources.read_log`, which also says what is wrong with it.
    """
    files = _files(path)
    if not files or sum(Path(file).stat().st_size for file in files) > LARGEST_BYTES:
        return None
    in_order = sorted(files, key=lambda file: (files[file].partition, files[file].base_offset))
    tables = [pa.Table.from_batches(read_file(mapped(file), file, files[file])) for file in in_order]
    for file, following, rows in zip(in_order, [*in_order[1:], None], tables, strict=True):
        is_last = following is None or files[following].partition != files[file].partition
        if rows["error"].null_count < len(rows) or not (is_last or _is_settled(rows)):
            return None
    log = pa.concat_tables(tables)
    records = log.filter(pc.is_null(log["control"]))
    return records.filter(pc.not_equal(records["transaction"], "aborted")) if _is_in_order(records) else None


def _files(path: str) -> Mapping[str, Place]:
    """Return the place of each segment file in a broker's data folder; none if it is anything else."""
    if URI.match(path) or not os.environ.keys().isdisjoint(_NAME_FILE_SYSTEMS):
        return {}
    folder = Path(path)
    matching = [file for ending in ("log", "log.swap") for file in folder.glob(f"{TOPIC}-*/*.{ending}")]
    found = without_replaced([str(file) for file in matching if file.name[0] not in "._"])
    known = places(found)
    return known if len(known) == len(found) else {}


def _is_settled(rows: pa.Table) -> bool:
    return not pc.any(pc.equal(rows["transaction"], "pending")).as_py()


def _is_in_order(records: pa.Table) -> bool:
    partitions, offsets = (records[name].to_numpy() for name in ("partition", "offset"))
    return bool(np.all((np.diff(partitions) > 0) | (np.diff(offsets) > 0)))
