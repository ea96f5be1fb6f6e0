"""Where tables are: in a folder, one folder each, or in a schema of a catalog such as Databricks' Unity Catalog.

A place is a text: the path of a folder, or ``catalog:main.kafka``.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException

from kip848_records import __version__
from kip848_records.errors import InputError
from kip848_records.sources.files import URI, local_path
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from kip848_records.tables.columns import TableSpec

_CATALOG = "catalog:"
_ENGINE = f"kip848-records/{__version__}"
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
# What NOT NULL needs: the oldest versions that know of it, as Delta's builder has them.
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


def schema_place(catalog: str, schema: str) -> str:
    """Return the place that is a schema of a catalog."""
    return f"{_CATALOG}{_identifier(catalog)}.{_identifier(schema)}"


def is_schema(place: str) -> bool:
    """Return whether a place is a schema of a catalog, not a folder."""
    return place.startswith(_CATALOG)


def place_text(place: str) -> str:
    """Return a place as people name it: a folder ends in a slash."""
    return place.removeprefix(_CATALOG) if is_schema(place) else f"{place.rstrip('/')}/"


def place_arguments(place: str) -> str:
    """Return a place as commands take it, written for a shell."""
    if not is_schema(place):
        return shlex.quote(place)
    names = re.findall(r"`(?:[^`]|``)*`|\w+", place.removeprefix(_CATALOG))
    catalog, schema = (name[1:-1].replace("``", "`") if name[0] == "`" else name for name in names)
    return f"--catalog {shlex.quote(catalog)} --schema {shlex.quote(schema)}"


def work_folder(place: str, scratch: str | None) -> str:
    """Return the folder for what tables are made of, `scratch` for a schema; raises InputError if there is none."""
    if not is_schema(place):
        return place
    if scratch is None:
        raise TablesError.no_scratch(place_text(place))
    return scratch


def check_place(spark: SparkSession, place: str) -> None:
    """Raise InputError for a schema that is not there: it is not ours to create."""
    if is_schema(place) and not _has_schema(spark, place.removeprefix(_CATALOG)):
        raise TablesError.no_schema(place_text(place))


def _has_schema(spark: SparkSession, name: str) -> bool:
    try:
        return spark.catalog.databaseExists(name)
    except AnalysisException:  # nor the catalog
        return False


def sql_name(place: str, table: str) -> str:
    """Return the name of a table in Spark's SQL."""
    if is_schema(place):
        return f"{place.removeprefix(_CATALOG)}.{table}"
    return f"delta.`{_path(place, table).replace('`', '``')}`"


def is_there(spark: SparkSession, place: str, table: str) -> bool:
    """Return whether there is such a table, whatever clusters it has rows of."""
    if not is_schema(place) and (log := local_path(spark, f"{_path(place, table)}/_delta_log")):
        return _has_commits(log)  # at once: to ask Delta takes a while, and there are many tables
    try:
        read_audited(spark, place, table)
    except TablesError:
        return False
    return True


def read_audited(spark: SparkSession, place: str, table: str) -> DataFrame:
    """Return all rows of a table. Raises TablesError if there is none."""
    try:
        rows = read(spark, place, table)
        rows.schema  # noqa: B018 - a Connect session looks for the table when it must
    except AnalysisException:
        raise TablesError.not_audited(place, table) from None
    return rows


def read(spark: SparkSession, place: str, table: str) -> DataFrame:
    """Return all rows of a table. Raises AnalysisException, on a Connect session when it is used, if there is none."""
    if is_schema(place):
        return spark.read.table(sql_name(place, table))
    return spark.read.format("delta").load(_path(place, table))


def save(writer: DataFrameWriter, place: str, table: str) -> None:
    """Write rows to a table."""
    if is_schema(place):
        writer.format("delta").saveAsTable(sql_name(place, table))
    else:
        writer.format("delta").save(_path(place, table))


