"""A partition between two owners: the gap while no member has it, and the handover as a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.group.context import Stopwatch, ms_between

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Operation
    from kip848_records.replay.modern.member import Member


@dataclass(slots=True, eq=False)
class Gap:
    """A partition that a member released and that has had no owner since.

    `elapsed`: when it began, see `Operation.elapsed`. `was_wanted`: some target contained it when it was released.
    `wanted`: the time since then in which some target contained it.
    """

    member_id: str
    at: int | None
    offset: int
    elapsed: int
    was_wanted: bool
    wanted: Stopwatch = field(default_factory=Stopwatch)


class Handover(NamedTuple):
    """A handover: the columns of `partition_handover` that other tables of handovers have, too."""

    acquired_offset: int | None
    from_member: str | None
    released_at: int | None
    released_offset: int | None
    to_member: str | None
    acquired_at: int | None
    unowned_ms: int | None
    was_wanted: bool | None
    wanted_ms: int | None
    epoch: int | None

    @classmethod
    def of_gap(
        cls, gap: Gap, at: int | None, elapsed: int | None, member: Member | None, *, was_wanted: bool
    ) -> Handover:
        """Return the handover at the end of a gap, to its new owner; None: it has none.

        `at` and `elapsed`: when the gap ended, None if unknown.
        """
        return cls(
            acquired_offset=None if member is None else member.current_offset,
            from_member=gap.member_id,
            released_at=gap.at,
            released_offset=gap.offset,
            to_member=None if member is None else member.member_id,
            acquired_at=None if member is None else at,
            unowned_ms=ms_between(gap.at, at),
            was_wanted=was_wanted,
            wanted_ms=None if elapsed is None else gap.wanted.ms_until(elapsed),
            epoch=None if member is None else member.epoch,
        )

    @classmethod
    def without_gap(cls, member: Member, owner: str | None, at: int | None) -> Handover:
        """Return the acquisition of a partition that was free, or that its `owner` has not released."""
        return cls(
            acquired_offset=member.current_offset,
            from_member=owner,
            released_at=None,
            released_offset=None,
            to_member=member.member_id,
            acquired_at=at,
            unowned_ms=None,
            was_wanted=None,
            wanted_ms=None,
            epoch=member.epoch,
        )

    def is_skewed(self, operation: Operation, begin: int) -> bool:
        """Return the value of `clock_skew`. A first acquisition has no start."""
        if self.unowned_ms is not None and self.wanted_ms is not None and self.wanted_ms > self.unowned_ms:
            return True
        return operation.is_skewed(operation.went_back if self.released_offset is None else begin, self.unowned_ms)
