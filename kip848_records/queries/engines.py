"""Chooses the engine of queries: the embedded one if the tables are files that it can open, else Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.machine.paths import is_session_offered, local_path, path_on_this_machine
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import is_schema, location_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from kip848_records.queries.tables import Parameter, Row, Tables

EMBEDDED: Final = "embedded"
"""The name of the engine in this process: DuckDB, Arrow and delta-rs."""
SPARK: Final = "spark"
ENGINES: Final = (EMBEDDED, SPARK)


def open_tables(
    location: str, engine: str | None = None, *, session: Callable[[], SparkSession], note: Callable[[str], None]
) -> Tables:
    """Return the tables at a location, with the engine that queries them: `embedded` or `spark`; None chooses it.

    The embedded engine takes a second for what takes Spark a minute, so it is the choice for a folder of this machine.
    Spark is the choice for a schema of a catalog; for other file systems if a session is available (`spark-submit`,
    Spark Connect, Databricks), because it has the credentials; and if delta-rs cannot open the tables: `note` gets the
    reason.

    `session`: returns the session, such as `get_session`; it is called only if Spark is needed. Raises InputError if
    the location does not hold the tables of an audit, or if `engine` is the embedded one and it cannot open them.
    """
    is_offered = engine is None and is_session_offered()
    if engine == SPARK or is_schema(location) or (is_offered and not _is_here(location)):
        if engine == EMBEDDED:
            raise TablesError.not_embedded(location_text(location), "only Spark opens tables in a catalog")
        return _spark_tables(session(), location)
    from kip848_records.queries.duck import DuckTables, NotOpenedError  # noqa: PLC0415 - not needed with Spark

    tables = DuckTables(location)
    try:
        tables.runs()
    except NotOpenedError as error:
        if engine == EMBEDDED:
            raise
        note(f"{error.message}; Spark reads the tables instead")
        return _spark_tables(session(), location)
    return tables


def newest_rows(spark: SparkSession, location: str, text: str, *names: str, **parameters: Parameter) -> list[Row]:
    """Return the answer to a query over the newest version of some tables, even if the run has not finished.

    DuckDB answers at once if the tables are on this machine; a job of Spark takes a second or two.
    """
    if not is_schema(location) and local_path(spark, location) is not None:
        from kip848_records.queries.duck import DuckTables, NotOpenedError  # noqa: PLC0415 - as above

        try:
            return DuckTables(location).newest(text, *names, **parameters)
        except NotOpenedError:
            pass
    return _spark_tables(spark, location).newest(text, *names, **parameters)


def _is_here(location: str) -> bool:
    folder = path_on_this_machine(location)
    return folder is not None and folder.is_dir()


def _spark_tables(spark: SparkSession, location: str) -> Tables:
    from kip848_records.queries.spark import SparkTables  # noqa: PLC0415 - it cannot be imported without Spark

    return SparkTables(spark, location)
