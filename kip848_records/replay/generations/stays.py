"""The stays of a classic group's partitions: each goes on while generations give the partition to the same member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC
from kip848_records.replay.group.owned_partitions import Acquisition, OwnedPartitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import ClassicMemberValue


class GenerationStays:
    """The stays by the last generation. It does nothing if the log has no offset commits."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stays = OwnedPartitions(context, CLASSIC, self._partitions_of) if context.reads_commits else None

    def assign(self, now: Generation, depends_on: int, *, has_partitions: bool) -> None:
        """Let the members of a generation own their partitions, by its last record.

        `depends_on`: the first offset on which that depends. `has_partitions`: the units are topic partitions. What a
        member owns whose assignment could not be read is unknown.
        """
        stays = self._stays
        if stays is None:
            return
        operation, offset = self._context.operation, now.last_offset
        owners: dict[int, ClassicMemberValue] = {}
        unread = set(now.value.member_ids)
        for member in now.value.members if has_partitions else ():
            if member.units is not None:
                unread.discard(member.member_id)
                owners.update(dict.fromkeys(member.units, member))
        if has_partitions and unread:
            stays.lose(unread, but=owners)
        stays.keep(owners, operation.at, offset)
        acquisitions: dict[str, Acquisition] = {}
        for unit, member in owners.items():
            acquired = acquisitions.get(member.member_id)
            if acquired is None:
                acquired = Acquisition(member.member_id, member, operation.at, offset, depends_on)
                acquisitions[member.member_id] = acquired
            stays.own(unit, acquired)

    def end(self) -> None:
        """End all stays with the operation: the group was deleted, or another type took its place."""
        if self._stays is not None:
            self._stays.keep((), self._context.operation.at, self._context.operation.last)

    def lose(self) -> None:
        """End all stays, for all that is known: records are missing that may have ended them."""
        if self._stays is not None:
            self._stays.lose()

    def finish(self) -> None:
        """Write the stays that are open at the end of the log."""
        if self._stays is not None:
            self._stays.finish()

    def _partitions_of(self, unit: int) -> Iterable[tuple[str | None, str | None, int]]:
        topic, number = self._context.numbers.of_names.name(unit)
        return ((None, topic, number),)