def delta_table(spark: SparkSession, place: str, table: str) -> DeltaTable:
    """Return a table to change rows of."""
    if is_schema(place):
        return DeltaTable.forName(spark, sql_name(place, table))
    return DeltaTable.forPath(spark, _path(place, table))


def create(spark: SparkSession, place: str, spec: TableSpec) -> None:
    """Create a table that is not there."""
    if is_schema(place):
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {sql_name(place, spec.name)} ({spec.schema.toDDL()}) USING delta "
            f"PARTITIONED BY ({', '.join(spec.partitioned_by)}) COMMENT {sql_string(spec.comment)}"
        )
        return
    path = _path(place, spec.name)
    log = local_path(spark, f"{path}/_delta_log")
    # Of an old table Delta has removed the first commit, but not all.
    if log is not None and (_has_commits(log) or _commit_first(log, spec)):
        return
    # The builder keeps NOT NULL and comments; a writer would lose the one or the other.
    new = DeltaTable.createIfNotExists(spark).location(path).comment(spec.comment)
    new.addColumns(spec.schema).partitionedBy(*spec.partitioned_by).execute()


def _commit_first(log: Path, spec: TableSpec) -> bool:
    """Write the first commit of an empty table, the one that Delta's builder writes, unless there is one.

    Return whether there is one now: some volumes, such as those over an object store, have no links.
    The builder takes as long for it as for a commit of rows: for a small audit, a third of all its time. The forms are
    those of Delta's protocol, "Actions" and "Version Checksum File". The next commit goes on from the checksum, where
    it would read the log anew; what is optional there, a histogram of the files' sizes, Delta only reports.
    """
    now_ms = time.time_ns() // 1_000_000
    told = {"timestamp": now_ms, "operation": "CREATE TABLE", "operationParameters": {}, "engineInfo": _ENGINE}
    metadata = {
        "id": str(uuid.uuid4()),
        "description": spec.comment,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": spec.schema.json(),
        "partitionColumns": spec.partitioned_by,
        "configuration": {},
        "createdTime": now_ms,
    }
    actions = {"commitInfo": told, "protocol": _PROTOCOL, "metaData": metadata}
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    none_yet: dict[str, list[object]] = {"setTransactions": [], "domainMetadata": [], "allFiles": []}
    checksum = counts | none_yet | {"metadata": metadata, "protocol": _PROTOCOL}
    try:
        log.mkdir(parents=True, exist_ok=True)
        _publish(log / f"{0:020}.json", ({name: action} for name, action in actions.items()))
        _publish(log / f"{0:020}.crc", [checksum])
    except FileExistsError:  # another run was first
        pass
    except _NoLinksError:
        with suppress(OSError):  # another run may have filled it
            log.rmdir()  # Delta takes an empty one for a table that is lost
        return False
    except OSError as error:
        raise InputError.not_writable(str(log.parent), error.strerror) from None
    return True


class _NoLinksError(Exception):
    """A volume knows of no links, or of none from folder to folder."""


def _publish(path: Path, lines: Iterable[object]) -> None:
    """Write a file of JSON lines that is not there. Raises FileExistsError if it is.

    It appears in one step, as Delta's protocol wants commits to: a link to what has been written, above its folder.
    """
    draft = path.parent.with_name(f".{uuid.uuid4()}.tmp")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(draft)
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise _NoLinksError from None
            raise
    finally:
        draft.unlink(missing_ok=True)


def _has_commits(log: Path) -> bool:
    """Return whether a log folder has more than what an interrupted commit leaves."""
    return any(file.is_file() and file.name[0] != "." for file in log.rglob("*"))


def _path(place: str, table: str) -> str:
    """Return the path of a table. Delta takes a relative path for the name of a table, so there are none."""
    folder = place if URI.match(place) else str(Path(place).absolute())
    return f"{folder.rstrip('/')}/{table}"


def _identifier(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name.replace('`', '``')}`"


def sql_string(text: str) -> str:
    """Return a text as Spark's SQL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
