"""The stays of a classic group's partitions: each goes on while generations give the partition to the same member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC
from kip848_records.replay.group.owned_partitions import Acquisition, OwnedPartitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.group.context import Context


class GenerationStays(OwnedPartitions):
    """The stays by the last generation. There are none if the log has no offset commits."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, CLASSIC, self._partitions_of)

    def assign(self, now: Generation, depends_on: int, *, has_partitions: bool) -> None:
        """Let the members of a generation own their partitions, by its last record.

        `depends_on`: the first offset on which that depends. `has_partitions`: the units are topic partitions. What a
        member owns whose assignment could not be read is unknown.
        """
        if not self._context.reads_commits:
            return
        at, offset = self._context.operation.at, now.last_offset
        owners: dict[int, Acquisition] = {}
        unread = set(now.value.member_ids)
        for member in now.value.members if has_partitions else ():
            if member.units is not None:
                unread.discard(member.member_id)
                acquired = Acquisition(member.member_id, member, at, offset, depends_on)
                owners.update(dict.fromkeys(member.units, acquired))
        if has_partitions and unread:
            self.lose_members(unread, but=owners)
        self.keep(owners, offset)
        for unit, acquired in owners.items():
            self.own(unit, acquired)

    def _partitions_of(self, unit: int) -> Iterable[tuple[str | None, str | None, int]]:
        topic, number = self._context.numbers.of_names.name(unit)
        return ((None, topic, number),)
