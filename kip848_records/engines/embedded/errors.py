"""Errors of the embedded engine that a user can fix: most have another engine as their way out."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final, Self

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPARK = "use --engine spark"
_TRUNCATED: Final = getattr(signal, "SIGBUS", 7)  # Windows has none


class EngineError(InputError):
    """Something that the embedded engine cannot do."""

    @classmethod
    def worker_ended(cls, code: int) -> Self:
        """A worker process ended without an error of its own, mostly because the system killed it."""
        if code == -_TRUNCATED:
            return cls(
                "a file became shorter while it was read, as its broker truncated it, or a disk failed",
                "read it again, or copy the log first",
            )
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return cls(
            f"a worker process ended with {how}, perhaps for want of memory",
            f"free some memory and try again, or {_SPARK}",
        )

    @classmethod
    def long_line(cls, path: str) -> Self:
        """A line is longer than an array of Arrow may be, such as a whole dump as one array of JSON."""
        return cls(f"{path} has a line of about 2 GiB", "write one JSON object a line: jq -c '.[]' does so")

    @classmethod
    def other_file_system(cls, path: str) -> Self:
        """A path is not on this machine."""
        return cls(f"the embedded engine reads and writes files of this machine, and {path} is none", _SPARK)

    @classmethod
    def path_for_tables(cls, path: str, characters: Iterable[str]) -> Self:
        """delta-rs reads some characters of paths as those of a URL."""
        named = " and ".join(sorted(characters))
        return cls(f"delta-rs cannot write tables in {path}, because of {named} in its path", f"rename it, or {_SPARK}")

    @classmethod
    def table_features(cls, path: str, features: Iterable[str]) -> Self:
        """A table has features that delta-rs does not know."""
        return cls(
            f"the table {path} has the Delta feature {', '.join(sorted(features))}, which delta-rs lacks", _SPARK
        )

    @classmethod
    def table_not_opened(cls, path: str, reason: str) -> Self:
        """delta-rs cannot open a table."""
        return cls(f"delta-rs cannot open the table {path}: {reason}", _SPARK)

    @classmethod
    def compression(cls, path: str, ending: str) -> Self:
        """Lines are compressed by a codec that only Spark reads."""
        return cls(
            f"the embedded engine cannot decompress {ending} files such as {path}", f"decompress it, or {_SPARK}"
        )
