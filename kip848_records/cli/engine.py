"""How a command chooses its engine, and says so, before anything is imported that takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.engines.choice import Work, choose
from kip848_records.errors import InputError
from kip848_records.machine.imports import allow_pandas
from kip848_records.machine.paths import path_on_this_machine
from kip848_records.queries.engines import EMBEDDED, ENGINES
from kip848_records.sources.topic.address import is_topic
from kip848_records.tables.log import LOG

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from pyspark.sql import SparkSession

    from kip848_records.engines.choice import Choice
    from kip848_records.pipeline.progress import Progress


def add_engine(command: ArgumentParser) -> None:
    """Add `engine`, which every command has that reads a log or tables."""
    command.add_argument(
        "--engine",
        choices=ENGINES,
        help="engine that does the work: embedded, in this process and without Java, or spark (default: embedded for "
        "files of this machine up to 8 GiB, and live topics; spark for larger files, catalogs and other file systems, "
        "and inside spark-submit)",
    )


def engine_for_sources(arguments: Namespace, out: str | None, cluster: str = "") -> Choice:
    """Return the engine for the sources that arguments name, to audit them as `cluster` of a location.

    `out`: None if the tables are in a temporary folder, or if there are none.
    Raises InputError if the embedded engine is named for what only Spark can do.
    """
    live = next(filter(is_topic, arguments.sources), None)
    copies = [source for source in arguments.sources if not is_topic(source)]

    def size() -> int:
        files = (path_on_this_machine(file) for copy in arguments.copies for file in copy.files)
        return sum(file.stat().st_size for file in files if file is not None and file.exists())

    return choose(arguments.engine, Work(copies, out, size, live, lambda: _rebuilt(out, cluster)))


def _rebuilt(out: str | None, cluster: str) -> dict[str, int]:
    """Return the bytes of the log of each other cluster whose tables an audit rebuilds; none if they cannot be opened.

    The engine that opens them then says why.
    """
    folder = None if out is None else path_on_this_machine(out)
    if folder is None or not (folder / LOG.name).is_dir():
        return {}
    clusters = [each.name for each in (folder / LOG.name).glob("cluster=*")]
    if clusters == [f"cluster={cluster}"]:  # to open all tables takes as long as a small run
        return {}
    from kip848_records.engines.embedded.engine import EmbeddedEngine
    from kip848_records.log.table import clusters_to_rebuild

    engine = EmbeddedEngine(str(folder))
    try:
        found = clusters_to_rebuild(engine, migrate=False)
        return {each: engine.tables.size(LOG.name, each) for each in found if each != cluster}
    except InputError:
        return {}


def engine_for_tables(named: str | None, out: str) -> Choice:
    """Return the engine for work on the tables at a location. Raises InputError as `engine_for_sources` does."""

    def size() -> int:
        folder = path_on_this_machine(out)
        return 0 if folder is None else sum(file.stat().st_size for file in (folder / "log").rglob("*.parquet"))

    return choose(named, Work((), out, size))


def session_of(choice: Choice, progress: Progress) -> SparkSession | None:
    """Say which engine was chosen, and why; return the session of Spark, or None for the embedded engine.

    Raises SetupError if Spark cannot start.
    """
    progress.note(str(choice))
    if choice.note is not None:
        progress.note(choice.note)
    if choice.engine == EMBEDDED:
        return None
    progress.phase("starting Spark")
    return new_session()


def new_session() -> SparkSession:
    """Return the session of Spark that is there, or a new one. Raises SetupError if Spark cannot start."""
    allow_pandas()
    from kip848_records.spark.session import get_session

    return get_session()
