"""`kip848 inspect`: print the decoded records of a log, one per line."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_source, check_source, int32, key_type
from kip848_records.cli.engine import add_engine, engine_for_sources, new_session
from kip848_records.errors import InputError
from kip848_records.protocol.messages import AUTO
from kip848_records.queries.engines import EMBEDDED
from kip848_records.sources.topic.address import is_topic
from kip848_records.text import printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

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


def _run(arguments: Namespace) -> int:
    check_source(arguments)
    before_spark.check_log(arguments, {})
    before_spark.check_topics(arguments)
    from kip848_records.report.inspection import is_unread, json_line, text_line
    from kip848_records.report.terminal import count_text

    line = json_line if arguments.json else text_line
    selected = arguments.group is not None or arguments.types
    printed, decoded, undecided, unread = 0, 0, 0, 0
    first_error, first_unread = None, None
    with _rows(arguments) as rows:
        for row in rows:
            if is_unread(row):
                unread += 1
                first_unread = first_unread or row.error
            if printed == arguments.limit or (selected and is_unread(row)):
                continue
            print(line(row))
            printed += 1
            decoded += row.error is None
            undecided += row.transaction == "unknown"
            first_error = first_error or row.error
    if undecided:
        what = f"transaction outcomes: {undecided:,} offset commits above may have been aborted"
        _note(f"{', '.join(arguments.sources)} does not show {what}")
    if not decoded and not selected and arguments.limit is None:
        raise InputError.no_records(", ".join(arguments.sources), first_error)
    if unread:
        _note(f"{count_text(unread, 'row')} could not be read; the first: {first_unread}")
    if selected and not printed and arguments.limit != 0:
        _note(f"no record{_selection(arguments)}")
    return 0


def _selection(arguments: Namespace) -> str:
    types = f" of type {' or '.join(map(str, arguments.types))}" if arguments.types else ""
    return types if arguments.group is None else f"{types} of group '{arguments.group}'"


def _note(text: str) -> None:
    print(f"note: {printable(text)}", file=sys.stderr)


@contextmanager
def _rows(arguments: Namespace) -> Iterator[Iterator[Row]]:
    """Yield the rows to print; they can be read within the block only."""
    from kip848_records.decode.inspect import inspect_log
    from kip848_records.engines.choice import new_engine

    choice = engine_for_sources(arguments, None)
    if choice.engine != EMBEDDED or choice.note is not None:  # otherwise the first record comes at once
        _note(choice.note or str(choice))
    spark = None if choice.engine == EMBEDDED else new_session(arguments.sources)
    engine = new_engine(spark, "")
    with _log(engine, arguments) as log:
        dialect = _dialect(engine, arguments.dialect, log)
        selected = {"group": arguments.group, "types": arguments.types, "limit": arguments.limit}
        yield engine.iterate(inspect_log(engine, log, dialect=dialect, **selected))


@contextmanager
def _log(engine: Engine, arguments: Namespace) -> Iterator[Relation]:
    """Yield the rows of the sources, of a live topic up to its present end; they can be read within the block only."""
    from kip848_records.sources.read import read_copies

    source = arguments.sources[0]
    if not is_topic(source):
        with engine.reading():
            yield read_copies(engine, arguments.sources, arguments.format)
        return
    from kip848_records.sources.topic.admin import READ_UNCOMMITTED
    from kip848_records.sources.topic.ends import look_up
    from kip848_records.sources.topic.failures import failures_of
    from kip848_records.sources.topic.jvm import open_topic
    from kip848_records.sources.topic.rows import read_range

    spark: SparkSession = engine.spark  # type: ignore[attr-defined]
    topic = open_topic(spark, source, arguments.kafka_config)
    # Aborted commits are shown too, because the rows of a dump include them.
    ends = look_up(spark, topic, isolation=READ_UNCOMMITTED)
    with failures_of(topic, "read"):
        yield read_range(spark, topic, ends.offsets, isolation=READ_UNCOMMITTED)


def _dialect(engine: Engine, name: str, log: Relation) -> str:
    if name != AUTO:
        return name
    from kip848_records.decode.dialects import choose_dialect
    from kip848_records.sources.copies import drop_copies

    choice = choose_dialect(engine, drop_copies(engine, log))
    print(choice, file=sys.stderr)
    return choice.name
