"""Arguments that several commands share: error output, the options that name a log, and the types of values."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias

from kip848_records.tables import DEFAULT_CLUSTER
from kip848_records.tables.errors import TablesError
from kip848_records.text import printable, similar_hint, similar_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kip848_records.pipeline.options import AuditOptions
    from kip848_records.replay.inputs import ChangedLimit

_UNITS_MS: Final = {"s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

# What argparse says of a value that is none of some choices, and of an option that a command does not have.
_WRONG_CHOICE: Final = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$")
_NAME: Final = re.compile(r"[\w.-]+")
_ADDRESS: Final = re.compile(r"(?!file:)[A-Za-z0-9][A-Za-z0-9.-]*:[0-9]{1,5}(?:/[^/]*)?")
"""A broker's address where a path is expected."""
_UNKNOWN_OPTION: Final = re.compile(r"^unrecognized arguments: (?:.* )?--([^ =]+)")

_SERVER: Final = "--bootstrap-server"

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - argparse has no public name for it
"""The object to which a command adds its parser."""


class Parser(argparse.ArgumentParser):
    """Prints an error as one line and a hint as another, like all other errors."""

    late_argument: str | None = None
    """A list of positional arguments, some of which may follow options, where argparse does not find them."""
    _given: Sequence[str] = ()

    def __init__(self, **named: Any) -> None:  # noqa: ANN401 - of argparse
        # A script that says --max would do something else once there is another option that begins so.
        super().__init__(**named, allow_abbrev=False)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Let the command reject unknown arguments: the help of `kip848` itself does not list its options."""
        self._given = _as_ours(sys.argv[1:] if args is None else args)
        known, unknown = super().parse_known_args(self._given, namespace)
        late = self.late_argument
        if late is not None and not any(each.startswith("-") for each in unknown):
            setattr(known, late, [*getattr(known, late), *unknown])
            unknown = []
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """Print the error and its hint, and exit with code 2."""
        hint = self._hint_of_dashes(message) or self._hint_of_names(message) or f"see {self.prog} --help"
        self.exit(2, f"error: {printable(message)}\nhint: {printable(hint)}\n")

    def _hint_of_names(self, message: str) -> str | None:
        """Return the names that the user may have meant, if an option, a command or a value is none of ours."""
        if choice := _WRONG_CHOICE.search(message):
            hint = similar_hint(choice[1], _NAME.findall(choice[2]))
        elif option := _UNKNOWN_OPTION.search(message):
            # Two dashes that all have in common would make all similar.
            found = similar_names(option[1], (name[2:] for name in self._option_string_actions))
            hint = f"similar: {', '.join(f'--{name}' for name in found)}" if found else None
        else:
            hint = None
        return hint and f"{hint}; see {self.prog} --help"

    def _hint_of_dashes(self, message: str) -> str | None:
        """Return how to write a value that begins with a dash, if argparse took that value for an option."""
        if not (option := re.match(r"argument (--[a-z-]+): expected one argument$", message)):
            return None
        for name, value in itertools.pairwise(self._given):
            if name == option[1] and value.startswith("-") and value not in self._option_string_actions:
                return f"write a value that begins with a dash as {name}={shlex.quote(value)}"
        return None


def _as_ours(given: Sequence[str]) -> list[str]:
    """Return the arguments with ours for two that the hands of many users know: Kafka's own tools take them."""
    found: list[str] = []
    for each in given:
        name, equals, value = each.partition("=")
        if found and found[-1] == _SERVER and not each.startswith("-"):
            found[-1] = f"kafka://{each}"
        elif name == _SERVER and equals:
            found.append(f"kafka://{value}")
        elif name == "--command-config":
            found.append(f"--kafka-config{equals}{value}")
        else:
            found.append(each)
    return found


