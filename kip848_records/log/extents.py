"""The extent of one copy of one partition, by the coverage of its files.

A copy is complete if it starts where the log does and has no gap that compaction may have made. Any other copy is
complete only from its first repeated key on: the second of the first two records of one key. If the cleaner had reached
that record, it would have removed the earlier one (Kafka's `Cleaner`). So nothing from there on was cleaned, and the
remaining records before it are the state at that point.

Segment files show every batch and every marker. So a gap after the first repeated key is a loss: a file is missing, or
the files were copied at different times while the cleaner ran. A gap between two files is a loss too, if no file behind
it has a gap before the first repeated key. The last record that a pass of the cleaner reaches survives it, because no
later record of its key was seen. So the pass went on behind the gap, and it would have removed records there as well.

The end of the last gap before the first repeated key proves nothing about the state there, although no record after it
is missing: one of those may have made the cleaner remove an older record of its key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.sources.file_coverage import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Unread(NamedTuple):
    """Offsets that were lost: the first that may be, the next one that was read, and the reason.

    The batches with them are unreadable, or (`MISSING`) the copy lacks them although the cleaner was never there.
    """

    first_offset: int
    next_offset: int | None
    error_code: str


class Gap(NamedTuple):
    """Missing offsets that compaction may have removed: the first one, and the offset after the last one.

    All gaps of one file are one `Gap` (`is_in_file`), so records may lie between its ends.
    """

    first_offset: int
    next_offset: int
    is_in_file: bool

    def before(self, offset: int) -> Gap:
        """Return the part before an offset."""
        return self._replace(next_offset=min(self.next_offset, offset))

    def behind(self, offset: int) -> Unread:
        """Return the part after an offset, as a loss."""
        return Unread(max(self.first_offset, offset + 1), self.next_offset, MISSING)


class FileRow(NamedTuple):
    """The columns of `specs.log_columns.FILE` that determine completeness."""

    base_offset: int | None
    first_offset: int
    last_offset: int | None
    has_gap: bool
    first_missing_offset: int | None
    last_gap_end: int | None
    first_repeated_offset: int | None
    unread: Sequence[Unread]

    @property
    def is_empty(self) -> bool:
        """Whether it has no byte: a file that a broker has just begun."""
        return self.last_offset is None and not self.unread


@dataclass(frozen=True)
class Extent:
    """The range of one partition that one copy holds.

    `first_offset`, `last_offset`: its start and end; an empty one ends before its start. `log_start_missing`: the start
    of the log is missing, though compaction would have kept it; None if the source does not show that. `gaps`: those
    that compaction may have made, in order; None if the source does not show them. `first_repeated`: the offset of the
    first known repeated key. `repeats_from`: repeated keys before this offset prove nothing, because files of the copy
    overlap there. `unread`: the losses. `lost_until`: the offset after the last record in error whose group is unknown;
    0 if there is none.
    """

    partition: int
    copy: str
    first_offset: int
    last_offset: int
    log_start_missing: bool | None
    gaps: tuple[Gap, ...] | None = ()
    first_repeated: int | None = None
    repeats_from: int = 0
    unread: tuple[Unread, ...] = ()
    lost_until: int = 0

    @property
    def needs_repeated_key(self) -> bool:
        """Whether the copy is complete only from its first repeated key on."""
        return self.gaps is None or bool(self.gaps) or self.log_start_missing is None

    @property
    def unread_until(self) -> int:
        """The offset after the last loss inside the copy; 0 if there is none."""
        return max((each.next_offset or 0 for each in self.unread), default=0)

    @property
    def whole_from(self) -> int | None:
        """The offset from which on compaction removed nothing; None if the source does not show that."""
        if self.gaps is None:
            return None
        return self.gaps[-1].next_offset if self.gaps else self.first_offset

    @property
    def gapless_from(self) -> int | None:
        """The offset from which on no record is missing; None if the source does not show that."""
        return None if self.gaps is None else max(self.whole_from or 0, self.unread_until)

    @property
    def complete_from(self) -> int:
        """The offset from which on no record is missing and the state is known; above the last one: only the state."""
        lost_until = max(self.unread_until, self.lost_until)
        if not self.needs_repeated_key:
            return max(self.whole_from or 0, lost_until)
        known = self.last_offset + 1 if self.first_repeated is None else self.first_repeated
        return max(known, lost_until)

    @property
    def continues_from(self) -> int:
        """The offset from which on no record is missing, with or without a known state there."""
        complete_from = self.complete_from
        return complete_from if self.gapless_from is None else min(complete_from, self.gapless_from)

    @property
    def is_damaged(self) -> bool:
        """Whether it contains losses."""
        return max(self.unread_until, self.lost_until) > 0

    def with_repeated(self, offset: int) -> Extent:
        """Return the same extent with another offset of a repeated key: the gaps after it are losses."""
        repeated = offset if self.first_repeated is None else min(offset, self.first_repeated)
        if not self.gaps:
            return replace(self, first_repeated=repeated)
        lost = tuple(gap.behind(repeated) for gap in self.gaps if gap.next_offset > repeated)
        gaps = tuple(gap.before(repeated) for gap in self.gaps if gap.first_offset < repeated)
        return replace(self, first_repeated=repeated, gaps=gaps, unread=(*self.unread, *lost)).without_lost_files()

    def without_lost_files(self) -> Extent:
        """Return the same extent with the gaps between files behind the last gap inside one as losses."""
        gaps = self.gaps or ()
        last = max((place for place, gap in enumerate(gaps, 1) if gap.is_in_file), default=0)
        if last == len(gaps):
            return self
        lost = (gap.behind(-1) for gap in gaps[last:])
        return replace(self, gaps=gaps[:last], unread=(*self.unread, *lost))

    def with_lost_record(self, offset: int) -> Extent:
        """Return the same extent with a record in error whose group is unknown."""
        return self if offset >= self.last_offset else replace(self, lost_until=max(self.lost_until, offset + 1))


def extent(partition: int, copy: str, files: Sequence[FileRow]) -> Extent | None:
    """Return the extent of the files of a copy's partition; None if nothing in them could be read."""
    if files[0].base_offset is None:
        return _dump_extent(partition, copy, files[0])
    in_order = sorted(files, key=lambda file: (file.base_offset or 0, file.last_offset or 0))
    if all(file.is_empty for file in files):
        start = in_order[0].first_offset
        return Extent(partition, copy, first_offset=start, last_offset=start - 1, log_start_missing=start > 0)
    in_order = [file for file in in_order if not file.is_empty]
    read = [file for file in in_order if file.last_offset is not None]
    if not read:
        return None
    last_offset = max(file.last_offset or 0 for file in read)
    first_offset = in_order[0].first_offset
    gaps = _gaps(in_order)
    found = Extent(
        partition=partition,
        copy=copy,
        first_offset=first_offset,
        last_offset=last_offset,
        log_start_missing=first_offset > 0 or in_order[0].last_offset is None,
        gaps=gaps,
        repeats_from=gaps[-1].next_offset if gaps and _overlap(in_order) else 0,
        unread=_unread(in_order),
    )
    repeated = [file.first_repeated_offset for file in read if file.first_repeated_offset is not None]
    first_repeated = min((offset for offset in repeated if offset >= found.repeats_from), default=None)
    return found.without_lost_files() if first_repeated is None else found.with_repeated(first_repeated)


