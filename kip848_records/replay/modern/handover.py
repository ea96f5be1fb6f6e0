"""A partition between two owners: the gap while no member has it, and the handover as a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.group.context import Stopwatch

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Operation


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

    def is_skewed(self, operation: Operation, begin: int) -> bool:
        """Return the value of `clock_skew`. A first acquisition has no start."""
        if self.unowned_ms is not None and self.wanted_ms is not None and self.wanted_ms > self.unowned_ms:
            return True
        return operation.is_skewed(operation.went_back if self.released_offset is None else begin, self.unowned_ms)
