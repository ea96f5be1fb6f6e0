"""The tables that a command asks: those of an audit, or those of sources, which the command audits itself.

The second question about the same files is answered from the user's cache.
"""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kip848_records import __version__
from kip848_records.cli import before_spark
from kip848_records.cli.arguments import (
    add_capture,
    add_schema,
    add_source,
    add_topic_content,
    check_source,
    given_path,
    place,
)
from kip848_records.cli.engine import add_engine, engine_for_sources, new_session, session_of
from kip848_records.cli.output import print_note
from kip848_records.errors import InputError
from kip848_records.machine.disks import DiskError
from kip848_records.machine.paths import URI, is_session_offered, known_path, path_on_this_machine
from kip848_records.queries.engines import EMBEDDED, open_tables
from kip848_records.sources.topic.address import is_topic
from kip848_records.tables.errors import NoGroupError, TablesError
from kip848_records.tables.location import is_of_sources, sources_location
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from kip848_records.cli.arguments import Parser
    from kip848_records.machine.cache import New
    from kip848_records.pipeline.options import AuditOptions
    from kip848_records.pipeline.progress import Progress
    from kip848_records.queries.tables import Tables
    from kip848_records.sources.listing import Copy


_Answer = TypeVar("_Answer")


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


METAVAR: Final = "DIR|SOURCE"
_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "format": str,
    "dialect": str,
    "topics": _absolute,
    "end_offsets": _absolute,
    "captured_at": lambda time: time.isoformat(),
    "offsets_retention": lambda ms: f"{ms // 1000}s",
    "kafka_config": _absolute,
    "config": _absolute,
}
_TABLES: Final = "tables"
_LAST_BYTES: Final = 64 << 10
"""How much of the end of each file is part of the key: the last batch of a segment, or the footer of Parquet."""


def add_tables(command: Parser, *, needs_commits: bool = False, needs_topic_content: bool = False) -> None:
    """Add the options that name tables, or sources to audit: `sources`, their options, `catalog`, and `engine`.

    `needs_commits`: the command always decodes the offset commits of sources, and has no option for it.
    `needs_topic_content`: the same of what is in the topic by key.
    """
    add_source(command, METAVAR, "the folder of an audit's tables; or ", at_least=0)
    add_schema(command)
    command.add_argument("--cluster", metavar="NAME", help="only this cluster of DIR; for a log, its cluster name")
    add_capture(command)
    if not needs_commits:
        command.add_argument("--offset-commits", action="store_true", help="for a log: decode offset commits too")
    if not needs_topic_content:
        add_topic_content(command, "for a log: ")
    add_engine(command)
    command.add_argument("--no-cache", action="store_true", help="for a log: audit it even if its tables are cached")
    # A dialect of None shows that the option was not given.
    command.set_defaults(dialect=None, offset_commits=False, needs_commits=needs_commits)
    command.set_defaults(topic_content=False, needs_topic_content=needs_topic_content)


def check_tables(arguments: Namespace, keep: str | None = None) -> None:
    """Raise InputError for invalid arguments of `add_tables`, before any work is done.

    `keep`: the folder in which the tables of a log stay.
    """
    try:  # argparse did not know which of these arguments are paths
        arguments.sources = list(map(given_path, arguments.sources))
    except ArgumentTypeError as error:
        raise InputError(f"argument {METAVAR}: {error}", f"see kip848 {arguments.command} --help") from None
    check_source(arguments)
    if are_tables(arguments):
        refuse_options_of_logs(arguments, place(arguments, next(iter(arguments.sources), None), "DIR"), keep)
        return
    for each in filter(before_spark.holds_audit, arguments.sources):
        beside = ", ".join(source for source in arguments.sources if source is not each)
        raise InputError(
            f"{each} holds the tables of an audit, and {beside} is named beside it",
            f"kip848 {arguments.command} takes one folder of tables: pass {each} alone",
        )
    before_spark.check_capture(arguments)
    before_spark.check_log(arguments, {"--out": keep}, or_tables=True)
    if keep is not None:
        before_spark.check_folder(keep)
    before_spark.check_topics(arguments)


def are_tables(arguments: Namespace) -> bool | None:
    """Return whether the arguments name tables, or a log; None for a path of which only an engine knows it."""
    if arguments.catalog is not None or arguments.schema is not None or not arguments.sources:
        return True
    first, *others = arguments.sources
    if others or is_topic(first):
        return False
    if before_spark.holds_tables(first):
        return True
    return None if known_path(first) is None else False


