"""A live topic that this process reads: the batches of a Fetch response are those of a broker's own files.

They are written one behind the other into files of the scratch folder, named as a broker names its own, and read as
these are: with markers, producers, leader epochs and the gaps of the cleaner.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from shutil import rmtree
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Final

import pyarrow as pa

from kip848_records.protocol.segments.reader import Segment
from kip848_records.protocol.segments.whole_batches import base_offset, offset_behind
from kip848_records.sources.file_coverage import MISSING
from kip848_records.sources.known_keys import check_is_log
from kip848_records.sources.listing import Copy
from kip848_records.sources.predicates import NEWEST_MS
from kip848_records.sources.rows import ROWS_SCHEMA, as_log_rows, of_copy
from kip848_records.sources.segment_rows import segment_files
from kip848_records.sources.segments import read_files
from kip848_records.sources.source_kind import ReadOptions
from kip848_records.sources.topic.live_log import LiveLog, TopicRows
from kip848_records.specs.log_columns import TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kip848_records.engines.embedded.engine import EmbeddedEngine
    from kip848_records.engines.engine import Relation

_FILE_BYTES: Final = 128 << 20
"""The size from which on another file begins, so that several processes share a large partition."""

_RANGES: Final = pa.schema([("place", pa.int32()), ("first", pa.int64()), ("behind", pa.int64())])
_AT: Final = """
SELECT rows.* FROM {rows} AS rows JOIN {ranges} AS ranges ON rows.partition = ranges.place
WHERE rows.file IS NOT NULL OR (rows.offset >= ranges.first AND rows.offset < ranges.behind)
"""
_COVERED: Final = "SELECT rows.partition, rows.file FROM {rows} AS rows WHERE rows.file IS NOT NULL"
_NEWEST: Final = f"SELECT {NEWEST_MS} AS ms FROM {{rows}} AS rows"  # noqa: S608 - a constant


@dataclass(frozen=True)
class FetchedTopic(LiveLog):
    """A topic that is fetched. A partition ends at its high watermark: what an open transaction wrote is read too."""

    engine: EmbeddedEngine
    shows_markers: ClassVar[bool] = True
    _fetched: dict[tuple[tuple[int, tuple[int, int]], ...], _Fetched] = field(default_factory=dict, repr=False)

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> Relation:
        """Return the rows of each partition from one offset to before another, those of aborted transactions too."""
        return self._rows(ranges, offset_commits=True, aborted=True)

    def stage(self, ranges: Mapping[int, tuple[int, int]], *, offset_commits: bool, by_key: bool = False) -> TopicRows:
        """Read the rows to keep once; rows of files count the others. An offset commit that is dropped is no row.

        Offsets that are missing behind a repeated key were lost, or the cleaner came between two requests. So such a
        partition is fetched once more: what was lost is missing again.
        """
        engine, fetched = self.engine, self._fetch(ranges)
        rows, files = self._staged(ranges, offset_commits=offset_commits, by_key=by_key)
        torn = {partition: ranges[partition] for partition, theirs in files.items() if _lacks_offsets(theirs)}
        if torn:
            fetched.forget(torn)
            self.brokers.fetch(torn, fetched.write)
            fetched.close()
            rows, files = self._staged(ranges, offset_commits=offset_commits, by_key=by_key)
        newest = engine.collect(engine.sql(_NEWEST, rows=rows))
        return TopicRows(
            rows,
            seen={partition: sum(_records(each) for each in theirs) for partition, theirs in files.items()},
            gapless=frozenset(p for p, (_, until) in ranges.items() if _is_gapless(files.get(p, []), until)),
            first_repeated={p: at for p, theirs in files.items() if (at := _first_repeated(theirs)) is not None},
            last_ms=fetched.last_ms(),
            newest_ms=newest[0].ms,
        )

    def check_is_log(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        """Raise InputError for a topic other than `__consumer_offsets`."""
        fetched = self._fetch(ranges)
        check_is_log(self.engine, [Copy(self.name, "segments", fetched.files)] if fetched.files else [])

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which rows can be read. The client's failures are errors for the user already."""
        return nullcontext()

    def _staged(
        self, ranges: Mapping[int, tuple[int, int]], *, offset_commits: bool, by_key: bool
    ) -> tuple[Relation, dict[int, list[Mapping[str, Any]]]]:
        """Return the rows to keep, and what the files of each partition cover."""
        engine = self.engine
        found = self._rows(ranges, offset_commits=offset_commits, aborted=False, by_key=by_key)
        rows = engine.materialize(found, "rows")
        files: dict[int, list[Mapping[str, Any]]] = {}
        for row in engine.collect(engine.sql(_COVERED, rows=rows)):
            files.setdefault(row.partition, []).append(row.file)
        return rows, files

    def _rows(
        self, ranges: Mapping[int, tuple[int, int]], *, offset_commits: bool, aborted: bool, by_key: bool = False
    ) -> Relation:
        engine, fetched = self.engine, self._fetch(ranges)
        files = engine.files(Copy(self.name, "segments", fetched.files))
        options = ReadOptions(offset_commits=offset_commits, aborted=aborted, coverage=True, by_key=by_key)
        read = partial(read_files, segment_files(fetched.files), options, self.name)
        rows = as_log_rows(engine, engine.map(read, files, ROWS_SCHEMA))
        if fetched.is_wider():
            asked = [{"place": place, "first": first, "behind": behind} for place, (first, behind) in ranges.items()]
            rows = engine.sql(_AT, rows=rows, ranges=engine.relation(pa.Table.from_pylist(asked, _RANGES)))
        return of_copy(engine, rows, TOPIC)

    def _fetch(self, ranges: Mapping[int, tuple[int, int]]) -> _Fetched:
        """Fetch these ranges once."""
        key = tuple(sorted(ranges.items()))
        if key not in self._fetched:
            fetched = _Fetched(self.engine.new_folder("fetched"), ranges)
            with closing(fetched):
                self.brokers.fetch(ranges, fetched.write)
            self._fetched[key] = fetched
        return self._fetched[key]


