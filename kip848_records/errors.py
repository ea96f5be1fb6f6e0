"""Errors that the user can fix: one line each, with a hint.

Bad rows are data (quarantine) and bugs are ordinary exceptions; a `Kip848Error` is a problem that the caller can fix.
A message is written where the error is raised; one that several places raise has a named constructor.
"""

from __future__ import annotations

from errno import ENOENT
from math import inf
from os import strerror
from typing import TYPE_CHECKING, ClassVar, Self

from kip848_records.text import printable, similar_hint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


EXPECTED_SOURCES = (
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
        expected = (
            f"expected {'the folder of the tables of an audit, or a log: ' if or_tables else ''}{EXPECTED_SOURCES}"
        )
        near = similar_hint(path.rstrip("/").rpartition("/")[2], beside)
        return cls(f"there is nothing at {path}", near or expected)

    @classmethod
    def not_delta(cls, path: str) -> Self:
        """There is no `_delta_log` at `path`."""
        return cls(f"{path} is not a Delta table", f"expected {EXPECTED_SOURCES}")

    @classmethod
    def output_at_source(cls, option: str, output: str, relation: str, source: str) -> Self:
        """The next run would read the output as part of the source, or the output would overwrite the source."""
        return cls(f"{option} {output} {relation} the source {source}", f"pass a folder outside of it with {option}")

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
    def unreadable(cls, path: str) -> Self:
        """The name of a file is correct, but its content cannot be read."""
        return cls(
            f"{path} cannot be read: it is damaged, truncated or of another format",
            f"copy it again; expected {EXPECTED_SOURCES}",
        )

    @classmethod
    def not_opened(cls, path: str, reason: str | None) -> Self:
        """The operating system refuses access to a file, cannot reach it, or has it no more since it was listed."""
        is_gone = reason == strerror(ENOENT)
        return cls(
            f"{path} cannot be read: {reason}",
            "a running broker removes files that its cleaner merged: try again, or copy the log first"
            if is_gone
            else "read it as a user with permission, or copy it to a folder of your own",
        )

    @classmethod
    def missing_columns(cls, path: str, missing: Iterable[str], needed: Iterable[str]) -> Self:
        """A dump lacks columns of Spark's Kafka source."""
        return cls(
            f"{path} has no column {', '.join(missing)}",
            f"a dump needs the Kafka source's columns {', '.join(needed)}; if they are in a folder below, pass that",
        )

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
    def no_rows(cls, path: str, reason: str | None) -> Self:
        """No row could be read, or the source is empty."""
        what = f"no record could be read from {path}" + (f": {reason}" if reason else "")
        return cls(what, "if that is expected, pass --allow-empty to kip848 audit")


class FailedError(Kip848Error):
    """A condition that the user asked to see as an exit code; the command completed its work."""

    exit_code = 1


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
