"""A partition between two owners: the gap while no member has it, and the handover as a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kip848_records.replay.group.context import Stopwatch, ms_between

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def handover(  # noqa: PLR0913 - two owners and what is between them
    from_member: str | None,
    member: Member | None,
    at: int | None,
    *,
    gap: Gap | None = None,
    elapsed: int | None = None,
    was_wanted: bool | None = None,
) -> dict[str, Any]:
    """Return the columns that the tables of handovers share.

    `member`: the new owner, None: there is none. `gap`: the time without an owner, which ended at the time `at` and at
    `elapsed`, each None if unknown; without a gap the previous owner, if any, has not released the partition.
    """
    columns: dict[str, Any] = {
        "from_member": from_member,
        "released_at": None,
        "released_offset": None,
        "unowned_ms": None,
        "wanted": was_wanted,
        "wanted_ms": None,
        "acquired_offset": None,
        "to_member": None,
        "acquired_at": None,
    }
    if gap is not None:
        columns["released_at"], columns["released_offset"] = gap.at, gap.offset
        columns["unowned_ms"] = ms_between(gap.at, at)
        columns["wanted_ms"] = None if elapsed is None else gap.wanted.ms_until(elapsed)
    if member is not None:
        columns["to_member"], columns["acquired_offset"] = member.member_id, member.current_offset
        columns["acquired_at"] = at
    return columns


def is_skewed(columns: Mapping[str, Any], operation: Operation, begin: int) -> bool:
    """Return the value of `clock_skew`. A first acquisition has no start."""
    unowned_ms, wanted_ms = columns["unowned_ms"], columns["wanted_ms"]
    if unowned_ms is not None and wanted_ms is not None and wanted_ms > unowned_ms:
        return True
    return operation.is_skewed(operation.went_back if columns["released_offset"] is None else begin, unowned_ms)
