"""The engine that moves the rows. The choice is made before anything is imported that takes long."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from kip848_records.errors import InputError
from kip848_records.machine.disks import bytes_text
from kip848_records.machine.paths import DATABRICKS, SESSION_OFFERS, SPARK_VARIABLES, path_on_this_machine
from kip848_records.queries.engines import EMBEDDED, SPARK
from kip848_records.tables.location import is_schema, location_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.engines.engine import Engine

MOST_BYTES: Final = 8 << 30
"""The size of files up to which the embedded engine is the choice.

Measured on two cores: 4.7 GB of segment files, 58 million rows, take half a minute and 1.2 GB of memory; 1.2 GB of
Parquet, 188 million rows, 100 s and 1.7 GB. Spark took more than twice as long on the same machine at every size at
which both were measured. So the limit is no turning point: beyond it, logs are usually read on a cluster.
"""


class ChoiceError(InputError):
    """The embedded engine was named for something that only Spark can do."""


@dataclass(frozen=True)
class Work:
    """The facts about a command's work that decide which engine does it.

    `copies`: the paths of copies. `live`: the URL of a live topic. `out`: the location of the tables; None: there are
    none, or in a temporary folder. `size`: returns the bytes of the files to
    read; it is called only if the choice depends on it, and so is `rebuilt`: the bytes of the log of each cluster whose
    tables the command rebuilds besides, because a run was interrupted, or an older version wrote them.
    """

    copies: Sequence[str]
    out: str | None
    size: Callable[[], int]
    live: str | None = None
    rebuilt: Callable[[], Mapping[str, int]] = dict

    @property
    def paths(self) -> list[str]:
        """All paths of files."""
        return [*self.copies, *([] if self.out is None else [self.out])]


@dataclass(frozen=True)
class Choice:
    """The chosen engine, `embedded` or `spark`, and why; `note`: a disadvantage that the user should know."""

    engine: str
    reason: str
    note: str | None = None

    def __str__(self) -> str:
        named = "the embedded engine" if self.engine == EMBEDDED else "Spark"
        return f"reading with {named}: {self.reason}"


def has_spark() -> bool:
    """Return whether PySpark is installed, without importing it."""
    try:
        return find_spec("pyspark") is not None
    except ModuleNotFoundError:
        return False


def choose(
    named: str | None,
    work: Work,
    *,
    environment: Mapping[str, str] = os.environ,
    is_spark_there: Callable[[], bool] = has_spark,
) -> Choice:
    """Return the engine for the work: the named one, else the embedded one for files of this machine up to a size.

    `environment`: the variables that show whether a session is offered, and whether only Spark can resolve a path.
    Raises InputError if the embedded engine is named for what only Spark can do.
    """
    if named == EMBEDDED:
        _check_embedded(work)
        _check_rebuilt(work.rebuilt())
        return Choice(EMBEDDED, "as --engine says")
    if named == SPARK:
        return Choice(SPARK, "as --engine says")
    if (reason := _needs_spark(work, environment)) is not None:
        return Choice(SPARK, reason)
    rebuilt = work.rebuilt()
    size = work.size() + sum(rebuilt.values())
    text = f"{bytes_text(size)} on this machine" if work.live is None else "a live topic, into files of this machine"
    if rebuilt:
        text += f", with the log of {_clusters_text(rebuilt)}, whose tables are rebuilt"
    if size <= MOST_BYTES:
        return Choice(EMBEDDED, text)
    more = f"{text}, more than {bytes_text(MOST_BYTES)}"
    if is_spark_there():
        return Choice(SPARK, more)
    _check_rebuilt(rebuilt)
    return Choice(EMBEDDED, text, f"{more}: Spark on a cluster would be faster, but it is not installed here")


def _check_embedded(work: Work) -> None:
    if work.out is not None and is_schema(work.out):
        raise ChoiceError(
            f"the embedded engine does not write tables in a catalog, such as {location_text(work.out)}",
            "omit --engine, or name a folder of this machine instead of --catalog and --schema",
        )
    for path in work.paths:
        if path_on_this_machine(path) is None:
            raise ChoiceError(
                f"the embedded engine reads and writes files of this machine, and {path} is elsewhere",
                "omit --engine, or copy the files to this machine and name a local folder",
            )


def _check_rebuilt(rebuilt: Mapping[str, int]) -> None:
    if (size := sum(rebuilt.values())) > MOST_BYTES:
        named = f"the tables of {_clusters_text(rebuilt)} have to be rebuilt"
        raise ChoiceError(
            f"{named}, and {bytes_text(size)} of log are too much for the embedded engine",
            "run the same command with --engine spark, or name another folder with --out",
        )


def _clusters_text(clusters: Iterable[str]) -> str:
    return "cluster " + ", ".join(map(repr, clusters))


def _needs_spark(work: Work, environment: Mapping[str, str]) -> str | None:
    """Return why only Spark can do the work, or should; None if the embedded engine can."""
    if work.out is not None and is_schema(work.out):
        return "it writes tables in catalogs"
    if offers := sorted((SESSION_OFFERS | {DATABRICKS}) & environment.keys()):
        return f"a session is there, as {offers[0]} shows"
    settings = sorted(SPARK_VARIABLES & environment.keys())
    for path in work.paths:
        if path_on_this_machine(path) is None:
            return f"{path} is on another file system"
        if settings and not path.startswith("file:"):
            return f"{settings[0]} is set, so {path} may be on another file system"
    return None


def new_engine(spark: SparkSession | None, out: str) -> Engine:
    """Return the engine for tables at a location: Spark's with a session, else the one in this process."""
    if spark is not None:
        from kip848_records.engines.spark.engine import SparkEngine  # noqa: PLC0415 - it cannot be imported without Spark

        return SparkEngine(spark, out)
    from kip848_records.engines.embedded.engine import EmbeddedEngine  # noqa: PLC0415 - DuckDB and delta-rs take a while

    return EmbeddedEngine(out)


def engine_of(rows: DataFrame) -> Engine:
    """Return the engine of a DataFrame's session, for functions that take DataFrames."""
    return new_engine(rows.sparkSession, "")