def refuse_options_of_logs(arguments: Namespace, tables: str, keep: str | None) -> None:
    """Raise InputError for an option that describes a log, if tables are named."""
    given = [name for name in _WORDS if getattr(arguments, name) is not None]
    if hasattr(arguments, "expectations"):  # the limits of these are in the same file
        given = [name for name in given if name != "config"]
    given += [name for name in ("offset_commits", "topic_content") if getattr(arguments, name)]
    given += ["out"] if keep is not None else []
    for name in given:
        option = f"--{name.replace('_', '-')}"
        raise TablesError(f"{option} is for a log, but {tables} holds the tables of an audit", f"omit {option}")


@contextmanager
def opened_tables(
    arguments: Namespace,
    progress: Progress,
    *,
    keep: str | None = None,
    group: str | None = None,
    partition_of: str | None = None,
) -> Iterator[tuple[Tables, str | None]]:
    """Yield the named tables and cluster, or those of a log that is audited now; they can be read within the block.

    `keep`: the folder in which the tables of a log stay. `group`: the question is about this group only, so that no
    other needs to be replayed: the tables have rows of no other group if they are those of a log. `partition_of`: of a
    live topic, only the partition of this group needs to be read.
    """

    def session() -> SparkSession:
        progress.phase("starting Spark")
        return new_session()

    def opened(location: str) -> Tables:
        return open_tables(location, arguments.engine, session=session, note=print_note)

    is_known = are_tables(arguments)
    if is_known:
        yield opened(place(arguments, next(iter(arguments.sources), None), "DIR")), arguments.cluster
        return
    if is_known is None and _has_tables(arguments, session):
        refuse_options_of_logs(arguments, arguments.sources[0], keep)
        yield opened(arguments.sources[0]), arguments.cluster
        return
    options = replace(
        arguments.options,
        out=keep or "",
        offset_commits=_has_commits(arguments),
        topic_content=arguments.topic_content or arguments.needs_topic_content,
        partition_of=partition_of,
        allow_empty=partition_of is not None,  # the group may be in another partition
        brokers=arguments.brokers,
    )
    with _audited(options, arguments, progress, keep, None if keep else group) as found:
        tables = opened(found) if isinstance(found, str) else found
        if keep is None:
            tables.shown = _shown(arguments)
        yield tables, options.cluster


def answer_about(  # noqa: PLR0913 - what is asked, of which tables
    arguments: Namespace,
    progress: Progress,
    group: str,
    ask: Callable[[Tables, str | None], _Answer],
    *,
    keep: str | None = None,
    needs_others: bool = False,
    knows_all: bool = False,
) -> _Answer:
    """Return what `ask` returns for the named tables and cluster, or for those of a log that is audited now.

    It raises NoGroupError if they lack the group. Of a log, only the group is replayed, and of a live topic only its
    partition is read, then all: a topic that was given more partitions has older groups elsewhere, and the error names
    similar groups. `needs_others`: the answer depends on other groups, so that those of a partition are replayed too.
    `knows_all`: the error knows the groups that are not replayed.
    """
    only = None if needs_others else group
    # Tables that are kept are those of the whole log.
    first = (only, group if keep is None and any(map(is_topic, arguments.sources)) else None)
    *attempts, last = dict.fromkeys([first, (only if knows_all else None, None)])
    for of_group, partition_of in attempts:
        with opened_tables(arguments, progress, keep=keep, group=of_group, partition_of=partition_of) as found:
            tables, _ = found
            try:
                return ask(*found)
            except NoGroupError:
                if not is_of_sources(tables.shown):
                    raise
    with opened_tables(arguments, progress, keep=keep, group=last[0], partition_of=last[1]) as found:
        return ask(*found)


def note_other_limits(arguments: Namespace, tables: Tables, cluster: str | None) -> None:
    """Say so if the file of `--config` has limits of the diagnosis other than those that the tables were made with."""
    if arguments.config is None:
        return
    from kip848_records.config import load_limits

    given = load_limits(arguments.config)
    if given and any(tuple(run.changed_limits) != given for run in tables.chosen_runs(cluster)):
        print_note(
            f"{arguments.config} has limits of the diagnosis with which the tables were not made; pass it to "
            "kip848 audit"
        )


def _has_tables(arguments: Namespace, session: Callable[[], SparkSession]) -> bool:
    """Return whether a path that is not known to be on this machine has the tables of an audit."""
    from kip848_records.queries.duck import DuckTables, NotOpenedError

    first = arguments.sources[0]
    if path_on_this_machine(first) is None and not is_session_offered():
        try:
            DuckTables(first).runs()
        except NotOpenedError:  # a session may have the credentials
            pass
        except TablesError:
            return False
        else:
            return True
    from kip848_records.queries.spark import is_there
    from kip848_records.specs.tables import AUDIT_RUNS, LATEST_STATE
    from kip848_records.tables.log import LOG

    spark = session()
    return any(is_there(spark, first, name) for name in (AUDIT_RUNS.name, LATEST_STATE.name, LOG.name))


def _has_commits(arguments: Namespace) -> bool:
    return bool(arguments.needs_commits or arguments.offset_commits)


