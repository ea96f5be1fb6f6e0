"""What a user can put right: errors of one line each, ending in a hint.

Bad rows are data (quarantine) and bugs are ordinary exceptions; only what the caller can mend is
a `Kip848Error`. Each is built by a named constructor, so that a message is worded in one place.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, ClassVar

from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from typing_extensions import Self

_SOURCES = (
    "a broker's data folder, a __consumer_offsets-<partition> folder, a segment file in one, "
    "or rows of Spark's Kafka source saved as Parquet, Delta or JSON lines"
)


class Kip848Error(Exception):
    """A problem that the user can solve.

    `message` says what is wrong, `hint` what to do about it; `str()` joins both in one line.
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
    def path_not_found(cls, path: str) -> Self:
        """Nothing is at `path`."""
        return cls(f"there is nothing at {path}", f"expected {_SOURCES}")

    @classmethod
    def empty_folder(cls, path: str) -> Self:
        """`path` holds no file of the format that is looked for."""
        return cls(f"{path} holds no files to read", f"expected {_SOURCES}")

    @classmethod
    def no_file_of_format(cls, path: str, name: str) -> Self:
        """`path` holds files, but none of the format that the user named."""
        return cls(
            f"{path} holds no files of the format {name}", "name the format that they are of, or leave out --format"
        )

    @classmethod
    def colon_in_path(cls, path: str) -> Self:
        """Hadoop refuses to look for a pattern below a folder with a colon in its name."""
        return cls(
            f"{path} has a colon in it, below which Spark finds no __consumer_offsets-<partition> folders",
            "rename the folder, or name one partition's folder",
        )

    @classmethod
    def not_delta(cls, path: str) -> Self:
        """There is no `_delta_log` at `path`."""
        return cls(f"{path} is no Delta table", f"expected {_SOURCES}")

    @classmethod
    def tables_not_log(cls, path: str) -> Self:
        """What was made of a log lies at `path`."""
        return cls(
            f"{path} holds the tables of an audit, not a log",
            "name the log that was audited; kip848 check, explain and report take tables, a folder at a time",
        )

    @classmethod
    def tables_in_dump(cls, out: str, dump: str) -> Self:
        """Spark reads a dump's whole folder, and would find the tables in it the next time."""
        return cls(f"tables in {out} would lie in the dump {dump}", "name a folder beside it with --out")

    @classmethod
    def mixed_folders(cls, path: str) -> Self:
        """Spark takes folders of names with `=` for columns, and others of the same folder do not have them."""
        return cls(
            f"{path} holds folders that cannot be read together",
            "name the folder of one dump, in which there is nothing else; several are copies of one log",
        )

    @classmethod
    def not_a_source(cls, path: str, formats: Iterable[str]) -> Self:
        """The files at `path` have names of no known kind."""
        return cls(
            f"{path} is no dump of __consumer_offsets by its file names",
            f"expected {_SOURCES}; if it is one, name its format with --format {'|'.join(formats)}",
        )

    @classmethod
    def unknown_format(cls, name: str, formats: Iterable[str]) -> Self:
        """There is no format of that name."""
        return cls(f"there is no format '{name}'", f"use one of {', '.join(formats)}")

    @classmethod
    def unknown_dialect(cls, name: str, dialects: Iterable[str]) -> Self:
        """There is no dialect of that name."""
        return cls(f"there is no dialect '{name}'", f"use one of {', '.join(dialects)}")

    @classmethod
    def unreadable(cls, path: str) -> Self:
        """A file has the right name, but Spark cannot read what is in it."""
        return cls(
            f"{path} cannot be read: it is damaged, cut short or of another format",
            f"copy it anew; expected {_SOURCES}",
        )

    @classmethod
    def not_opened(cls, path: str, reason: str | None) -> Self:
        """The system does not let this user have a file, or cannot get at it."""
        return cls(
            f"{path} cannot be read: {reason}",
            "read it as a user who may, or copy it anew to a folder of yours",
        )

    @classmethod
    def missing_columns(cls, path: str, missing: Iterable[str], needed: Iterable[str]) -> Self:
        """A dump lacks columns of the Kafka source."""
        return cls(
            f"{path} has no column {', '.join(missing)}",
            f"a dump needs the Kafka source's columns {', '.join(needed)}",
        )

    @classmethod
    def mistyped_column(cls, path: str, column: str, found: str, expected: str) -> Self:
        """A column of a dump has a type that the Kafka source's does not have."""
        return cls(
            f"column {column} of {path} is {found}, not {expected}",
            "save the rows as Spark's Kafka source gives them, without casts",
        )

    @classmethod
    def not_a_segment(cls, path: str) -> Self:
        """A file's name does not say which partition it is of, and from which offset on."""
        return cls(
            f"{path} is no segment of __consumer_offsets by its name",
            "expected __consumer_offsets-<partition>/<base offset>.log, as brokers call them",
        )

    @classmethod
    def out_of_memory(cls) -> Self:
        """The JVM's heap is too small for what it reads: whole files, but for local ones."""
        return cls(
            "Spark ran out of memory while it read the source",
            "raise spark.driver.memory, or spark.executor.memory on a cluster; "
            "or copy segment files to a local folder, from where no file is held in memory as a whole",
        )

    @classmethod
    def segment_too_large(cls, path: str) -> Self:
        """Spark hands over whole files of any file system but the local one, up to a size."""
        return cls(f"{path} is larger than 1 GiB, the most that can be read from there", "copy it to a local folder")

    @classmethod
    def bad_topics_file(cls, path: str, reason: str) -> Self:
        """The topics file cannot be read."""
        return cls(f"{path} is no topics file: {reason}", 'expected JSON: {"<topic id>": "<topic name>", ...}')

    @classmethod
    def bad_config(cls, path: str, reason: str) -> Self:
        """A configuration cannot be read, or says what cannot be."""
        return cls(f"{path} is no configuration: {reason}", "conf/audit.toml has every setting, and what it means")

    @classmethod
    def no_file(cls, path: str, reason: str | None) -> Self:
        """Results cannot be written to a file."""
        return cls(
            f"results cannot be written to {path}: {reason}", "name a file in a folder that is there, for each kind"
        )

    @classmethod
    def not_writable(cls, out: str, reason: str | None) -> Self:
        """Nothing can be written below `out`."""
        return cls(f"nothing can be written to {out}: {reason}", "name a folder that is yours with --out, new or not")

    @classmethod
    def disk_full(cls, out: str) -> Self:
        """There is no room left where tables are written, or where Spark keeps what it sorts."""
        return cls(
            f"there is no space left on the disk for {out}, or for what Spark sorts (spark.local.dir)",
            "make room and run it again: tables are changed as a whole, or not at all",
        )

    @classmethod
    def checkpoint_of_copy(cls) -> Self:
        """Only a stream has a checkpoint."""
        return cls("--checkpoint is for a live topic", "leave it out for a copy of the log")

    @classmethod
    def captured_before_its_end(cls, captured_at: datetime, newest: datetime) -> Self:
        """The user's time of the copy is before what the copy holds: every age would be negative."""
        return cls(
            f"the log was not copied at {captured_at.isoformat()}: its newest record is of {newest.isoformat()}",
            "give --captured-at the time of the copy with its zone, or leave it out for the newest record's",
        )

    @classmethod
    def captured_in_future(cls, captured_at: datetime, now: datetime) -> Self:
        """The user's time is yet to come: every age would be too high, and retention would remove too much."""
        return cls(
            f"the topic was not read at {captured_at.isoformat()}: it is {now.isoformat(timespec='seconds')} now",
            "leave --captured-at out for the newest record's time, or give one that has been, with its zone",
        )

    @classmethod
    def not_simulated(cls, name: str, value: float, low: float, high: float) -> Self:
        """A number of a simulation is too small or too large, or no number."""
        limits = f"between {low:,} and {high:,}" if high < inf else f"of at least {low:,}"
        return cls(f"cannot simulate {name} = {value:,}", f"choose {name} {limits}")

    @classmethod
    def unknown_release(cls, name: str, releases: Iterable[str]) -> Self:
        """Kafka's coordinator of that release is not simulated."""
        return cls(f"there is no simulation of Kafka {name}", f"choose one of {', '.join(releases)}")

    @classmethod
    def simulated_before(cls, out: str) -> Self:
        """A simulation would mix its partitions with those of another."""
        return cls(f"there is a log in {out} already", "name another folder with --out, or remove that one")

    @classmethod
    def no_rows(cls, path: str, reason: str | None) -> Self:
        """Nothing could be read, or there was nothing to read."""
        what = f"no record could be read from {path}" + (f": {reason}" if reason else "")
        return cls(what, "if that is expected, kip848 audit --allow-empty takes it")

    @classmethod
    def no_records(cls, path: str, reason: str | None) -> Self:
        """As `no_rows`, where there is no option to accept that."""
        return cls(cls.no_rows(path, reason).message, f"expected {_SOURCES}")


class FailedError(Kip848Error):
    """What the user asked to be told of by the exit code; everything was done all the same."""

    exit_code = 1

    @classmethod
    def too_many_quarantined(cls, quarantined: int, records: int, limit: str) -> Self:
        """More rows did not decode than the user takes."""
        return cls(
            f"{quarantined:,} of {records:,} rows were quarantined, more than --max-quarantined {limit}",
            "the table quarantine has them, each with the reason",
        )


class UnexpectedError(Kip848Error):
    """Anything that is not the user's to mend, as far as we know: Spark, the disk, a bug of ours."""

    exit_code = 1

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Wrap any exception; its first line says what happened, and where it brings a worker's traceback its last."""
        lines = [line for line in str(error).splitlines() if line.strip()] or ["no message"]
        told = lines[-1] if "Traceback (most recent call last):" in lines else lines[0]
        return cls(f"{type(error).__name__}: {told}", "--debug shows where it happened")


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
