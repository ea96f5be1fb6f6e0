"""Delta tables in a folder of this machine, written by delta-rs in milliseconds; Spark takes a second for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import deltalake
import pyarrow as pa

from kip848_records.specs.completion import with_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kip848_records.specs.columns import TableSpec


def replace_rows(folder: Path, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch]) -> bool:
    """Replace a cluster's rows in a table by others, in one commit; missing columns become null.

    Return whether it succeeded: delta-rs cannot commit on some volumes, such as those over an object store.
    """
    schema = spec.schema
    rows = pa.RecordBatchReader.from_batches(schema, _shaped(batches, schema, cluster))
    name = cluster.replace("'", "''")
    try:
        deltalake.write_deltalake(str(folder), rows, mode="overwrite", predicate=f"cluster = '{name}'")
    except (OSError, deltalake.exceptions.DeltaError):
        return False
    return True


def delta_rs_writes(folder: Path) -> bool:
    """Return whether delta-rs reads the path of a folder correctly: it reads some characters as those of a URL."""
    return not set(str(folder)) & set("%[]?#*")


def _shaped(batches: Iterable[pa.RecordBatch], schema: pa.Schema, cluster: str) -> Iterator[pa.RecordBatch]:
    """Yield batches with the columns of a table, in its order and types."""
    for batch in batches:
        rows = with_column(batch, "cluster", pa.repeat(cluster, batch.num_rows))
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
