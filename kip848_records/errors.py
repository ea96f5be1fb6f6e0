"""Errors that the user can fix: one line each, with a hint.

Bad rows are data (quarantine) and bugs are ordinary exceptions; a `Kip848Error` is a problem that the caller can fix.
Named constructors build the errors, so that each message is written in one place.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, ClassVar, Self

from kip848_records.text import printable, similar_hint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


_SOURCES = (
    "a broker's data folder, a __consumer_offsets-<partition> folder, a segment file in one, "
    "or rows of Spark's Kafka source saved as Parquet, Delta or JSON lines"
)


class Kip848Error(Exception):
    """A problem that the user can solve.

    `message` says what is wrong, `hint` what to do about it; `str()` joins both in one line. `exit_code` is that of a
    command.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = _one_line(message)
        self.hint = _one_line(hint)

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


class InputError(Kip848Error):
    """An argument or an input that cannot be used."""

    @classmethod
    def path_not_found(cls, path: str, beside: Iterable[str] = (), *, or_tables: bool = False) -> Self:
        """Nothing exists at `path`. `beside`: the names in its folder. `or_tables`: those of an audit would do, too."""
        expected = f"expected {'the folder of the tables of an audit, or a log: ' if or_tables else ''}{_SOURCES}"
        near = similar_hint(path.rstrip("/").rpartition("/")[2], beside)
        return cls(f"there is nothing at {path}", near or expected)

    @classmethod
    def empty_folder(cls, path: str) -> Self:
        """`path` holds no file of the expected format."""
        return cls(f"{path} holds no files to read", f"expected {_SOURCES}")

    @classmethod
    def no_file_of_format(cls, path: str, name: str) -> Self:
        """`path` holds files, but none of the format that the user named."""
        return cls(f"{path} holds no files of the format {name}", "pass the format of the files, or omit --format")

    @classmethod
    def colon_in_path(cls, path: str) -> Self:
        """Hadoop cannot apply a pattern below a folder with a colon in its name."""
        return cls(
            f"{path} contains a colon, so Spark cannot find __consumer_offsets-<partition> folders below it",
            "rename the folder, or pass the folder of one partition",
        )

    @classmethod
    def not_delta(cls, path: str) -> Self:
        """There is no `_delta_log` at `path`."""
        return cls(f"{path} is not a Delta table", f"expected {_SOURCES}")

    @classmethod
    def tables_not_log(cls, path: str) -> Self:
        """`path` holds the tables of an audit instead of a log."""
        return cls(
            f"{path} holds the tables of an audit, not a log",
            "pass the log that was audited; kip848 check, explain and report take one folder of tables",
        )

    @classmethod
    def output_at_source(cls, option: str, output: str, relation: str, source: str) -> Self:
        """The next run would read the output as part of the source, or the output would overwrite the source."""
        return cls(f"{option} {output} {relation} the source {source}", f"pass a folder outside of it with {option}")

    @classmethod
    def output_in_table(cls, option: str, output: str, table: str) -> Self:
        """Delta removes what it does not know from the folder of a table."""
        return cls(f"{option} {output} lies in the Delta table {table}", f"pass a folder outside of it with {option}")

    @classmethod
    def output_in_broker_folder(cls, option: str, output: str, folder: str, found: str) -> Self:
        """A broker does not start if its data folder contains folders that are not partitions."""
        return cls(
            f"{option} {output} lies in the data folder of a Kafka broker: {folder} has {found}",
            f"pass a folder outside of it with {option}: the broker does not start with other folders in it",
        )

    @classmethod
    def mixed_folders(cls, path: str, folders: Iterable[str]) -> Self:
        """Spark reads folder names with `=` as partition columns, which the other folders do not have."""
        return cls(
            f"{path} holds folders that cannot be read together: {', '.join(sorted(folders))}",
            "pass one of them; several sources are read as copies of one log",
        )

    @classmethod
    def not_a_source(cls, path: str, formats: Iterable[str]) -> Self:
        """The file names at `path` match no known format."""
        return cls(
            f"{path} is not a dump of __consumer_offsets: its file names match no format",
            f"expected {_SOURCES}; if it is one, pass its format with --format {'|'.join(formats)}",
        )

    @classmethod
    def unknown_format(cls, name: str, formats: Iterable[str]) -> Self:
        """No format has that name."""
        return cls(f"there is no format '{name}'", f"use one of {', '.join(formats)}")

    @classmethod
    def unknown_dialect(cls, name: str, dialects: Iterable[str]) -> Self:
        """No dialect has that name."""
        return cls(f"there is no dialect '{name}'", f"use one of {', '.join(dialects)}")

    @classmethod
    def unreadable(cls, path: str) -> Self:
        """The name of a file is correct, but its content cannot be read."""
        return cls(
            f"{path} cannot be read: it is damaged, truncated or of another format",
            f"copy it again; expected {_SOURCES}",
        )

    @classmethod
    def not_opened(cls, path: str, reason: str | None) -> Self:
        """The operating system refuses access to a file, or cannot reach it."""
        return cls(
            f"{path} cannot be read: {reason}",
            "read it as a user with permission, or copy it to a folder of your own",
        )

    @classmethod
    def became_shorter(cls, path: str) -> Self:
        """A broker that follows another leader truncates its log."""
        return cls(
            f"{path} cannot be read: it became shorter meanwhile, as its broker truncated it",
            "read it again, or copy the log first",
        )

    @classmethod
    def missing_columns(cls, path: str, missing: Iterable[str], needed: Iterable[str]) -> Self:
        """A dump lacks columns of Spark's Kafka source."""
        return cls(
            f"{path} has no column {', '.join(missing)}",
            f"a dump needs the Kafka source's columns {', '.join(needed)}",
        )

    @classmethod
    def mistyped_column(cls, path: str, column: str, found: str, expected: str) -> Self:
        """A column of a dump does not have the type of the Kafka source's column."""
        return cls(
            f"column {column} of {path} is {found}, not {expected}",
            "save the rows as Spark's Kafka source returns them, without casts",
        )

    @classmethod
    def not_a_segment(cls, path: str) -> Self:
        """The name of a file does not give its partition and base offset."""
        return cls(
            f"{path} is not a segment of __consumer_offsets: its name does not match",
            "expected __consumer_offsets-<partition>/<base offset>.log, as brokers name them",
        )

    @classmethod
    def out_of_memory(cls) -> Self:
        """The JVM heap is too small: Spark holds whole files in memory, unless they are local."""
        return cls(
            "Spark ran out of memory while it read the source",
            "raise spark.driver.memory, or spark.executor.memory on a cluster; "
            "or copy the segment files to a local folder: local files are read in parts",
        )

    @classmethod
    def segment_too_large(cls, path: str) -> Self:
        """Spark reads files of remote file systems as a whole, up to a size limit."""
        return cls(f"{path} is larger than 1 GiB, the limit for remote files", "copy it to a local folder")

    @classmethod
    def bad_topics_file(cls, path: str, reason: str) -> Self:
        """The topics file cannot be read."""
        return cls(f"{path} is not a topics file: {reason}", 'expected JSON: {"<topic id>": "<topic name>", ...}')

    @classmethod
    def bad_end_offsets(cls, path: str, line: int | None, reason: str) -> Self:
        """The file of end offsets cannot be read."""
        place = path if line is None else f"{path}, line {line}"
        return cls(
            f"{place}: no file of end offsets: {reason}",
            "pass what kafka-get-offsets.sh prints: topic:partition:offset, a line each",
        )

    @classmethod
    def end_offsets_without_commits(cls) -> Self:
        """End offsets are given, but nothing is compared with them."""
        return cls("--end-offsets needs --offset-commits", "pass both: committed offsets are compared with end offsets")

    @classmethod
    def bad_config(cls, path: str, reason: str) -> Self:
        """A configuration cannot be read, or contains an invalid value."""
        return cls(
            f"{path} is not a valid configuration: {reason}",
            "see docs/reference/expectations.md for expectations, and docs/reference/diagnosis.md for the diagnosis",
        )

    @classmethod
    def bad_expectation(cls, path: str, reason: str) -> Self:
        """The SQL file of an expectation cannot be read or run."""
        return cls(
            f"{path} is not an expectation: {reason}",
            "see docs/reference/expectations.md for the functions and relations that its SQL may use",
        )

    @classmethod
    def captured_before_its_end(cls, captured_at: datetime, newest: datetime) -> Self:
        """The capture time precedes the newest record, so every age would be negative."""
        return cls(
            f"the log was not copied at {captured_at.isoformat()}: its newest record is from {newest.isoformat()}",
            "pass the time of the copy, with its zone, as --captured-at; or omit it to use the newest record's time",
        )

    @classmethod
    def captured_in_future(cls, captured_at: datetime, now: datetime) -> Self:
        """The capture time is in the future: every age would be too high, and retention would remove too much."""
        return cls(
            f"the log was not read at {captured_at.isoformat()}: it is {now.isoformat(timespec='seconds')} now",
            "omit --captured-at to use the newest record's time, or pass a past time with its zone",
        )

    @classmethod
    def not_simulated(cls, name: str, value: float, low: float, high: float) -> Self:
        """A parameter of a simulation is not a number, too small or too large."""
        limits = f"between {low:,} and {high:,}" if high < inf else f"of at least {low:,}"
        return cls(f"cannot simulate {name} = {value:,}", f"choose {name} {limits}")

    @classmethod
    def unknown_release(cls, name: str, releases: Iterable[str]) -> Self:
        """The simulator does not know the coordinator of that Kafka release."""
        return cls(f"Kafka {name} cannot be simulated", f"choose one of {', '.join(releases)}")

    @classmethod
    def not_in_release(cls, groups: str, options: str, release: str, newest: str) -> Self:
        """Groups of these kinds are simulated as a newer Kafka release writes them."""
        return cls(f"{groups} cannot be simulated with release {release}", f"use --release {newest}, or omit {options}")

    @classmethod
    def simulated_before(cls, out: str) -> Self:
        """The new simulation would add its partitions to those of an earlier one."""
        return cls(f"there is a log in {out} already", "pass another folder with --out, or remove that log")

    @classmethod
    def no_rows(cls, path: str, reason: str | None) -> Self:
        """No row could be read, or the source is empty."""
        what = f"no record could be read from {path}" + (f": {reason}" if reason else "")
        return cls(what, "if that is expected, pass --allow-empty to kip848 audit")

    @classmethod
    def no_records(cls, path: str, reason: str | None) -> Self:
        """As `no_rows`, for commands without an option to accept that."""
        return cls(cls.no_rows(path, reason).message, f"expected {_SOURCES}")


class FailedError(Kip848Error):
    """A condition that the user asked to see as an exit code; the command completed its work."""

    exit_code = 1

    @classmethod
    def too_many_quarantined(cls, quarantined: int, records: int, limit: str) -> Self:
        """More rows failed to decode than the user allows."""
        return cls(
            f"{quarantined:,} of {records:,} rows were quarantined, more than --max-quarantined {limit}",
            "see the table quarantine for the reason of each row",
        )


class UnexpectedError(Kip848Error):
    """A fault of this package, or of what it runs on, such as Spark: neither a result nor a wrong input.

    Its exit code is EX_SOFTWARE of sysexits.h.
    """

    exit_code = 70

    @classmethod
    def of(cls, error: BaseException, what: str = "kip848 itself") -> Self:
        """Wrap any exception: its message is the last line of a worker's traceback, else the first line.

        `what`: which part of this package failed.
        """
        lines = [line for line in str(error).splitlines() if line.strip()] or ["no message"]
        summary = lines[-1] if "Traceback (most recent call last):" in lines else lines[0]
        found = cls(
            f"{what} failed: {type(error).__name__}: {summary}",
            "this is a fault of kip848, not of your input: pass --debug, and report the stack trace as an issue",
        )
        found.__cause__ = error
        return found


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