def add_source(command: Parser, metavar: str = "SOURCE", besides: str = "", *, at_least: int = 1) -> None:
    """Add the options that read a log: its `sources` (`besides`: other values), their format, and `debug`.

    `brokers`: the client of a live topic, once `before_spark.check_topics` has opened it. `copies`: those on this
    machine, once `before_spark.check_log` has listed them.
    """
    command.set_defaults(brokers=None, copies=())
    if not at_least:
        command.late_argument = "sources"
    from kip848_records.protocol.messages import AUTO, DIALECTS, KAFKA

    command.add_argument(
        "sources",
        nargs="+" if at_least else "*",
        default=[],
        type=given_path if at_least else str,
        metavar=metavar,
        help=f"{besides}segment files (a file, a partition's folder, a broker's data folder or a folder of several of "
        "those), or rows of Spark's Kafka source as Parquet, Delta or JSON lines; several sources are copies of one "
        "log; or the live topic, kafka://host:port[,host:port...][/__consumer_offsets]",
    )
    command.add_argument(
        "--format",
        metavar="FORMAT",
        help="format of SOURCE, if its file names do not show it: segments, parquet, delta or json",
    )
    command.add_argument(
        "--dialect",
        choices=(*DIALECTS, AUTO),
        default=KAFKA.name,
        help=f"dialect of the records; {KAFKA.name} is 3.8 and later, auto is what decodes most of them ({KAFKA.name})",
    )
    command.add_argument(
        _SERVER, metavar="HOST:PORT", help="instead of SOURCE: kafka://HOST:PORT, as Kafka's own tools take it"
    )
    command.add_argument(
        "--kafka-config",
        type=given_path,
        metavar="FILE",
        help="client.properties for a live topic, as Kafka's own tools take it: security, timeouts; values may "
        "refer to ${env:NAME} and ${file:/path:key}; --command-config is the same",
    )
    add_debug(command)


def check_source(arguments: argparse.Namespace) -> None:
    """Raise InputError if an option does not fit the `sources`, or a live topic has a bad URL or is one of several."""
    from kip848_records.sources.topic.address import is_topic, parse_url
    from kip848_records.sources.topic.errors import TopicError

    topics = [source for source in arguments.sources if is_topic(source)]
    for url in topics:
        parse_url(url)
    for source in arguments.sources:
        if _ADDRESS.fullmatch(source) and not Path(source).exists():
            broker, _, topic = source.partition("/")
            raise TopicError(
                f"there is no file {source}, and a live topic is named by a URL",
                f"did you mean kafka://{broker}/{topic or '__consumer_offsets'}?",
            )
    if not topics and arguments.kafka_config is not None:
        raise TopicError(
            f"--kafka-config is for a live topic, but {', '.join(arguments.sources)} is not one",
            "omit --kafka-config, or pass a kafka:// URL",
        )
    if topics and arguments.format is not None:
        raise TopicError(f"--format is for files, but {topics[0]} is a live topic", "omit --format")
    if topics and len(arguments.sources) > 1:
        raise TopicError.not_alone(topics[0])


def add_capture(command: Parser) -> None:
    """Add the facts about a log: `topics`, `end_offsets`, `captured_at`, `offsets_retention` and `config`.

    `options`: those of an audit, once `before_spark.check_capture` has read the files that these name.
    """
    command.set_defaults(needs_commits=False, options=None)
    command.add_argument(
        "--topics", type=given_path, metavar="FILE", help='topic names, as JSON: {"<topic id>": "<name>", ...}'
    )
    command.add_argument(
        "--end-offsets",
        type=given_path,
        metavar="FILE",
        help="with --offset-commits: where the groups' topics end, as kafka-get-offsets.sh prints it, asked before the "
        "log was copied; the time of the file counts",
    )
    command.add_argument(
        "--captured-at",
        type=zoned_time,
        metavar="TIME",
        help="when the log was copied, ISO 8601, UTC if it has no zone (default: the newest time in the log)",
    )
    command.add_argument(
        "--offsets-retention",
        type=duration_ms,
        metavar="TIME",
        help="with offset commits: how long the brokers keep an offset after its last commit, such as 7d or 10080min "
        "(default: what the broker of a live topic says, else 7d)",
    )
    command.add_argument(
        "--config",
        type=given_path,
        metavar="FILE",
        help="TOML with limits that differ from the defaults: for the diagnosis of a log, and for expectations",
    )


