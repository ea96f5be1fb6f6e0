"""Delta tables in a folder of this machine, which delta-rs reads and writes in this process."""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import deltalake
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from kip848_records.engines import delta_rs
from kip848_records.engines.embedded.errors import USE_SPARK, EngineError
from kip848_records.machine.disks import DiskError
from kip848_records.machine.interrupts import interruptible
from kip848_records.queries.delta_files import DeltaFiles
from kip848_records.specs.tables import CLUSTER
from kip848_records.tables.errors import TablesError
from kip848_records.tables.local import create_locally, delta_schema, has_commits, newest_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from kip848_records.engines.embedded.relations import Relation
    from kip848_records.engines.engine import MissingColumn
    from kip848_records.specs.columns import TableSpec

KNOWN_FEATURES: Final = frozenset({"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "timestampNtz"})
"""The features of Delta's protocol with which this package reads and writes a table by delta-rs."""

_REFUSALS: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT)
"""The reasons of the system not to write, which delta-rs passes on as text."""

_COLUMN_MAPPING: Final = "delta.columnMapping.mode"

_COMMITS_BETWEEN_CHECKPOINTS: Final = 10
"""As Delta on Spark has it. With delta-rs's own 100, every table that is opened reads the commits of 99 audits."""


class LocalTables:
    """The tables in a folder. `out`: the folder as the user names it."""

    def __init__(self, out: str, folder: Path) -> None:
        self.out = out
        self._folder = folder
        self._opened: dict[str, DeltaTable] = {}
        self._files: dict[str, tuple[int, DeltaFiles]] = {}

    def is_there(self, table: str) -> bool:
        """Return whether a table exists."""
        return has_commits(self._log(table))

    def version(self, table: str) -> int | None:
        """Return a table's present Delta version; None if it does not exist."""
        return newest_version(self._log(table))

    def opened(self, table: str) -> DeltaTable:
        """Return the newest version of a table, opened once: a run asks each of dozens of tables several times.

        Raises InputError if it does not exist, or has a feature that delta-rs does not know.
        """
        known = self._opened.get(table)
        if known is None or known.version() != self.version(table):
            known = opened(self._path(table), lambda: TablesError.not_audited(self.out, table))
            self._opened[table] = known
        return known

    def files(self, table: str) -> DeltaFiles:
        """Return the files of the newest version of a table."""
        found = self.opened(table)
        version, files = self._files.get(table, (None, None))
        if files is None or version != found.version():
            files = DeltaFiles(found, self._path(table))
            self._files[table] = found.version(), files
        return files

    def size(self, table: str, cluster: str) -> int:
        """Return how many bytes the files of a cluster have."""
        files = pa.table(self.opened(table).get_add_actions(flatten=True))
        sizes = zip(files[f"partition.{CLUSTER.name}"].to_pylist(), files["size_bytes"].to_pylist(), strict=True)
        return sum(size for of, size in sizes if of == cluster)

    def create(self, spec: TableSpec) -> None:
        """Create a table if it does not exist."""
        if not self.is_there(spec.name):
            with self._writing():
                create_locally(self._path(spec.name), spec)

    def replace(self, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch]) -> None:
        """Replace a cluster's rows in one commit."""
        self.create(spec)
        table = self.opened(spec.name)
        self._write(table, batches, lambda rows: delta_rs.replace_rows(table, spec, cluster, rows))

    def delete(self, table: str, cluster: str) -> None:
        """Delete a cluster's rows; without any there is no commit."""
        with self._writing():
            self.opened(table).delete(delta_rs.of_cluster(cluster))

    def delete_matching(self, table: str, cluster: str, rows: Relation, keys: Sequence[str]) -> None:
        """Delete those of a cluster's rows that have the same keys as one of `rows`."""
        same = [f"t.{delta_rs.of_cluster(cluster)}", *(f"t.{key} = s.{key}" for key in keys)]
        found = pa.RecordBatchReader.from_batches(*rows.opened())
        merge = self.opened(table).merge(found, " AND ".join(same), source_alias="s", target_alias="t")
        with self._writing():
            merge.when_matched_delete().execute()

    def append(
        self, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch], *, application: str, number: int
    ) -> None:
        """Append rows in one commit, but not a second time for the same `application` and `number`."""
        self.create(spec)
        table = self.opened(spec.name)
        known = table.transaction_version(application)
        if known is not None and known >= number:
            return
        done = deltalake.Transaction(application, number)
        self._write(table, batches, lambda rows: delta_rs.append_rows(table, spec, cluster, rows, done))

    def restore(self, table: str, version: int | None) -> None:
        """Restore a version of a table; None: remove the table."""
        if version is None:
            self._opened.pop(table, None)
            self._files.pop(table, None)
            shutil.rmtree(self._path(table))
        else:
            with self._writing():
                self.opened(table).restore(version)

    def optimize(self, table: str, days: int) -> None:
        """Merge small files, and delete files that no version has used for so many days."""
        found = self.opened(table)
        with self._writing():
            interruptible(found.optimize.compact)
            found.vacuum(days * 24, dry_run=False)

    def columns(self, table: str) -> dict[str, Any] | None:
        """Return a table's schema as in Delta's log; None if it does not exist."""
        if not self.is_there(table):
            return None
        found: dict[str, Any] = json.loads(self.opened(table).schema().to_json())
        return found

    def add_columns(self, spec: TableSpec, missing: Sequence[MissingColumn]) -> None:
        """Add columns, and fields of columns, in one commit: delta-rs merges each column with the present one."""
        names = {column.path[0] for column in missing}
        with self._writing():
            self.opened(spec.name).alter.add_columns(
                [_nullable(field) for field in delta_schema(spec).fields if field.name in names]
            )

    def make_anew(self, spec: TableSpec) -> None:
        """Give a table the columns of this version, without rows, in one commit; it keeps its properties."""
        with self._writing():
            DeltaTable.create(
                str(self._path(spec.name)),
                delta_schema(spec),
                mode="overwrite",
                partition_by=[CLUSTER.name],
                description=spec.comment,
                configuration=self.opened(spec.name).metadata().configuration,
            )

    def _write(
        self, table: DeltaTable, batches: Iterable[pa.RecordBatch], write: Callable[[Iterable[pa.RecordBatch]], None]
    ) -> None:
        """Write rows to a table; raise the error of their source if it fails: from delta-rs comes only its text."""
        failures, stopped = list[BaseException](), Event()
        try:
            with self._writing():
                interruptible(lambda: write(_noting(batches, failures, stopped)), stopped.set)
            if table.version() % _COMMITS_BETWEEN_CHECKPOINTS == 0:
                with suppress(OSError, DeltaError):  # the rows are written, and a later run makes it
                    table.create_checkpoint()
        except Exception:
            if failures:
                raise failures[0] from None
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with delta_rs.writing(self.out, self._folder):
                yield
        except (OSError, DeltaError) as error:
            for number in _REFUSALS:
                if os.strerror(number) in str(error):
                    raise DiskError.of_folder(self.out, OSError(number, os.strerror(number))) from error
            raise

    def _path(self, table: str) -> Path:
        path = self._folder / table
        if characters := delta_rs.mistaken(path):
            raise EngineError.path_for_tables(self.out, characters)
        return path

    def _log(self, table: str) -> Path:
        return self._folder / table / "_delta_log"


