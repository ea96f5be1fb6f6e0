"""Queries by Spark: for tables in a catalog, and if a session is running anyway."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from kip848_records.machine.paths import local_path
from kip848_records.queries.tables import Tables
from kip848_records.queries.texts import with_tables
from kip848_records.spark.files import unreadable_file
from kip848_records.tables.errors import DamagedError, TablesError
from kip848_records.tables.local import has_commits
from kip848_records.tables.location import is_schema, schema_name, table_path
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.queries.tables import Parameter, Part


_NO_VERSION: Final = "[DELTA_VERSION_NOT_FOUND]"
_LEADING_COMMENTS: Final = re.compile(r"\A(\s*--[^\n]*\n)+")


class SparkTables(Tables):
    """Tables that a Spark session queries: in their newest versions if one that a query needs was removed."""

    engine = "spark"

    def __init__(self, spark: SparkSession, location: str) -> None:
        super().__init__(location)
        self.spark = spark
        self._known: dict[str, bool] = {}
        self._has_versions = True

    def names(self) -> Collection[str]:
        """Return the names of all tables that an audit may write; reading one shows whether it exists."""
        return TABLES

    def _parts(self, text: str, cluster: str | None) -> dict[str, list[Part]]:
        # A word may look like a table's name by accident: Spark reports a table that does not exist.
        return {name: parts for name, parts in super()._parts(text, cluster).items() if self._is_there(name)}

    def _newest(self, text: str, *names: str, **parameters: Parameter) -> pa.Table:
        for name in names:
            if not self._is_there(name):
                raise TablesError.not_audited(self.location, name)
        return super()._newest(text, *names, **parameters)

    @cached_property
    def _unfinished(self) -> list[str]:
        return super()._unfinished if self._is_there("log") else []

    def _is_there(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = is_there(self.spark, self.location, name)
        return self._known[name]

    def _read(
        self, text: str, _: str | None, tables: Mapping[str, Sequence[Part]], parameters: Mapping[str, Parameter]
    ) -> pa.Table:
        query = _LEADING_COMMENTS.sub("", text).strip().rstrip(";")
        if tables:
            query = with_tables(query, {name: self._select(name, parts) for name, parts in tables.items()})
        try:
            return self.spark.sql(query, args=dict(parameters) or None).toArrow()
        except Exception as error:
            file = unreadable_file(error)
            if self._has_versions and (file is not None or _NO_VERSION in str(error)):
                # The commits or files of a version were removed. Later runs changed rows of other clusters only.
                self._has_versions = False
                return self._read(text, _, tables, parameters)
            if file is not None:
                raise DamagedError.of(file) from error
            raise

    def _select(self, name: str, parts: Sequence[Part]) -> str:
        selects = []
        for part in parts:
            is_newest = part.version is None or not self._has_versions
            version = "" if is_newest else f" VERSION AS OF {part.version}"
            clusters = ", ".join(map(sql_string, part.clusters or ()))
            condition = "" if part.clusters is None else f" WHERE cluster IN ({clusters})"
            table = sql_name(self.location, name)
            selects.append(f"SELECT * FROM {table}{version}{condition}")  # noqa: S608 - quoted above
        return " UNION ALL ".join(selects)


def is_there(spark: SparkSession, location: str, table: str) -> bool:
    """Return whether a table exists, with rows of any cluster."""
    if not is_schema(location) and (log := local_path(spark, f"{table_path(location, table)}/_delta_log")):
        return has_commits(log)  # without Spark: asking Delta takes a while, and there are many tables
    try:
        read_audited(spark, location, table)
    except TablesError:
        return False
    return True


def read_audited(spark: SparkSession, location: str, table: str) -> DataFrame:
    """Return all rows of a table. Raises TablesError if it does not exist."""
    try:
        rows = read(spark, location, table)
        rows.schema  # noqa: B018 - only this makes a Connect session look for the table
    except AnalysisException:
        raise TablesError.not_audited(location, table) from None
    return rows


def read(spark: SparkSession, location: str, table: str) -> DataFrame:
    """Return all rows of a table. Raises AnalysisException if it does not exist; a Connect session only when used."""
    if is_schema(location):
        return spark.read.table(sql_name(location, table))
    return spark.read.format("delta").load(table_path(location, table))


def sql_name(location: str, table: str) -> str:
    """Return the name of a table in Spark's SQL."""
    if is_schema(location):
        return f"{schema_name(location)}.{table}"
    return f"delta.`{table_path(location, table).replace('`', '``')}`"


def sql_string(text: str) -> str:
    """Return a text as a literal of Spark's SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
