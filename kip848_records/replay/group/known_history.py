"""How much of a group's history is known: which records are complete, and which rows depend on complete ones only."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kip848_records.replay.inputs import PartitionCoverage

OBSERVED: Final = "observed"
LEFT_CENSORED: Final = "left_censored"
RIGHT_CENSORED: Final = "right_censored"
CENSORED: Final = "censored"
SEEN: Final = frozenset({OBSERVED, RIGHT_CENSORED})
"""The histories of what was seen to begin."""

NEVER: Final = -1
"""The offset at which a row began, if that lies before all that is known."""
_NO_RANGE: Final = -1
_NO_RUN: Final = (0, -1)


@dataclass(slots=True)
class _Segment:
    """Consecutive known records of the group, in one complete range, by their first and last offset.

    `at`: the time of the first one, in ms since 1970. `continues`: no record of the group is missing between the
    previous segment and this one.
    """

    complete_range: int
    first: int
    last: int
    at: int | None
    continues: bool


class GroupCoverage:
    """The coverage of a group's records, in offset order. `has_lost_prefix`: records are missing that compaction keeps.

    A record is complete under three conditions: it lies in a complete range; no epoch jumps after it in that range; no
    record of the group was lost before or after it. Group epochs increase by one, so a jump proves that records before
    it are missing.
    """

    def __init__(self, partition: PartitionCoverage) -> None:
        self._partition = partition
        self._firsts = [first for first, _ in partition.complete_ranges]
        self._segments: list[_Segment] = []
        self._jumps: dict[int, int] = {}
        self._last = NEVER
        self._is_gapless = False
        self._last_loss = NEVER if partition.last_loss is None else partition.last_loss
        self._last_deletion = NEVER
        self._ends: list[int] = []
        self._first_loss = partition.first_loss
        self.has_lost_prefix = partition.log_start_missing

    @property
    def last_loss(self) -> int:
        """The last offset of a lost record that may belong to any group; -1 if there is none."""
        return NEVER if self._partition.last_loss is None else self._partition.last_loss

    def is_complete_to_end(self) -> bool:
        """Return whether the log ends with a complete range."""
        ranges, last = self._partition.complete_ranges, self._partition.last_offset
        return bool(ranges) and last is not None and ranges[-1][1] > last and not self.has_lost_prefix

    def begin(self, offset: int) -> bool:
        """Return whether an operation that begins at this offset lies where the history is complete.

        After the first loss, records are missing.
        """
        first_loss = self._first_loss
        if first_loss is not None and offset >= first_loss and self._last_deletion <= self.last_loss:
            self.has_lost_prefix = True
            self._is_gapless = False
        return not self.has_lost_prefix and self._range_of(offset) != _NO_RANGE

    def may_have_lost(self, last: int, offset: int | None) -> bool:
        """Return whether a record between two offsets, or up to the end (None), may have been lost to any group."""
        first_loss = self._first_loss
        return first_loss is not None and last < self.last_loss and (offset is None or first_loss < offset)

    def lose(self, offset: int) -> None:
        """Note a lost record of this group."""
        self.has_lost_prefix = True
        self._last_loss = max(self._last_loss, offset)
        self._segments.clear()
        self._is_gapless = False

    def delete(self, offset: int) -> None:
        """Note the tombstone that ended an incarnation: earlier losses do not affect later records."""
        self._last_deletion = offset
        self._ends.append(offset)
        first_loss = self._partition.first_loss
        if first_loss is None or offset < first_loss or offset > self.last_loss:
            self.has_lost_prefix = False

    def jump(self, offset: int) -> None:
        """Note a group epoch that does not follow the previous one: the records before it are incomplete."""
        place = self._range_of(offset)
        self._segments = [segment for segment in self._segments if segment.complete_range != place]
        self._jumps[place] = offset
        self._is_gapless = False

    def add(self, first: int, last: int, operation: int, *, at: int | None) -> bool:
        """Add the records from one offset to another, of an operation that began at `operation` and has this time.

        Without times it is unknown which records are one operation, so that nothing counts as known. Return whether
        the records lie in the complete range in which the operation began.
        """
        if self._is_gapless and at is not None and not self._partition.tombstone_gaps:
            segment = self._segments[-1]
            if last < self._partition.complete_ranges[segment.complete_range][1]:
                segment.last = self._last = last
                return True
        place = self._range_of(operation)
        is_in_range = place != _NO_RANGE and last < self._partition.complete_ranges[place][1]
        is_known = at is not None and is_in_range and not self.has_lost_prefix
        is_complete = is_known and operation >= self._jumps.get(place, NEVER)
        if is_complete:
            before = self._segments[-1] if self._goes_on(first) else None
            if before is not None and before.complete_range == place:
                before.last = last
            else:
                self._segments.append(_Segment(place, first, last, at, continues=before is not None))
        self._is_gapless = is_complete
        self._last = last
        return is_in_range

    def known(self) -> KnownHistory:
        """Return what is known at the end of the log."""
        runs: list[tuple[int, int]] = []
        since = None
        for segment in self._segments:
            if segment.continues and runs:
                runs[-1] = runs[-1][0], segment.last
            else:
                runs.append((segment.first, segment.last))
                since = segment.at
        return KnownHistory(runs, since, self._before_jumps(), [*self._ends, self._last], self._last_loss)

    def _before_jumps(self) -> list[tuple[int, int]]:
        ranges = self._partition.complete_ranges
        return sorted((ranges[place][0], jump) for place, jump in self._jumps.items() if place != _NO_RANGE)

    def _goes_on(self, first: int) -> bool:
        gaps = self._partition.tombstone_gaps
        return self._is_gapless and not (gaps and bisect_right(gaps, first) != bisect_right(gaps, self._last))

    def _range_of(self, offset: int) -> int:
        place = bisect_right(self._firsts, offset) - 1
        if place != _NO_RANGE and offset >= self._partition.complete_ranges[place][1]:
            return _NO_RANGE
        return place


class KnownHistory:
    """The known part of a group's history after all its records were read.

    `first_run`: the first and last offset of the first records without a gap. `last`: the group's last offset.
    `complete_from`: from there on no record of the group is missing; None if unknown even for its last record.
    `known_since`: the time of the record at `complete_from`, in ms since 1970.
    `has_losses`: records that may be the group's were lost, other than from the start of the log.
    """

    def __init__(
        self,
        runs: list[tuple[int, int]],
        since: int | None,
        before_jumps: list[tuple[int, int]],
        ends: list[int],
        last_loss: int,
    ) -> None:
        self._runs = runs
        self._last_loss = last_loss
        self.has_losses = last_loss != NEVER
        self._firsts = [first for first, _ in runs]
        self.first_run = runs[0] if runs else _NO_RUN
        self._before_jumps = before_jumps
        self.has_jumps = bool(before_jumps)
        self._ends = ends
        self.last = ends[-1]
        self.complete_from = self.complete_before(self.last)
        self.known_since = None if self.complete_from is None else since

    def end_of(self, incarnation: int) -> int:
        """Return the offset of an incarnation's last record."""
        return self._ends[incarnation]

    def complete_before(self, end: int) -> int | None:
        """Return the offset from which on no record of the group is missing up to this one; None if some may be."""
        place = bisect_right(self._firsts, end) - 1
        return self._runs[place][0] if place >= 0 and end <= self._runs[place][1] else None

    def has_ended(self, incarnation: int) -> bool:
        """Return whether an incarnation was deleted."""
        return incarnation < len(self._ends) - 1

    def is_seen(self, begin: int, end: int) -> bool:
        """Return whether no record of the group is missing from one of its records to another."""
        first = self.complete_before(end)
        return first is not None and begin >= first

    def is_before_jump(self, offset: int) -> bool:
        """Return whether epochs jumped after this offset: states evaluated before the jump may be wrong."""
        return any(first <= offset < jump for first, jump in self._before_jumps)

    def is_proven(self, offset: int) -> bool:
        """Return whether a fact found at this offset, in a complete range, depends on no missing record."""
        return offset > self._last_loss and not self.is_before_jump(offset)
