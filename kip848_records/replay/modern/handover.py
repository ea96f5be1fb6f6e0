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


class Handover(NamedTuple):
    """The columns that the tables of handovers share."""

    from_member: str | None
    released_at: int | None
    released_offset: int | None
    unowned_ms: int | None
    wanted: bool | None
    wanted_ms: int | None
    acquired_offset: int | None
    to_member: str | None
    acquired_at: int | None
    clock_skew: bool


def handover(  # noqa: PLR0913 - two owners and what is between them
    operation: Operation,
    from_member: str | None,
    member: Member | None,
    at: int | None,
    *,
    gap: Gap | None = None,
    elapsed: int | None = None,
    was_wanted: bool | None = None,
) -> Handover:
    """Return a handover.

    `member`: the new owner, None: there is none. `gap`: the time without an owner, which ended at the time `at` and at
    `elapsed`, each None if unknown; without a gap the previous owner, if any, has not released the partition.
    """
    unowned_ms = wanted_ms = None
    clock_skew = False
    if gap is not None and gap.offset is not None:
        unowned_ms = ms_between(gap.at, at)
        wanted_ms = None if elapsed is None else gap.wanted.ms_until(elapsed)
        is_too_short = unowned_ms is not None and wanted_ms is not None and wanted_ms > unowned_ms
        clock_skew = is_too_short or operation.is_skewed(gap.offset, unowned_ms)
    return Handover(
        from_member,
        None if gap is None else gap.at,
        None if gap is None else gap.offset,
        unowned_ms,
        was_wanted,
        wanted_ms,
        None if member is None else member.current_offset,
        None if member is None else member.member_id,
        None if member is None else at,
        clock_skew,
    )
