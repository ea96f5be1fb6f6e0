"""A partition between two owners: the gap while no member has it, and the handover as a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.group.context import Stopwatch, ms_between

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Operation
    from kip848_records.replay.modern.member import Member


@dataclass(slots=True, eq=False)
class Gap:
    """A partition that a member released and that has had no owner since; without a member, it never had an owner.

    `elapsed`: when it began, see `Operation.elapsed`. `was_wanted`: some target contained it when it began. `wanted`:
    the time since then in which some target contained it.
    """

    member_id: str | None
    at: int | None
    offset: int | None
    elapsed: int
    was_wanted: bool
    wanted: Stopwatch = field(default_factory=Stopwatch)


_OF_RELEASE: Final = 6
"""So many fields of a handover come before those of the new owner."""


class Handover(NamedTuple):
    """A handover: the columns of `partition_handover` that other tables of handovers have, too, and an epoch."""

    from_member: str | None
    released_at: int | None = None
    released_offset: int | None = None
    unowned_ms: int | None = None
    wanted: bool | None = None
    wanted_ms: int | None = None
    acquired_offset: int | None = None
    to_member: str | None = None
    acquired_at: int | None = None
    epoch: int | None = None

    @classmethod
    def of_gap(
        cls, gap: Gap, at: int | None, elapsed: int | None, member: Member | None, *, was_wanted: bool
    ) -> Handover:
        """Return the handover at the end of a gap, to its new owner; None: it has none.

        `at` and `elapsed`: when the gap ended, None if unknown.
        """
        wanted_ms = None if elapsed is None else gap.wanted.ms_until(elapsed)
        handover = cls(gap.member_id, gap.at, gap.offset, ms_between(gap.at, at), was_wanted, wanted_ms)
        return handover if member is None else handover.to(member, at)

    def to(self, member: Member, at: int | None) -> Handover:
        """Return the handover to a new owner."""
        # `_replace` takes twice as long.
        return Handover(*self[:_OF_RELEASE], member.current_offset, member.member_id, at, member.epoch)

    def columns(self) -> dict[str, Any]:
        """Return the columns; the epoch has another name in each table."""
        columns = self._asdict()
        del columns["epoch"]
        return columns

    def is_skewed(self, operation: Operation, begin: int) -> bool:
        """Return the value of `clock_skew`. A first acquisition has no start."""
        if self.unowned_ms is not None and self.wanted_ms is not None and self.wanted_ms > self.unowned_ms:
            return True
        return operation.is_skewed(operation.went_back if self.released_offset is None else begin, self.unowned_ms)
