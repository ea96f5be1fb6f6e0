"""Delta tables in a folder of this machine, written by delta-rs in milliseconds; Spark takes a second for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kip848_records.tables.columns import TableSpec


def replace_rows(folder: Path, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch]) -> bool:
    """Replace a cluster's rows in a table by others, in one commit; missing columns become null.

    Return whether it succeeded: delta-rs cannot commit on some volumes, such as those over an object store.
    """
    schema = to_arrow_schema(spec.schema)
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


def named(ids: pa.Array, topics: pa.Table) -> pa.Array:
    """Return the name of each topic id, by ``topic_id, topic``; the id itself if no name is known."""
    known, names = (topics[column].combine_chunks() for column in ("topic_id", "topic"))
    return pc.coalesce(names.take(pc.index_in(ids, value_set=known)), ids)


def with_topics(topics: pa.Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with the names of topics where `topic` is null; a topic without a known name gets its id."""
    return with_column(rows, "topic", pc.coalesce(rows["topic"], named(rows["topic_id"], topics)))


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """Return a batch with a column added, or replaced."""
    columns = {**{each: batch[each] for each in batch.schema.names}, name: column}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _shaped(batches: Iterable[pa.RecordBatch], schema: pa.Schema, cluster: str) -> Iterator[pa.RecordBatch]:
    """Yield batches with the columns of a table, in its order and types."""
    for batch in batches:
        rows = with_column(batch, "cluster", pa.repeat(cluster, batch.num_rows))
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
