"""A generation of a classic group and its differences to the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.group.vocabulary import EAGER, FIRST_GENERATION

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.generations.last_owners import Move


class Round(NamedTuple):
    """A generation and its differences to the one before, as `rebalance` needs them.

    `begin`, `compared_from`: the smallest offset on which the row depends, and on which its moves depend. `moves`,
    `stopped`: None if they are unknown. `stopped`: the partitions that no member could consume from the end of the join
    phase until the record. `before`: the generation before it, None if it was not seen.
    """

    now: Generation
    before: Generation | None
    mode: str | None
    moves: list[Move] | None
    rounds: int | None
    sync_ms: int | None
    begin: int
    compared_from: int
    members_before: int | None
    stopped: int | None

    @property
    def unowned_ms(self) -> tuple[int | None, int | None]:
        """The sum of the lower bounds over the partitions that stopped, and the largest one."""
        sync_ms = 0 if self.now.is_shown else self.sync_ms
        if self.stopped is None or sync_ms is None:
            return None, None
        return self.stopped * sync_ms, sync_ms if self.stopped else 0


def members_and_stopped(
    now: Generation, before: Generation | None, moves: list[Move] | None, mode: str | None
) -> tuple[int | None, int | None]:
    """Return the number of members in the generation before, and of the partitions that stopped.

    In an eager group every partition with an owner before stops. In others those stop that moved, and those of static
    members that expired, also if such a member is back in the round and gets them again.
    """
    members = 0 if now.value.generation == FIRST_GENERATION else None
    if before is not None:
        members = len(before.value.member_ids)
    if moves is None:
        return members, None
    stopped = {move.unit for move in moves}
    if before is not None and before.units and now.units:
        expired = {old_id for _, old_id, _, _ in now.replaced[: now.replaced_in_round]}
        of_stopped = (unit for unit, old in before.units.items() if mode == EAGER or old.member_id in expired)
        stopped.update(unit for unit in of_stopped if unit in now.units)
    return members, len(stopped)
