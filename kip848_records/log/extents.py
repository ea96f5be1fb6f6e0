"""The extent of one copy of one partition, by the coverage of its files.

A copy is complete if it starts where the log does and has no gap that compaction may have made. Any other copy is
complete only from its first repeated key on: the second of the first two records of one key. If the cleaner had reached
that record, it would have removed the earlier one (Kafka's `Cleaner`). So nothing from there on was cleaned, and the
remaining records before it are the state at that point.

The end of the last gap proves nothing about the state there, although no record after it is missing: one of those may
have made the cleaner remove an older record of its key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Unread(NamedTuple):
    """Unreadable batches: the first offset that they may have, the next one that was read, and the reason."""

    first_offset: int
    next_offset: int | None
    error_code: str


class FileRow(NamedTuple):
    """The columns of `sources.log.FILE_SCHEMA` that determine completeness."""

    base_offset: int | None
    first_offset: int
    last_offset: int | None
    has_gap: bool
    last_gap_end: int | None
    first_repeated_offset: int | None
    unread: Sequence[Unread]


@dataclass(frozen=True)
class Extent:
    """The range of one partition that one copy holds.

    `first_offset`, `last_offset`: its start and end. `gapless_from`: from this offset on no record is missing; None if
    the source does not show that. `first_repeated`: the offset of the first known repeated key at or after
    `gapless_from`. `needs_repeated_key`: the copy is complete only from its first repeated key on. `log_start_missing`:
    the start of the log is missing, though compaction would have kept it; None if the source does not show that.
    `unread`: the unreadable batches. `unread_until`: the offset after the last of those inside the copy; 0 if there is
    none.
    """

    partition: int
    copy: str
    first_offset: int
    last_offset: int
    gapless_from: int | None
    first_repeated: int | None
    needs_repeated_key: bool
    log_start_missing: bool | None
    unread: tuple[Unread, ...] = ()
    unread_until: int = 0

    @property
    def complete_from(self) -> int:
        """The offset from which on no record is missing and the state is known; above the last one: only the state."""
        if not self.needs_repeated_key:
            return max(self.gapless_from or 0, self.unread_until)
        known = self.last_offset + 1 if self.first_repeated is None else self.first_repeated
        return max(known, self.unread_until)

    @property
    def continues_from(self) -> int:
        """The offset from which on no record is missing, with or without a known state there."""
        complete_from = self.complete_from
        return complete_from if self.gapless_from is None else min(complete_from, self.gapless_from)

    @property
    def is_damaged(self) -> bool:
        """Whether it contains unreadable bytes."""
        return self.unread_until > 0

    def with_repeated(self, offset: int) -> Extent:
        """Return the same extent with another offset of a repeated key."""
        return replace(self, first_repeated=min(offset, offset if self.first_repeated is None else self.first_repeated))

    def with_lost_record(self, offset: int) -> Extent:
        """Return the same extent with a record in error whose group is unknown."""
        return self if offset >= self.last_offset else replace(self, unread_until=max(self.unread_until, offset + 1))


def extent(partition: int, copy: str, files: Sequence[FileRow]) -> Extent | None:
    """Return the extent of the files of a copy's partition; None if nothing in them could be read."""
    if files[0].base_offset is None:
        return _dump_extent(partition, copy, files[0])
    in_order = sorted(files, key=lambda file: (file.base_offset or 0, file.last_offset or 0))
    read = [file for file in in_order if file.last_offset is not None]
    if not read:
        return None
    last_offset = max(file.last_offset or 0 for file in read)
    first_offset = in_order[0].first_offset
    unread = _unread(in_order)
    unread_until = max((each.next_offset or 0 for each in unread), default=0)
    gap_ends = [file.last_gap_end for file in read if file.last_gap_end is not None]
    gap_ends += _gaps_between(in_order)
    gap_end = max(gap_ends, default=None)
    repeated = [file.first_repeated_offset for file in read if file.first_repeated_offset is not None]
    return Extent(
        partition=partition,
        copy=copy,
        first_offset=first_offset,
        last_offset=last_offset,
        gapless_from=max(first_offset if gap_end is None else gap_end, unread_until),
        # A gap after the second record of a key shows that the files were not copied at one time.
        first_repeated=min((offset for offset in repeated if offset >= (gap_end or 0)), default=None),
        needs_repeated_key=gap_end is not None,
        log_start_missing=first_offset > 0 or in_order[0].last_offset is None,
        unread=unread,
        unread_until=unread_until,
    )


def _dump_extent(partition: int, copy: str, file: FileRow) -> Extent | None:
    """Return the extent of a dump: a missing offset may be a transaction marker's, or a compacted record's."""
    if file.last_offset is None:
        return None
    is_from_start = file.first_offset == 0
    return Extent(
        partition=partition,
        copy=copy,
        first_offset=file.first_offset,
        last_offset=file.last_offset,
        gapless_from=None if file.has_gap else file.first_offset,
        first_repeated=None,
        needs_repeated_key=file.has_gap or not is_from_start,
        log_start_missing=False if is_from_start else None,
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


def _gaps_between(files: Sequence[FileRow]) -> list[int]:
    """Return the base offsets of files that do not continue at the end of the previous file.

    A file whose end could not be read may contain all offsets that are missing before the next file.
    """
    ends = []
    reached = -1
    for file, following in pairwise(files):
        reached = max(reached, file.last_offset if file.last_offset is not None else (file.base_offset or 0))
        ends_unread = any(each.next_offset is None for each in file.unread)
        if following.base_offset is not None and following.base_offset > reached + 1 and not ends_unread:
            ends.append(following.base_offset)
    return ends