def _shown(arguments: Namespace) -> str:
    """Return what stands for the tables in messages: the sources and options of the log, valid in any folder."""
    options = ["--offset-commits"] if _has_commits(arguments) else []
    options += ["--topic-content"] if arguments.topic_content or arguments.needs_topic_content else []
    for name, text in _WORDS.items():
        if (given := getattr(arguments, name)) is not None:
            options += [f"--{name.replace('_', '-')}", text(given)]
    return sources_location([path if URI.match(path) else _absolute(path) for path in arguments.sources], options)


@contextmanager
def _audited(
    options: AuditOptions, arguments: Namespace, progress: Progress, keep: str | None, group: str | None
) -> Iterator[str | Tables]:
    """Yield the tables of an audit, or the folder of those of an earlier one of the same files, or of those to keep."""
    choice = engine_for_sources(arguments, keep, options.cluster)
    cache = None
    if keep is None and choice.engine == EMBEDDED and not arguments.no_cache:
        from kip848_records.machine.cache import Cache

        cache = Cache.of_user()
    with ExitStack() as stack:
        keys = () if cache is None else _keys(options, group, arguments.copies)
        entries = () if cache is None else (stack.enter_context(cache.using(key)) for key in keys)
        if (entry := next(filter(None, entries), None)) is not None:
            age = duration_text(round(entry.age_s) * 1000)
            print_note(f"from the cache of {age} ago; --no-cache audits again")
            yield str(entry.folder / _TABLES)
            return
        spark = session_of(choice, progress)
        new = stack.enter_context(cache.new()) if cache is not None and keys else None
        if new is not None and _is_audited_into(new, options, progress, group):
            # Otherwise a file was added or changed while the log was read.
            if _keys(options, group, before_spark.known_copies(options.sources, options.source_format)) == keys:
                new.keep(keys[-1])
            yield str(new.folder / _TABLES)
            return
        if keep is None and spark is None:
            from kip848_records.engines.embedded.unwritten import UnwrittenEngine
            from kip848_records.pipeline.audit import audit_into

            engine = stack.enter_context(UnwrittenEngine())
            audit_into(engine, replace(options, out=engine.out), progress, group)
            yield engine.answers()
            return
        out = keep or stack.enter_context(TemporaryDirectory(prefix="kip848-"))
        _audit(spark, replace(options, out=out), progress, group)
        yield out


def _is_audited_into(new: New, options: AuditOptions, progress: Progress, group: str | None) -> bool:
    """Audit into the cache; return False if its disk is too small."""
    try:
        _audit(None, replace(options, out=str(new.folder / _TABLES)), progress, group)
    except DiskError:
        return False
    return True


def _audit(spark: SparkSession | None, options: AuditOptions, progress: Progress, group: str | None) -> None:
    from kip848_records.pipeline.audit import run_audit

    if spark is not None:
        before_spark.check_outputs({"--out": options.out}, options.sources)  # a session knows the location of all paths
    run_audit(spark, options, progress, group)


def _keys(options: AuditOptions, group: str | None, copies: Iterable[Copy]) -> tuple[str, ...]:
    """Return the keys of tables that have the answer, its own last: those of all groups have those of one.

    A key names all that the tables depend on. There is none of a live topic, nor if a file cannot be seen now.
    """
    if any(map(is_topic, options.sources)):
        return ()
    given = {name: value for name, value in asdict(options).items() if name not in {"out", "scratch"}}
    try:
        known = [__version__, _code_changed_ns(), given, [_state(file) for copy in copies for file in _files(copy)]]
    except OSError:
        return ()
    texts = (json.dumps([group, known], default=str) for group in dict.fromkeys((None, group)))
    return tuple(sha256(text.encode()).hexdigest() for text in texts)


def _files(copy: Copy) -> list[Path]:
    """Return the files on which the content of a copy depends: of a Delta table, those of its log too."""
    found = [path for file in copy.files if (path := path_on_this_machine(file)) is not None]
    folder = path_on_this_machine(copy.name)
    if copy.format == "delta" and folder is not None:
        found += sorted(filter(Path.is_file, (folder / "_delta_log").rglob("*")))
    return found


def _state(file: Path) -> list[object]:
    found = file.stat()
    with file.open("rb") as opened:
        opened.seek(max(0, found.st_size - _LAST_BYTES))
        end = sha256(opened.read(_LAST_BYTES)).hexdigest()
    return [str(file.resolve()), found.st_size, found.st_mtime_ns, found.st_ino, end]


def _code_changed_ns() -> int:
    """Return when the code of this package changed last: in a clone it changes without a new version."""
    package = Path(__file__).parents[1]
    return max(file.stat().st_mtime_ns for file in package.rglob("*") if file.suffix in {".py", ".sql", ".toml"})
