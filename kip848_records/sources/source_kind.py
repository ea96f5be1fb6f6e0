"""The interface of a kind of source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.sources.listing import Copy


@dataclass(frozen=True)
class ReadOptions:
    """Which records become rows.

    Without `offset_commits` these are skipped, and counted in the rows of files. Without `aborted` so are the records
    of transactions that are known to be aborted. Without `coverage`, sources that would have to scan all rows for it
    return no coverage. With `by_key` the coverage has what is in it by key.
    """

    offset_commits: bool = True
    aborted: bool = True
    coverage: bool = False
    by_key: bool = False


class CopyRows(NamedTuple):
    """The rows of a copy (`specs.log_columns.COPY_COLUMNS`) with the coverage rows of its files.

    `may_overlap`: whether the rows may hold the same offset twice; true without `ReadOptions.coverage`.
    """

    rows: Relation
    may_overlap: bool


class Read(Protocol):
    """A function that reads copies of one kind."""

    def __call__(self, engine: Engine, copy: Copy, options: ReadOptions) -> CopyRows:
        """Return the rows of a copy. Raises InputError if the copy does not match its kind."""


@dataclass(frozen=True)
class SourceKind:
    """How to read one kind of copies.

    `read`: see `Read`. `local_keys`: yields the keys of a file on this machine, as columns (binary); None if only an
    engine reads them.
    """

    read: Read
    local_keys: Callable[[str], Iterator[pa.Array]] | None
