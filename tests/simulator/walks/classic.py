"""The truth about a classic group: when clients stop to consume, when the join phase ends, when the leader syncs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kip848_records.kinds import CLASSIC
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.simulate.walks.classic import ClassicWalk
from tests.simulator.truth.rows import OBSERVED
from tests.simulator.walks.generations import GenerationTruth, Outcome
from tests.simulator.walks.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.simulate.walks.classic import Client
    from tests.simulator.truth.rows import Row


class _Release(NamedTuple):
    """The last consumer of a partition, and when it stopped (ms)."""

    identity: str
    member_id: str
    at: int


class ClassicTruth:
    """Follows one classic group id."""

    def __init__(self, walk: ObservedClassicWalk) -> None:
        self._walk = walk
        self._generations = GenerationTruth(walk, CONSUMER_PROTOCOL_TYPE)
        self._released: dict[int, _Release] = {}
        """The partitions that no client consumes."""
        self._assigned: dict[int, Client] = {}
        """By the last generation."""
        self._row: Row = {}
        self._back: list[tuple[str, frozenset[int], Client]] = []
        """The static members that expired and came back in this round, with their former member ids and partitions."""
        self.create, self.delete = self._generations.create, self._generations.delete
        self.close = self._generations.close

    def empty(self) -> None:
        """Note that all clients have left."""
        self._released, self._assigned = {}, {}
        self._generations.empty()

    def revoke(self, client: Client, partitions: Collection[int]) -> None:
        """Note that a client stops to consume partitions."""
        for p in partitions:
            self._released[p] = _Release(client.identity, client.member_id, self._walk.now)

    def restart(self, client: Client, old: str) -> None:
        """Note that a static member goes on under another id, in the same generation."""
        replaced = {"instance_id": client.instance_id, "from_member": old, "to_member": client.member_id}
        self._row["static_replaced"].append({**replaced, "at": self._walk.now})

    def come_back(self, old: str, owned: frozenset[int], client: Client) -> None:
        """Note that a static member expired, and is back under another id in the round that follows."""
        self._back.append((old, owned, client))

    def complete(self, reason: str, rounds: int) -> None:
        """Note a round that was synced now. Clients still have what they had when they joined."""
        walk, clients, given = self._walk, self._walk._clients, self._walk._assigned
        last_owners = {p: client.identity for client in clients.values() for p in client.owned}
        last_owners |= {p: release.identity for p, release in self._released.items()}
        claimed = {p for client in clients.values() for p in client.claimed}
        left_over = claimed - given.keys()
        moved = [p for p, client in given.items() if last_owners.get(p, client.identity) != client.identity]
        back = [each for each in self._back if each[2].member_id in clients]
        expired = {p for _, owned, _ in back for p in owned}
        stopped = {*moved, *expired & given.keys()} if walk._is_cooperative else last_owners.keys() & given.keys()
        mode = self._mode(had_owned=bool(claimed))
        outcome = Outcome(len(given), len(moved), len(stopped), len(left_over), mode, leaves_open=bool(left_over))
        identities = [client.identity for client in clients.values()]
        joined_at = walk._stable_at
        self._row = self._generations.complete(reason, rounds, joined_at, identities, walk._leader, "assignor", outcome)
        for old, _, client in back:
            self.restart(client, old)
        self._back, self._assigned = [], given
        self._note_moves(given)

    def _mode(self, *, had_owned: bool) -> str:
        if had_owned:
            return "cooperative"
        goes_on = set(self._assigned.values()) & set(self._walk._clients.values())
        return "eager" if goes_on else "unknown"

    def _note_moves(self, given: dict[int, Client]) -> None:
        """Note the partitions that go to another client, with the time at which the last one stopped."""
        walk = self._walk
        for p, client in given.items():
            release = self._released.pop(p, None)
            if release is not None and release.identity != client.identity:
                row = {"incarnation": walk.incarnation, "group_type": CLASSIC, "topic": walk._topic, "partition": p}
                row |= {"from_member": release.member_id, "to_member": client.member_id, "released_at": release.at}
                row |= {"acquired_at": walk.now, "acquired_offset": walk.offset(), "generation": walk._generation}
                row |= {"unowned_ms": walk.now - release.at, "history": OBSERVED, "clock_skew": False}
                walk.note("partition_handover", row)


class ObservedClassicWalk(Observed, ClassicWalk):
    """A walk of a classic group, with the truth."""

    TABLES = ("classic_generation", "partition_handover", "rebalance")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.truth = ClassicTruth(self)
