"""What the clients of a group read and commit while they own partitions, and the truth of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kip848_records.simulate.broker.classic import COOPERATIVE, ClassicGroup
from kip848_records.simulate.broker.cluster import uuid_of
from kip848_records.simulate.broker.member import AWAY_EPOCH
from kip848_records.simulate.commits import ABORT, no_commits
from tests.simulator.committing.reader import HANGS, LAST_MARKER_MS, TRANSACTION_OPEN, Place, Reader, Style

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from numpy.typing import NDArray

    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from kip848_records.simulate.consumption import CommitKeys
    from tests.simulator.committing.flows import Flow
    from tests.simulator.truth.rows import Row

REVOKED_WITHIN_MS: Final = 10
"""A consumer commits so long after it hears of a revocation, and before it says that it has revoked."""
LATE_MS: Final = (2, 367)
"""A cooperative classic member commits so long after the generation in which it lost a partition."""
PAUSED: Final = "paused"
WORKER_DEAD: Final = "worker_dead"
_ENDED: Final = "ended"


class Reading:
    """Observes a group, and lets its members read and commit.

    `flows`: the messages of each partition. `style_of`: how a member commits, by its id. `note`: takes a row of the
    truth: table, and the row without the group.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what a group is
        self,
        group_id: str,
        names: dict[str, str],
        flows: dict[TopicPartition, Flow],
        keys: CommitKeys,
        style_of: Callable[[str], tuple[Style, str]],
        note: Callable[[str, Row], None],
    ) -> None:
        self.readers: dict[str, Reader] = {}
        self.deleted: set[str] = set()
        """The ids of the topics that were deleted."""
        self.broken: set[TopicPartition] = set()
        """The partitions that no new owner reads."""
        self._group_id = group_id
        self._names = names
        self._flows = flows
        self._keys = keys
        self._style_of = style_of
        self._note = note
        self._committed: dict[TopicPartition, int] = {}
        """What the coordinator has, of each partition, as of the last call for its reader."""
        self._numbers: dict[TopicPartition, int] = {}
        self._pending: dict[TopicPartition, Reader] = {}
        self._rows: list[NDArray[Any]] = []
        self._producers = 0
        self._open: Row = {}

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Let members give up what is theirs no more, and read what is theirs now."""
        members = group.members.values() if group else ()
        readers = {tp: each.member_id for each in members if each.epoch != AWAY_EPOCH for tp in each.assigned}
        protocol = group.protocol if isinstance(group, ClassicGroup) else None
        self.observe(operation.time, readers, {each.member_id for each in members}, protocol)

    def observe(
        self, at: int, readers: Mapping[TopicPartition, str], members: Container[str], protocol: str | None = None
    ) -> None:
        """Let each partition be read by the member that is to read it; `protocol`: of a classic group."""
        for reader in list(self.readers.values()):
            lost = [place for tp, place in reader.places.items() if readers.get(tp) != reader.member_id]
            if reader.member_id not in members:
                self.close(reader.member_id, at)
                del self.readers[reader.member_id]
            elif lost or protocol is not None:
                self._give_up(reader, lost, at, protocol)
        for tp, member_id in readers.items():
            self.read(member_id, tp, at)

    def _give_up(self, reader: Reader, lost: list[Place], at: int, protocol: str | None) -> None:
        self._flush(reader, at)
        if protocol is None:
            self._commit(reader, at + REVOKED_WITHIN_MS, self._end_places(reader, lost, at))
        elif protocol == COOPERATIVE:
            late = LATE_MS[0] + at % LATE_MS[1]
            self._commit(reader, at + late, self._end_places(reader, lost, at))
        else:
            self._commit(reader, at, list(reader.places.values()), comes_first=True)
            self._end_places(reader, lost, at)

    def _end_places(self, reader: Reader, places: list[Place], at: int) -> list[Place]:
        """Let a client read some partitions no more, and return where it stands."""
        ended = []
        for place in places:
            base = place.position(reader.style, at)
            self._end(reader, place, at)
            ended.append(Place(place.tp, place.key, place.flow, at, base, place.committed, place.stalled or _ENDED))
        return ended

    def offsets(self, at: int) -> dict[TopicPartition, int]:
        """Return the committed offsets at a time (ms), which a tool may change."""
        for reader in self.readers.values():
            self._flush(reader, at)
        return self._committed

    def read(self, member_id: str, tp: TopicPartition, at: int) -> None:
        """Let a member read a partition from the committed offset on, unless it does, or has ended."""
        reader = self.readers.get(member_id)
        if reader is None:
            style, client_id = self._style_of(member_id)
            self._producers += style.in_transactions
            producer_id = int.from_bytes(uuid_of(self._group_id, self._producers).encode()[:5], "big")
            reader = Reader(member_id, client_id, style, at, producer_id if style.in_transactions else -1)
            self.readers[member_id] = reader
        if tp in reader.places or not reader.is_alive or tp[0] in self.deleted:
            return
        self._flush(reader, at)
        flow = self._flows[tp]
        why = TRANSACTION_OPEN if tp in self._pending else PAUSED if tp in self.broken else None
        base = self._committed.get(tp, flow.end_at(at))
        reader.places[tp] = Place(tp, self._number(tp), flow, at, base, base, why)

    def owned(self, member_id: str) -> list[TopicPartition]:
        """Return what a member reads, or is to read."""
        reader = self.readers.get(member_id)
        return sorted(reader.places) if reader is not None else []

    def close(self, member_id: str, at: int) -> None:
        """Let a client end in order: it commits, if it does so when it closes."""
        reader = self.readers.get(member_id)
        if reader is not None and reader.is_alive:
            self._flush(reader, at)
            self._commit(reader, at, list(reader.places.values()), comes_first=True)
            self.kill(member_id, at)

    def kill(self, member_id: str, at: int) -> None:
        """Let a client end without a word."""
        reader = self.readers.get(member_id)
        if reader is not None and reader.is_alive:
            self._flush(reader, at)
            self._end_places(reader, list(reader.places.values()), at)
            reader.is_alive = False

    def stall(self, member_id: str, at: int, why: str | None, chosen: Iterable[TopicPartition] | None = None) -> None:
        """Let a client stand still in some partitions, or all, for a reason; None: let it go on."""
        for tp in self.owned(member_id) if chosen is None else chosen:
            reader = self.readers[member_id]
            self._flush(reader, at)
            self._go_on(reader, reader.places[tp], at, why=why)

    def seek(self, member_id: str, at: int, tp: TopicPartition, offset: int) -> None:
        """Let a client go to another offset of a partition."""
        reader = self.readers[member_id]
        self._flush(reader, at)
        place = reader.places[tp]
        before = place.position(reader.style, at)
        self.changed(tp, at, "seek_back" if offset < before else "seek_ahead", before, offset, member_id)
        self._go_on(reader, place, at, base=offset)

    def changed(  # noqa: PLR0913, PLR0917
        self,
        tp: TopicPartition,
        at: int,
        kind: str,
        before: int | None,
        after: int | None,
        member_id: str | None = None,
    ) -> None:
        """Note that an offset changed otherwise than by reading: `after` is None if it was removed."""
        row = {"member_id": member_id, "at": at, "kind": kind, "before_offset": before, "after_offset": after}
        self._note("offset_change", self._named(tp) | row)

    def open_transaction(self, member_id: str, at: int) -> None:
        """Let a client commit in a transaction that it does not end, and hang."""
        self.stall(member_id, at, HANGS)
        reader = self.readers[member_id]
        at += LAST_MARKER_MS
        rows = reader.open_transaction(at)
        self._rows.append(rows)
        keys = set(rows["key"].tolist())
        self._pending |= {tp: reader for tp, place in reader.places.items() if place.key in keys}
        topic_partitions = [{"topic": self._names[tp[0]], "partition": tp[1]} for tp in sorted(self._pending)]
        self._open = {"member_id": member_id, "producer_id": reader.producer_id, "producer_epoch": 0}
        self._open |= {"first_at": at, "records": len(rows), "topic_partitions": topic_partitions}

    def abort_transaction(self, at: int) -> None:
        """Let the coordinator abort the open transaction, whose time is over: who waits for its offsets goes on."""
        (owner,) = set(self._pending.values())
        self._rows.append(owner.marker(at, ABORT, epoch=1))
        waiting, self._pending = self._pending, {}
        self._note("transaction", self._open | {"ended_at": at})
        for reader in self.readers.values():
            self._flush(reader, at)
            for place in [place for tp, place in reader.places.items() if tp in waiting]:
                if place.stalled == TRANSACTION_OPEN:
                    self._go_on(reader, place, at)

    def delete_topic(self, topic_id: str, at: int) -> list[TopicPartition]:
        """Let a topic be gone: nothing of it is read. Return the partitions that had committed offsets."""
        self.deleted.add(topic_id)
        for reader in self.readers.values():
            self._flush(reader, at)
            self._end_places(reader, [place for tp, place in reader.places.items() if tp[0] == topic_id], at)
        return [tp for tp in sorted(self._committed) if tp[0] == topic_id]

    def take_commits(self, until: int) -> NDArray[Any]:
        """Return the rows before a time (ms)."""
        for reader in self.readers.values():
            self._flush(reader, until)
        rows = np.concatenate([no_commits(), *self._rows])
        self._rows = [rows[rows["time"] >= until]]
        return rows[rows["time"] < until]

    def end_truth(self, captured_at: int) -> None:
        """Note what is so at the end of the simulation."""
        for reader in self.readers.values():
            for place in list(reader.places.values()):
                self._end(reader, place, captured_at, is_open=True)
        if self._pending:
            self._note("transaction", self._open | {"ended_at": None})

    def _flush(self, reader: Reader, until: int) -> None:
        self._take(reader.commits_until(until), reader.places.values())

    def _commit(self, reader: Reader, at: int, places: list[Place], *, comes_first: bool = False) -> None:
        self._take(reader.last_commits(at, places, comes_first=comes_first), places)

    def _take(self, rows: NDArray[Any], places: Iterable[Place]) -> None:
        if len(rows):
            self._rows.append(rows)
            self._committed |= {place.tp: place.committed for place in places if place.has_committed}

    def _go_on(self, reader: Reader, place: Place, at: int, *, base: int | None = None, why: str | None = None) -> None:
        """Let a client read a partition in another way from a time on."""
        position = place.position(reader.style, at)
        self._end(reader, place, at)
        base = position if base is None else base
        reader.places[place.tp] = Place(place.tp, place.key, place.flow, at, base, place.committed, why)

    def _end(self, reader: Reader, place: Place, at: int, *, is_open: bool = False) -> None:
        """Note what was read in one way, or where nothing was, up to a time."""
        del reader.places[place.tp]
        row = self._named(place.tp) | {"member_id": reader.member_id, "client_id": reader.client_id}
        row |= {"from_at": place.since, "to_at": None if is_open else at, "first_position": place.base}
        position = place.position(reader.style, at)
        if place.stalled is None:
            self._note("reading", row | {"next_position": position})
            return
        came = place.flow.time_of(position)
        waits = came is not None and came < at
        row |= {"why": place.stalled, "waits_since": max(came, place.since) if came is not None and waits else None}
        self._note("stall", row | {"waiting": place.flow.end_at(at) - position})

    def _named(self, tp: TopicPartition) -> Row:
        return {"topic": self._names[tp[0]], "topic_id": tp[0], "partition": tp[1]}

    def _number(self, tp: TopicPartition) -> int:
        if tp not in self._numbers:
            self._numbers[tp] = self._keys.add(self._group_id, (self._names[tp[0]], tp[0]), tp[1])
        return self._numbers[tp]