def audit_options(arguments: argparse.Namespace) -> AuditOptions:
    """Return the audit's options by the arguments of `add_source` and `add_capture`, without a location of tables.

    Raises InputError for a file that is not what its option needs.
    """
    from kip848_records.pipeline.end_offsets import read_end_offsets
    from kip848_records.pipeline.names import read_topics_file
    from kip848_records.pipeline.options import AuditOptions
    from kip848_records.protocol.messages import KAFKA

    return AuditOptions(
        sources=tuple(arguments.sources),
        out="",
        source_format=arguments.format,
        dialect=arguments.dialect or KAFKA.name,
        cluster=DEFAULT_CLUSTER if arguments.cluster is None else arguments.cluster,
        topics=read_topics_file(arguments.topics) if arguments.topics else None,
        captured_at=arguments.captured_at,
        kafka_config=arguments.kafka_config,
        limits=_limits(arguments.config),
        offsets_retention_ms=arguments.offsets_retention,
        end_offsets=read_end_offsets(arguments.end_offsets) if arguments.end_offsets else (),
    )


def _limits(path: str | None) -> tuple[ChangedLimit, ...]:
    if path is None:
        return ()
    from kip848_records.config import load_limits

    return load_limits(path)


def add_topic_content(command: Parser, of_logs: str = "") -> None:
    """Add `topic_content`: what the audit counts besides. `of_logs`: said in front, where there may be no audit."""
    command.add_argument(
        "--topic-content",
        action="store_true",
        help=f"{of_logs}also count what is in __consumer_offsets by key, group and topic, as kip848 topic does",
    )


def add_schema(command: Parser) -> None:
    """Add `catalog` and `schema`, which name the location of tables instead of a folder."""
    command.add_argument("--catalog", metavar="NAME", help="catalog of the schema with the tables, instead of a folder")
    command.add_argument("--schema", metavar="NAME", help="the schema, which must exist")


def add_expectations(command: Parser) -> None:
    """Add `expectations`, for commands that evaluate expectations."""
    command.add_argument(
        "--expectations", type=given_path, metavar="DIR", help="a folder with your own expectations, SQL files"
    )


def add_release(command: Parser, what: str) -> None:
    """Add `release`: a release of Kafka, which need not be one that was tried."""
    command.add_argument(
        "--release",
        type=_release,
        metavar="RELEASE",
        help=f"{what}, such as 4.1.1; 3.9.1-old is the default coordinator of 3.9",
    )


def _release(text: str) -> str:
    from kip848_records.replay.refusals import TRIED, loader

    if loader(text) is None:
        message = f"{text!r} is not a release of Kafka from 3.5 on, such as 4.1.1; tried: {', '.join(TRIED)}"
        raise argparse.ArgumentTypeError(message)
    return text


def add_scratch(command: Parser) -> None:
    """Add `scratch`, for commands that write tables into a schema."""
    command.add_argument(
        "--scratch",
        type=given_path,
        metavar="DIR",
        help="with --catalog: a scratch folder for intermediate files, such as one in a volume",
    )


def check_scratch(arguments: argparse.Namespace, tables: str) -> None:
    """Raise InputError if tables in a schema, which `place` returned, have no scratch folder."""
    if arguments.catalog is not None:
        from kip848_records.tables.location import work_folder

        work_folder(tables, arguments.scratch)


