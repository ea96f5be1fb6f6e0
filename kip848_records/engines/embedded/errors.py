"""Errors of the embedded engine that a user can fix: most have another engine as their way out."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final, Self

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

USE_SPARK = "use --engine spark"
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
            f"free some memory and try again, or {USE_SPARK}",
        )

    @classmethod
    def path_for_tables(cls, path: str, characters: Iterable[str]) -> Self:
        """delta-rs reads some characters of paths as those of a URL."""
        named = " and ".join(sorted(characters))
        return cls(
            f"delta-rs cannot write tables in {path}, because of {named} in its path", f"rename it, or {USE_SPARK}"
        )
