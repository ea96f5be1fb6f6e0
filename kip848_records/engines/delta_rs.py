"""delta-rs writes Delta tables in a folder of this machine in milliseconds; Spark takes a second for each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.machine.disks import FULL, DiskError
from kip848_records.queries.delta_files import literal
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from deltalake import DeltaTable, Transaction

    from kip848_records.specs.columns import TableSpec

_OF_STORAGE: Final = "Log storage error"
"""The beginning of delta-rs's message when a commit was not refused because of another one, but by the file system."""


def replace_rows(table: DeltaTable | Path, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch]) -> None:
    """Replace a cluster's rows in a table by others, in one commit; missing columns become null.

    Raises OSError or DeltaError; delta-rs cannot commit on some volumes, such as those over an object store.
    """
    from deltalake import write_deltalake  # noqa: PLC0415 - a question about a log writes no table

    write_deltalake(table, _reader(batches, spec, cluster), mode="overwrite", predicate=of_cluster(cluster))


def append_rows(
    table: DeltaTable, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch], done: Transaction
) -> None:
    """Append rows in one commit, which names a transaction of an application. Raises as `replace_rows`."""
    from deltalake import CommitProperties, write_deltalake  # noqa: PLC0415 - as above

    properties = CommitProperties(app_transactions=[done])
    write_deltalake(table, _reader(batches, spec, cluster), mode="append", commit_properties=properties)


def is_conflict(error: Exception) -> bool:
    """Return whether delta-rs refused a commit because another writer's was faster."""
    from deltalake.exceptions import CommitFailedError  # noqa: PLC0415 - as above

    return isinstance(error, CommitFailedError) and not str(error).startswith(_OF_STORAGE)


@contextmanager
def writing(out: str, folder: Path) -> Iterator[None]:
    """Raise InputError within the block if another run writes to the tables in `out`, or if their disk is full."""
    try:
        yield
    except Exception as error:
        if is_conflict(error):
            raise TablesError.other_writer(out) from error
        if FULL in str(error):
            raise DiskError.full({out: folder}) from error
        raise


def of_cluster(cluster: str) -> str:
    """Return the condition on the rows of a cluster, in the SQL of delta-rs and DuckDB."""
    return f"cluster = {literal(cluster)}"


def mistaken(folder: Path) -> set[str]:
    """Return the characters in the path of a folder that delta-rs reads as those of a URL."""
    return set(str(folder)) & set("%[]?#*\\")


def _reader(batches: Iterable[pa.RecordBatch], spec: TableSpec, cluster: str) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(spec.schema, shaped(batches, spec.schema, cluster))


def shaped(batches: Iterable[pa.RecordBatch], schema: pa.Schema, cluster: str) -> Iterator[pa.RecordBatch]:
    """Yield batches with the columns of a table, in its order and types; missing columns are null."""
    for batch in batches:
        rows = with_column(batch, "cluster", pa.repeat(cluster, batch.num_rows))
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """Return a batch with a column added, or replaced."""
    columns = {**{each: batch[each] for each in batch.schema.names}, name: column}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