def opened(path: Path, not_found: Callable[[], Exception]) -> DeltaTable:
    """Open a table. Raises InputError for a feature that delta-rs does not know, and `not_found` if there is none."""
    try:
        table = DeltaTable(str(path))
    except TableNotFoundError:
        raise not_found() from None
    except (DeltaError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise EngineError(f"delta-rs cannot open the table {path}: {reason}", USE_SPARK) from error
    protocol = table.protocol()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())} - KNOWN_FEATURES
    if table.metadata().configuration.get(_COLUMN_MAPPING, "none") != "none":
        features.add("columnMapping")
    if features:
        raise EngineError(
            f"the table {path} has the Delta feature {', '.join(sorted(features))}, which delta-rs lacks", USE_SPARK
        )
    return table


def _nullable(field: deltalake.Field) -> deltalake.Field:
    return deltalake.Field(field.name, field.type, nullable=True, metadata=field.metadata)


def _noting(batches: Iterable[Any], failures: list[BaseException], stopped: Event) -> Iterator[Any]:
    """Yield items; keep the exception of their source, and fail when the reader is to stop."""
    try:
        for batch in batches:
            yield batch
            if stopped.is_set():
                raise KeyboardInterrupt  # noqa: TRY301 - as if the source had raised it
    except BaseException as error:
        failures.append(error)
        raise