def place(arguments: argparse.Namespace, folder: str | None, what: str) -> str:
    """Return the location of the tables: `folder` (called `what`) or a schema. Raises InputError for both or none."""
    catalog, schema = arguments.catalog, arguments.schema
    if folder is not None and is_schema_named(arguments):
        raise TablesError(
            f"the tables are in a schema or in a folder, but {folder} was named too",
            "omit it, or --catalog and --schema",
        )
    if (catalog is None) != (schema is None):
        raise TablesError("--catalog and --schema belong together", "pass both, or neither")
    if catalog is not None:
        from kip848_records.tables.location import schema_location

        return schema_location(catalog, schema)
    if folder is None:
        raise TablesError("no table location given", f"pass {what}, or --catalog and --schema")
    return folder


def is_schema_named(arguments: argparse.Namespace) -> bool:
    """Return whether an option of `add_schema` is given: then no folder of tables is."""
    return arguments.catalog is not None or arguments.schema is not None


def add_debug(command: Parser) -> None:
    """Add `debug`, which every command has."""
    command.add_argument("--debug", action="store_true", help="show the stack trace of an error")


def add_quiet(command: Parser, besides: str = "") -> None:
    """Add `quiet`, for commands that show progress."""
    command.add_argument("--quiet", action="store_true", help=f"show no progress{besides}")


def given_path(text: str) -> str:
    """Return a path, the user's home for `~`: shells leave it as it is behind `--out=`, and in quotes.

    An empty one is refused: an unset shell variable would mean the current folder.
    """
    if text:
        return os.path.expanduser(text)  # noqa: PTH111 - a Path would drop the last slash, and one of `file://`
    message = "the path is empty"
    raise argparse.ArgumentTypeError(message)


class Limit(NamedTuple):
    """How many of something are allowed, as a number or a percentage of all."""

    text: str
    number: float
    is_percentage: bool

    def is_exceeded(self, count: int, of: int) -> bool:
        """Return whether a count of so many is more than is allowed."""
        return count > (self.number * of / 100 if self.is_percentage else self.number)


def limit(text: str) -> Limit:
    """Return a number or a percentage: `100`, `0.5%`."""
    found = re.fullmatch(r"([0-9]{1,12})|((?:100(?:\.0{1,6})?|[0-9]{1,2}(?:\.[0-9]{1,6})?)%)", text)
    if found is None:
        message = f"{text!r} is neither a number nor a percentage such as 0.5%"
        raise argparse.ArgumentTypeError(message)
    return Limit(text, float(text.rstrip("%")), found[2] is not None)


def zoned_time(text: str) -> datetime:
    """Return an ISO 8601 time with its zone, UTC by default."""
    try:
        time = datetime.fromisoformat(re.sub("z$", "Z", text))
    except ValueError:
        message = f"{text!r} is not a time such as 2026-11-21T08:00:00Z"
        raise argparse.ArgumentTypeError(message) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def duration_ms(text: str) -> int:
    """Return a duration in ms. It has a unit: a bare number is one of minutes for Kafka, and of seconds for others."""
    if (found := re.fullmatch(r"([0-9]{1,9})(s|min|h|d)", text)) and int(found[1]):
        return int(found[1]) * _UNITS_MS[found[2]]
    message = f"{text!r} is not a time such as 7d, 36h, 10080min or 60s"
    raise argparse.ArgumentTypeError(message)


def key_type(text: str) -> int:
    """Return the type of a record, which is an int16 in its key."""
    if re.fullmatch(r"-?[0-9]{1,5}", text) and -(1 << 15) <= int(text) < 1 << 15:
        return int(text)
    message = f"{text!r} is not a record type, an int16"
    raise argparse.ArgumentTypeError(message)


def int32(what: str) -> Callable[[str], int]:
    """Return a parser for a non-negative number that Kafka or Spark stores in 32 bits."""

    def read(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,10}", text) and int(text) < 1 << 31:
            return int(text)
        message = f"{text!r} is not {what}: 0 to 2147483647"
        raise argparse.ArgumentTypeError(message)

    return read