class _Fetched:
    """The files of some ranges of partitions. `ranges`: the first offset of each, and that after its last."""

    def __init__(self, folder: Path, ranges: Mapping[int, tuple[int, int]]) -> None:
        self._folder = folder.absolute()
        self._ranges = ranges
        self._open: dict[int, BinaryIO] = {}
        self._first: dict[int, int] = {}
        self._last: dict[int, bytes] = {}
        self.files: list[str] = []

    def write(self, partition: int, content: memoryview, last_batch: int) -> None:
        """Append whole batches of a partition; the last one begins at the position `last_batch`."""
        base = base_offset(content)
        self._first.setdefault(partition, base)
        file = self._open.get(partition)
        if file is None or file.tell() > _FILE_BYTES:
            begins = min(base, self._ranges[partition][0] if file is None else offset_behind(self._last[partition]))
            file = self._new_file(partition, begins)
        file.write(content)
        self._last[partition] = bytes(content[last_batch:])

    def forget(self, partitions: Iterable[int]) -> None:
        """Delete what was fetched of these partitions."""
        for partition in partitions:
            folder = self._folder / f"{TOPIC}-{partition}"
            self.files = [file for file in self.files if not file.startswith(f"{folder.as_uri()}/")]
            rmtree(folder)
            del self._first[partition], self._last[partition]

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def is_wider(self) -> bool:
        """Return whether a batch is not within its range, as at a log start in a batch, or for one record only."""
        early = any(base < self._ranges[partition][0] for partition, base in self._first.items())
        return early or any(offset_behind(last) > self._ranges[partition][1] for partition, last in self._last.items())

    def last_ms(self) -> dict[int, int]:
        """Return by partition the time of the record at the last offset of its range, if there is one."""
        found = {}
        for partition, batch in self._last.items():
            for columns in Segment(batch, base_offset=None).groups():
                is_last = len(columns) and int(columns.offset[-1]) == self._ranges[partition][1] - 1
                if is_last and not columns.is_control[-1]:
                    found[partition] = int(columns.timestamp[-1])
        return found

    def _new_file(self, partition: int, base_offset: int) -> BinaryIO:
        if (before := self._open.pop(partition, None)) is not None:
            before.close()
        path = self._folder / f"{TOPIC}-{partition}" / f"{base_offset:020}.log"
        path.parent.mkdir(exist_ok=True)
        self.files.append(path.as_uri())
        self._open[partition] = path.open("wb")
        return self._open[partition]


def _records(file: Mapping[str, Any]) -> int:
    return int(file["contents"]["records"])


def _is_gapless(files: Iterable[Mapping[str, Any]], until: int) -> bool:
    """Return whether compaction removed nothing from files, up to an offset. What was lost is in their `unread`."""
    return (
        not any(file["has_gap"] for file in files)
        and max((file["last_offset"] for file in files), default=-1) >= until - 1
    )


def _lacks_offsets(files: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether offsets are missing behind the first repeated key, in its file or in a later one."""
    repeated = _first_repeated(files)
    gaps = (file["last_gap_end"] for file in files if repeated is not None)
    is_behind = any(end is not None and end > repeated for end in gaps)
    return is_behind or any(part["error_code"] == MISSING for file in files for part in file["unread"])


def _first_repeated(files: Iterable[Mapping[str, Any]]) -> int | None:
    found = (file["first_repeated_offset"] for file in files)
    return min((offset for offset in found if offset is not None), default=None)
