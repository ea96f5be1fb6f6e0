"""What commands share in their arguments: how errors are said, what names a log, and the types of values."""

from __future__ import annotations

import argparse
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from kip848_records.audit import AuditOptions
from kip848_records.decode.dialects import AUTO
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.sources.files import FORMATS
from kip848_records.sources.topic import TopicError, is_topic, parse_url
from kip848_records.tables.errors import TablesError
from kip848_records.tables.places import schema_place
from kip848_records.text import printable
from kip848_records.topics import read_topics_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - argparse has no public name for it
"""To add a command's parser to."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and the way out in another, as every other error does."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Let a command refuse what it does not know: else `kip848` would, whose help does not have its options."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """Print both lines and exit with code 2."""
        self.exit(2, f"error: {printable(message)}\nhint: see {self.prog} --help\n")


def add_source(command: Parser, metavar: str = "SOURCE", besides: str = "", *, at_least: int = 1) -> None:
    """Add what reads a log: its `sources` (`besides`: what else they may be), how to read them, and `debug`."""
    command.add_argument(
        "sources",
        nargs="+" if at_least else "*",
        type=given_path,
        metavar=metavar,
        help=f"{besides}segment files (a file, a partition's folder, a broker's data folder or a folder of several of "
        "those), or rows of Spark's Kafka source as Parquet, Delta or JSON lines; several are copies of one log; or "
        "the live topic, kafka://host:port[,host:port...]/__consumer_offsets",
    )
    command.add_argument("--format", choices=FORMATS, help="what SOURCE is, where its file names do not tell")
    command.add_argument(
        "--dialect",
        choices=(*DIALECTS, AUTO),
        default=KAFKA.name,
        help=f"who wrote the records: {KAFKA.name} is 3.8 and later, auto what most of them decode as ({KAFKA.name})",
    )
    command.add_argument(
        "--kafka-config",
        type=given_path,
        metavar="FILE",
        help="client.properties for a live topic, as Kafka's own tools take it: security, timeouts; values may "
        "refer to ${env:NAME} and ${file:/path:key}",
    )
    add_debug(command)


def check_source(arguments: argparse.Namespace) -> None:
    """Raise InputError where an option does not fit the `sources`, or a live topic is one of several or no such URL."""
    topics = [source for source in arguments.sources if is_topic(source)]
    for url in topics:
        parse_url(url)
    if not topics and arguments.kafka_config is not None:
        raise TopicError.not_for_files("--kafka-config", ", ".join(arguments.sources))
    if topics and arguments.format is not None:
        raise TopicError.not_for_topics("--format", topics[0])
    if topics and len(arguments.sources) > 1:
        raise TopicError.not_alone(topics[0])


def add_capture(command: Parser) -> None:
    """Add what is to be known of a log besides: its `topics`, and `captured_at`."""
    command.add_argument(
        "--topics", type=given_path, metavar="FILE", help='topic names, as JSON: {"<topic id>": "<name>", ...}'
    )
    command.add_argument(
        "--captured-at",
        type=zoned_time,
        metavar="TIME",
        help="when the log was copied, ISO 8601, UTC unless it says otherwise (default: the newest time in the log)",
    )


def audit_options(arguments: argparse.Namespace, out: str, cluster: str) -> AuditOptions:
    """Return what to audit, by the arguments of `add_source` and `add_capture`, and where its tables go.

    Raises InputError where they do not fit each other.
    """
    check_source(arguments)
    return AuditOptions(
        sources=tuple(arguments.sources),
        out=out,
        source_format=arguments.format,
        dialect=arguments.dialect or KAFKA.name,
        cluster=cluster,
        topics=read_topics_file(arguments.topics) if arguments.topics else None,
        captured_at=arguments.captured_at,
        kafka_config=arguments.kafka_config,
    )


def add_schema(command: Parser) -> None:
    """Add `catalog` and `schema`, which name tables where a folder would."""
    command.add_argument("--catalog", metavar="NAME", help="the tables are in a schema of this catalog, in no folder")
    command.add_argument("--schema", metavar="NAME", help="the schema, which must be there")


def add_scratch(command: Parser) -> None:
    """Add `scratch`, for who writes tables into a schema."""
    command.add_argument(
        "--scratch",
        type=given_path,
        metavar="DIR",
        help="with --catalog: a folder for what tables are made of, such as one in a volume",
    )


def place(arguments: argparse.Namespace, folder: str | None, what: str) -> str:
    """Return where the tables are: in `folder`, `what` names it, or in a schema. Raises InputError for both or none."""
    catalog, schema = arguments.catalog, arguments.schema
    if (catalog is None) != (schema is None):
        raise TablesError.half_a_schema()
    if catalog is not None and folder is not None:
        raise TablesError.two_places(folder)
    if catalog is not None:
        return schema_place(catalog, schema)
    if folder is None:
        raise TablesError.no_place(what)
    return folder


def add_debug(command: Parser) -> None:
    """Add `debug`, which every command has."""
    command.add_argument("--debug", action="store_true", help="show the stack trace of an error")


def given_path(text: str) -> str:
    """Return a path; an empty one, as a shell makes of a variable that is not set, would be the current folder."""
    if text:
        return text
    message = "the path is empty"
    raise argparse.ArgumentTypeError(message)


def zoned_time(text: str) -> datetime:
    """Return an ISO 8601 time with its zone; UTC unless it names another."""
    try:
        time = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
    except ValueError:
        message = f"{text!r} is not a time such as 2026-11-21T08:00:00Z"
        raise argparse.ArgumentTypeError(message) from None
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def key_type(text: str) -> int:
    """Return the type of a record, which its key holds as an int16."""
    if re.fullmatch(r"-?[0-9]{1,5}", text) and -(1 << 15) <= int(text) < 1 << 15:
        return int(text)
    message = f"{text!r} is not a record type, an int16"
    raise argparse.ArgumentTypeError(message)


def int32(what: str) -> Callable[[str], int]:
    """Return what reads such a number, which Kafka or Spark holds in 32 bits; none is negative."""

    def read(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,10}", text) and int(text) < 1 << 31:
            return int(text)
        message = f"{text!r} is not {what}: 0 to 2147483647"
        raise argparse.ArgumentTypeError(message)

    return read