def _dump_extent(partition: int, copy: str, file: FileRow) -> Extent | None:
    """Return the extent of a dump: a missing offset may be a transaction marker's, or a compacted record's."""
    if file.last_offset is None:
        return None
    return Extent(
        partition=partition,
        copy=copy,
        first_offset=file.first_offset,
        last_offset=file.last_offset,
        log_start_missing=False if file.first_offset == 0 else None,
        gaps=None if file.has_gap else (),
    )


def _unread(files: Sequence[FileRow]) -> tuple[Unread, ...]:
    """Return the unreadable batches of these files, in order; the next file's start ends the last one."""
    found: list[Unread] = []
    following = [*(file.base_offset for file in files[1:]), None]
    for file, next_base in zip(files, following, strict=True):
        for each in file.unread:
            behind = next_base if each.next_offset is None else each.next_offset
            found.append(Unread(each.first_offset, behind, each.error_code))
    return tuple(found)


def _gaps(files: Sequence[FileRow]) -> tuple[Gap, ...]:
    """Return the gaps inside each file and before it, in order.

    A file whose end could not be read may contain all offsets that are missing before the next file. If a file does not
    show where its first gap starts (rows of `log` from before that column), the gap may start with the file.
    """
    gaps = []
    reached: int | None = None
    is_open = False
    for file in files:
        base = file.base_offset or 0
        if reached is not None and base > reached + 1 and not is_open:
            gaps.append(Gap(reached + 1, base, is_in_file=False))
        if file.last_gap_end is not None:
            first_missing = base if file.first_missing_offset is None else file.first_missing_offset
            gaps.append(Gap(first_missing, file.last_gap_end, is_in_file=True))
        reached = max(-1 if reached is None else reached, base if file.last_offset is None else file.last_offset)
        is_open = any(each.next_offset is None for each in file.unread)
    return tuple(sorted(gaps, key=lambda gap: gap.next_offset))


