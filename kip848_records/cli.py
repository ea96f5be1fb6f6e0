"""The command line: `kip848 audit`, `inspect`, `explain` and `simulate`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from datetime import datetime, timezone
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from kip848_records import __version__
from kip848_records.audit import AuditOptions, run_audit
from kip848_records.decode.dialects import AUTO, choose_dialect
from kip848_records.errors import InputError, Kip848Error, UnexpectedError
from kip848_records.explain import Story, explain
from kip848_records.inspection import inspect_log, json_line, text_line
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.session import get_session
from kip848_records.simulate import RELEASES, Simulation, simulate
from kip848_records.sources import read_log, reading
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.files import FORMATS
from kip848_records.summary import summary
from kip848_records.text import printable
from kip848_records.topics import read_topics_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame
    from rich.console import RenderableType

_INTERRUPTED = 130

# Ids are never cut short or folded: a terminal may wrap a line, a file keeps it whole.
_WIDE = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 failed, 2 bad arguments or input, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place to turn it into a line
        if arguments.debug:
            traceback.print_exc()
        failure = error if isinstance(error, Kip848Error) else UnexpectedError.of(error)
        print(f"error: {failure.message}\nhint: {failure.hint}", file=sys.stderr)
        return failure.exit_code
    return 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and the way out in another, as every other error does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {printable(message)}\nhint: see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kip848", description="Tells the story of consumer group rebalances from __consumer_offsets.")
    parser.add_argument("--version", action="version", version=f"kip848-records {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_audit(commands)
    _add_inspect(commands)
    _add_explain(commands)
    _add_simulate(commands)
    return parser


def _add_audit(commands: argparse._SubParsersAction[_Parser]) -> None:
    audit = commands.add_parser(
        "audit",
        help="decode a copy of the log into Delta tables and sum up what they say",
        description="Decodes a copy of __consumer_offsets into Delta tables and sums up what they say.",
    )
    _add_source(audit)
    audit.add_argument("--out", required=True, metavar="DIR", help="folder of the Delta tables, one folder each")
    audit.add_argument("--cluster", default="default", metavar="NAME", help="cluster column of every row (%(default)s)")
    audit.add_argument("--topics", metavar="FILE", help='topic names, as JSON: {"<topic id>": "<name>", ...}')
    audit.add_argument(
        "--captured-at",
        type=_time,
        metavar="TIME",
        help="when the log was copied, ISO 8601, UTC unless it says otherwise (default: the newest time in the log)",
    )
    audit.add_argument("--offset-commits", action="store_true", help="decode offset commits too, most of any log")
    audit.add_argument("--allow-empty", action="store_true", help="accept a source without a single record")
    audit.set_defaults(run=_audit)


def _add_inspect(commands: argparse._SubParsersAction[_Parser]) -> None:
    inspect = commands.add_parser(
        "inspect",
        help="print the decoded records of a copy of the log",
        description="Prints the decoded records of a copy of __consumer_offsets, by partition and offset.",
    )
    _add_source(inspect)
    inspect.add_argument("--group", metavar="G", help="only records of this group")
    inspect.add_argument(
        "--type",
        type=_key_type,
        action="append",
        default=[],
        metavar="N",
        dest="types",
        help="only records of this type; may be repeated",
    )
    inspect.add_argument("--limit", type=_int32("a number of records"), metavar="N", help="only the first N records")
    inspect.add_argument("--json", action="store_true", help="one JSON object a line, in the forms of kafka-dump-log")
    inspect.set_defaults(run=_inspect)


def _add_explain(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "explain",
        help="tell one group's story: its epochs, its members, who waits for whom",
        description="Tells one group's story from the tables of an audit.",
    )
    command.add_argument("out", metavar="DIR", help="folder of the Delta tables, as given to audit --out")
    command.add_argument("--group", required=True, metavar="G", help="group id")
    command.add_argument("--epoch", type=_int32("a group epoch"), metavar="E", help="only this group epoch")
    command.add_argument("--cluster", metavar="NAME", help="if several clusters have such a group")
    command.add_argument("--debug", action="store_true", help="show the stack trace of an error")
    command.set_defaults(run=_explain)


def _add_simulate(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "simulate",
        help="write a log of simulated groups, to try things on",
        description="Writes the log of simulated groups as Parquet files, and what is true about it.",
    )
    command.add_argument("--groups", type=int, default=20, metavar="N", help="how many groups (%(default)s)")
    command.add_argument("--members", type=int, default=5, metavar="M", help="members a group, about (%(default)s)")
    command.add_argument("--hours", type=float, default=1.0, metavar="H", help="how much time passes (%(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="one seed, one log (%(default)s)")
    command.add_argument("--release", choices=RELEASES, default="4.3", help="who writes the log (%(default)s)")
    command.add_argument(
        "--skew",
        type=float,
        default=1.0,
        metavar="X",
        help="how many times larger than the others one hot group is, and half of that one group of 50 (%(default)s)",
    )
    command.add_argument("--compacted", action="store_true", help="compact the older part of the log, as brokers do")
    command.add_argument("--out", required=True, metavar="DIR", help="folder of the log, topics.json and the truth")
    command.add_argument("--debug", action="store_true", help="show the stack trace of an error")
    command.set_defaults(run=_simulate)


def _add_source(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="segment files (a file, a partition's folder, a broker's data folder or a folder of several of those), "
        "or rows of Spark's Kafka source as Parquet, Delta or JSON lines; several are copies of one log",
    )
    command.add_argument("--format", choices=FORMATS, help="what SOURCE is, where its file names do not tell")
    command.add_argument(
        "--dialect",
        choices=(*DIALECTS, AUTO),
        default=KAFKA.name,
        help="who wrote the records: kafka is 3.8 and later, auto what most of them decode as (%(default)s)",
    )
    command.add_argument("--debug", action="store_true", help="show the stack trace of an error")


def _audit(arguments: argparse.Namespace) -> None:
    topics = read_topics_file(arguments.topics) if arguments.topics else None
    options = AuditOptions(
        sources=tuple(arguments.sources),
        out=arguments.out,
        source_format=arguments.format,
        dialect=arguments.dialect,
        cluster=arguments.cluster,
        topics=topics,
        captured_at=arguments.captured_at,
        offset_commits=arguments.offset_commits,
        allow_empty=arguments.allow_empty,
    )
    start = monotonic()

    def progress(what: str) -> None:
        print(f"[{monotonic() - start:5.1f} s] {printable(what)}", file=sys.stderr, flush=True)

    progress("starting Spark")
    spark = get_session()
    audit = run_audit(spark, options, progress)
    _print_parts(summary(spark, audit))


def _print_parts(parts: Iterable[RenderableType]) -> None:
    console = Console(width=_WIDE, highlight=False)
    for part in parts:
        with console.capture() as printed:
            console.print(part)
        print("\n".join(line.rstrip() for line in printed.get().splitlines()))


def _explain(arguments: argparse.Namespace) -> None:
    story = Story(get_session(), arguments.out, arguments.group, arguments.cluster)
    _print_parts(explain(story, arguments.epoch))


def _inspect(arguments: argparse.Namespace) -> None:
    spark = get_session()
    log = read_log(spark, arguments.sources, arguments.format)
    dialect = _dialect(arguments.dialect, log)
    rows = inspect_log(log, dialect=dialect, group=arguments.group, types=arguments.types, limit=arguments.limit)
    line = json_line if arguments.json else text_line
    decoded, undecided, first_error = 0, 0, None
    with reading():
        for row in rows.toLocalIterator():
            print(line(row))
            decoded += row.error is None
            undecided += row.transaction == "unknown"
            first_error = first_error or row.error
    if undecided:
        what = f"how transactions ended: {undecided:,} offset commits above may have been aborted"
        print(f"note: {printable(', '.join(arguments.sources))} does not show {what}", file=sys.stderr)
    selected = arguments.group is not None or arguments.types
    if not decoded and not selected and arguments.limit is None:
        raise InputError.no_records(", ".join(arguments.sources), first_error)


def _dialect(name: str, log: DataFrame) -> str:
    if name != AUTO:
        return name
    with reading():
        choice = choose_dialect(drop_copies(log))
    print(choice, file=sys.stderr)
    return choice.name


def _simulate(arguments: argparse.Namespace) -> None:
    names = ("groups", "members", "hours", "seed", "release", "skew", "compacted")
    spec = Simulation(**{name: getattr(arguments, name) for name in names})
    simulated = simulate(spec, arguments.out, processes=os.cpu_count() or 1)
    print(f"{simulated.rows:,} log rows in {simulated.log}; what is true about them is in {simulated.truth}")
    print(f"to audit them: kip848 audit {simulated.log} --topics {simulated.topics} --out TABLES")


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
    except ValueError:
        message = f"{text!r} is not a time such as 2026-11-21T08:00:00Z"
        raise argparse.ArgumentTypeError(message) from None
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _key_type(text: str) -> int:
    if re.fullmatch(r"-?[0-9]{1,5}", text) and -(1 << 15) <= int(text) < 1 << 15:
        return int(text)
    message = f"{text!r} is not a record type, an int16"
    raise argparse.ArgumentTypeError(message)


def _int32(what: str) -> Callable[[str], int]:
    """Return what reads such a number, which Kafka or Spark holds in 32 bits; none is negative."""

    def read(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,10}", text) and int(text) < 1 << 31:
            return int(text)
        message = f"{text!r} is not {what}: 0 to 2147483647"
        raise argparse.ArgumentTypeError(message)

    return read
