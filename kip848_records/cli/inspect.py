"""`kip848 inspect`: print the decoded records of a log, one per line."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_source, check_source, int32, key_type
from kip848_records.cli.engine import add_engine, engine_for_sources, new_session
from kip848_records.cli.output import print_note
from kip848_records.errors import EXPECTED_SOURCES, InputError
from kip848_records.protocol.messages import AUTO
from kip848_records.queries.engines import EMBEDDED
from kip848_records.sources.topic.address import is_topic
from kip848_records.text import printable, similar_hint

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator

    from kip848_records.cli.arguments import Commands
    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.queries.tables import Row


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "inspect",
        help="print the decoded records of a log or of the live topic",
        description="Prints the decoded records of __consumer_offsets, a copy or the topic, by partition and offset.",
    )
    add_source(command)
    command.add_argument("--group", metavar="G", help="only records of this group")
    command.add_argument(
        "--type",
        type=key_type,
        action="append",
        default=[],
        metavar="N",
        dest="types",
        help="only records of this type; may be repeated",
    )
    command.add_argument("--limit", type=int32("a number of records"), metavar="N", help="only the first N records")
    command.add_argument("--json", action="store_true", help="print one JSON object per line, as kafka-dump-log does")
    add_engine(command)
    command.set_defaults(run=_run)


@dataclass
class _Counts:
    """How many rows of a log were printed, and how many were not.

    `decoded`: printed rows without an error. `undecided`: printed rows of transactions whose outcome is not known.
    `unread`: rows that the source could not read. `of_nobody`: if a group is selected, records without a known group.
    `similar`: a hint at groups with similar names, if the selected one has no record.
    """

    printed: int = 0
    decoded: int = 0
    undecided: int = 0
    unread: int = 0
    of_nobody: int = 0
    first_error: str | None = None
    first_unread: str | None = None
    similar: str | None = None


def _run(arguments: Namespace) -> int:
    check_source(arguments)
    before_spark.check_log(arguments, {})
    before_spark.check_topics(arguments)
    from kip848_records.text import count_text

    is_selection = bool(arguments.group is not None or arguments.types)
    counts = _print_log(arguments, is_selection=is_selection)
    is_empty = _is_empty(counts, arguments)
    sources = ", ".join(arguments.sources)
    if counts.undecided:
        what = f"transaction outcomes: {counts.undecided:,} offset commits above may have been aborted"
        print_note(f"{sources} does not show {what}")
    if not is_selection and (is_empty or (not counts.decoded and arguments.limit is None)):
        raise InputError(InputError.no_rows(sources, counts.first_error).message, f"expected {EXPECTED_SOURCES}")
    if counts.unread:
        print_note(f"{count_text(counts.unread, 'row')} could not be read; the first: {counts.first_unread}")
    if counts.of_nobody:
        why = "their keys do not decode, or have a type that this version does not know"
        count = count_text(counts.of_nobody, "record")
        print_note(f"{count} may be the group's: {why}; without --group they are printed")
    if is_selection and is_empty:
        if arguments.group is not None:
            hint = counts.similar or "without --group it prints the records of all groups"
            raise InputError(f"{sources} has no record{_selection(arguments)}", hint)
        print_note(f"no record{_selection(arguments)}")
    return 0


def _print_log(arguments: Namespace, *, is_selection: bool) -> _Counts:
    """Print the records of the sources, and count them; of a live topic those in the partition of the group, if any."""
    from kip848_records.report.partly_read import one_partition_text

    engine, counts = _engine(arguments), _Counts()
    # A topic that was given more partitions has older groups elsewhere.
    for partition_of in dict.fromkeys([arguments.group if is_topic(arguments.sources[0]) else None, None]):
        with _rows(engine, arguments, partition_of) as (rows, groups, only_one_of):
            counts = _print_rows(rows, arguments, is_selection=is_selection)
            if partition_of is None and arguments.group is not None and _is_empty(counts, arguments):
                counts.similar = similar_hint(arguments.group, groups())
        if not _is_empty(counts, arguments):
            if only_one_of is not None:
                print_note(f"not looked at: {one_partition_text(only_one_of)}; without --group all are read")
            break
    return counts


def _is_empty(counts: _Counts, arguments: Namespace) -> bool:
    return not counts.printed and arguments.limit != 0  # a limit may end it before a record that decodes


def _print_rows(rows: Iterable[Row], arguments: Namespace, *, is_selection: bool) -> _Counts:
    """Print the records that were asked for, up to the limit, and count all."""
    from kip848_records.report.inspection import is_unread, json_line, text_line

    line = json_line if arguments.json else text_line
    counts = _Counts()
    for row in rows:
        if is_unread(row):
            counts.unread += 1
            counts.first_unread = counts.first_unread or row.error
            if is_selection:
                continue
        elif arguments.group is not None and row.group_id is None:
            counts.of_nobody += 1
            continue
        if counts.printed != arguments.limit:
            print(line(row))
            counts.printed += 1
            counts.decoded += row.error is None
            counts.undecided += row.transaction == "unknown"
            counts.first_error = counts.first_error or row.error
    return counts


def _selection(arguments: Namespace) -> str:
    types = f" of type {' or '.join(map(str, arguments.types))}" if arguments.types else ""
    return types if arguments.group is None else f"{types} of group '{printable(arguments.group)}'"


def _engine(arguments: Namespace) -> Engine:
    from kip848_records.engines.choice import new_engine

    choice = engine_for_sources(arguments, None)
    if choice.engine != EMBEDDED or choice.note is not None:  # otherwise the first record comes at once
        print_note(choice.note or str(choice))
    return new_engine(None if choice.engine == EMBEDDED else new_session(), "")


@contextmanager
def _rows(
    engine: Engine, arguments: Namespace, partition_of: str | None
) -> Iterator[tuple[Iterator[Row], Callable[[], list[str]], int | None]]:
    """Yield the rows to print, and what reads the log again for the ids of its groups; both within the block only.

    `partition_of`: of a live topic, only the partition that holds this group is read. The third value: see `_log`.
    """
    from kip848_records.decode.inspect import inspect_log

    with _log(engine, arguments, partition_of) as (log, only_one_of):
        dialect = _dialect(engine, arguments.dialect, log)
        selected = {"group": arguments.group, "types": arguments.types, "limit": arguments.limit}
        rows = engine.iterate(inspect_log(engine, log, dialect=dialect, **selected))
        yield rows, partial(_groups, engine, log), only_one_of


def _groups(engine: Engine, log: Relation) -> list[str]:
    found = engine.sql("SELECT DISTINCT log.group_id FROM {log} AS log WHERE log.group_id IS NOT NULL", log=log)
    return [row.group_id for row in engine.collect(found)]


@contextmanager
def _log(engine: Engine, arguments: Namespace, partition_of: str | None) -> Iterator[tuple[Relation, int | None]]:
    """Yield the rows of the sources, of a live topic up to its present end; they can be read within the block only.

    The second value: of how many partitions only one is read; None: all are.
    """
    from kip848_records.sources.read import read_copies

    source = arguments.sources[0]
    if not is_topic(source):
        with engine.reading():
            yield read_copies(engine, arguments.sources, arguments.format), None
        return
    from kip848_records.pipeline.live import live_log
    from kip848_records.sources.topic.client import READ_UNCOMMITTED

    # Aborted commits are shown too, because the rows of a dump include them.
    live = live_log(engine, arguments.brokers, READ_UNCOMMITTED, partition_of)
    ends = live.ends()
    with live.reading():
        yield live.read(ends.offsets), ends.only_one_of


def _dialect(engine: Engine, name: str, log: Relation) -> str:
    if name != AUTO:
        return name
    from kip848_records.decode.dialects import choose_dialect
    from kip848_records.sources.copies import drop_copies

    choice = choose_dialect(engine, drop_copies(engine, log))
    print(choice, file=sys.stderr)
    return choice.name