def _overlap(files: Sequence[FileRow]) -> bool:
    """Return whether two files may hold the same offsets, as after an interrupted cleaning."""
    reached = -1
    for file in files:
        if (file.base_offset or 0) <= reached:
            return True
        reached = max(reached, -1 if file.last_offset is None else file.last_offset)
    return False


def without_filled(extents: Sequence[Extent]) -> list[Extent]:
    """Return the extents of one partition's copies without the losses that other copies hold as a whole.

    A loss before a copy's complete part stays: if history starts with this copy, the records of others do not count
    there (`log.bases`), so the state at `complete_from` lacks them.
    """
    if len(extents) == 1:
        return list(extents)
    held = [_held(extent) for extent in extents]
    found = []
    for number, extent in enumerate(extents):
        others = sorted(each for other, ranges in enumerate(held) if other != number for each in ranges)
        found.append(_without(extent, [part for part in extent.unread if _is_held(part, others)]))
    return found


def _without(extent: Extent, filled: Sequence[Unread]) -> Extent:
    """Return the extent without those of its losses that, once removed, are inside its complete part."""
    while True:
        found = replace(extent, unread=tuple(part for part in extent.unread if part not in filled))
        counted = [part for part in filled if part.first_offset >= found.complete_from]
        if len(counted) == len(filled):
            return found
        filled = counted


def is_held_by_others(first: int, behind: int, extent: Extent, extents: Sequence[Extent]) -> bool:
    """Return whether the copies but `extent` hold every record from `first` to before `behind`."""
    ranges = sorted(each for other in extents if other is not extent for each in _held(other))
    return _is_held(Unread(first, behind, MISSING), ranges)


def _held(extent: Extent) -> list[tuple[int, int]]:
    """Return the ranges of which a copy holds every record, each by its first offset and the offset after its last.

    A dump with gaps does not show whether it lacks records, so it holds no range for certain.
    """
    if extent.whole_from is None:
        return []
    ranges = []
    first = max(extent.whole_from, extent.lost_until)
    for part in sorted(extent.unread):
        if part.first_offset > first:
            ranges.append((first, min(part.first_offset, extent.last_offset + 1)))
        first = extent.last_offset + 1 if part.next_offset is None else max(first, part.next_offset)
    if first <= extent.last_offset:
        ranges.append((first, extent.last_offset + 1))
    return ranges


def _is_held(part: Unread, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return whether ranges, in order, hold all offsets of a loss."""
    if part.next_offset is None:
        return False
    reached = part.first_offset
    for first, behind in ranges:
        if first <= reached:
            reached = max(reached, behind)
    return reached >= part.next_offset
