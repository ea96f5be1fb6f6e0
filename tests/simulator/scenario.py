"""Logs written by hand, a few lines each: tests and examples say who joins, leaves, and when.

    story = Scenario()
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    ann = group.join("ann", ["orders"])
    story.advance(5_000)
    bob = group.join("bob", ["orders"], revoke_ms=2_000)
    story.advance(20_000)
    capture = story.capture()

`capture.records` is the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.simulate.broker.cluster import Cluster
from kip848_records.simulate.broker.member import Member
from kip848_records.simulate.broker.operation import Record
from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.clients import REVOKE_MS, Clients
from kip848_records.simulate.encoding import encode
from kip848_records.simulate.spec import START_MS
from kip848_records.specs.log_columns import TOPIC
from tests.simulator.coordinator import Coordinator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.simulate.broker.cluster import Topic
    from kip848_records.simulate.broker.coordinator import Clock
    from kip848_records.simulate.broker.operation import Operation
    from kip848_records.simulate.broker.releases import Release
    from kip848_records.simulate.clients import Client


@dataclass(frozen=True)
class Capture:
    """A simulated log.

    `records`: by partition and offset, each `partition, offset, timestamp` (ms), `type`, `key` and `value` in the forms
    of Kafka's JSON, `value` None for a tombstone. `topics`: names by id.
    """

    records: list[dict[str, Any]]
    topics: dict[str, str]
    captured_at: int
    release: Release

    def rows(self) -> list[dict[str, Any]]:
        """Return the records as Spark's Kafka source has them, with the timestamp in µs."""
        return [self._row(record) for record in self.records]

    def _row(self, record: dict[str, Any]) -> dict[str, Any]:
        key, value = encode(Record(record["type"], record["key"], record["value"]), self.release)
        place = {"partition": record["partition"], "offset": record["offset"], "timestamp": record["timestamp"] * 1000}
        return {"key": key, "value": value, "topic": TOPIC, **place, "timestampType": 0}


class Scenario:
    """A cluster, its groups, and one time for all of them.

    `partitions` are those of `__consumer_offsets`. `clock` turns the simulation's time into what the coordinator's
    clock shows (ms): one that is not steady is a coordinator that moves to another broker.
    """

    def __init__(self, release: Release = KAFKA_4_3, partitions: int = 1, clock: Clock | None = None) -> None:
        self.release = release
        self.cluster = Cluster()
        self.now = START_MS
        self._partitions = partitions
        self._clock = clock or (lambda time: time)
        self._groups: dict[str, ScenarioGroup] = {}

    def topic(self, name: str, partitions: int) -> Topic:
        """Create a topic; groups that have subscribed to it see that at their next heartbeat."""
        topic = self.cluster.create(name, partitions)
        self._wake()
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic, likewise."""
        self.cluster.delete(name)
        self._wake()

    def grow(self, name: str, partitions: int) -> None:
        """Let a topic have more partitions; its groups see that at their next heartbeat."""
        self.cluster.grow(name, partitions)
        self._wake()

    def group(self, group_id: str) -> ScenarioGroup:
        """Return the group of that id, which has no members before they join."""
        if group_id not in self._groups:
            clients = Clients(Coordinator(group_id, self.cluster, self.release, self._clock))
            clients.now = self.now
            self._groups[group_id] = ScenarioGroup(clients)
        return self._groups[group_id]

    def advance(self, ms: int) -> None:
        """Let `ms` pass: members heartbeat, revoke, and are fenced."""
        self.now += ms
        for group in self._groups.values():
            group.clients.run_until(self.now)

    def _wake(self) -> None:
        for group in self._groups.values():
            group.clients.wake()

    def capture(self, captured_at: int | None = None) -> Capture:
        """End the story; return its log as of `captured_at`, by default the newest timestamp."""
        records = [
            record for partition, operations in self._by_partition().items() for record in logged(partition, operations)
        ]
        if captured_at is None:
            captured_at = max((record["timestamp"] for record in records), default=self.now)
        return Capture(records, self.cluster.names, captured_at, self.release)

    def _by_partition(self) -> dict[int, list[Operation]]:
        operations: dict[int, list[Operation]] = {}
        for group_id, group in sorted(self._groups.items()):
            partition = offsets_partition(group_id, self._partitions)
            operations.setdefault(partition, []).extend(group.clients.coordinator.operations)
        return {partition: sorted(operations[partition], key=lambda o: o.time) for partition in sorted(operations)}


def logged(partition: int, operations: Iterable[Operation]) -> Iterator[dict[str, Any]]:
    """Give the operations of a partition, in the order of time, their offsets; return the records of a capture."""
    offset = 0
    for operation in operations:
        operation.base_offset = offset
        for record in operation.records:
            place = {"partition": partition, "offset": offset, "timestamp": operation.timestamp}
            yield {**place, "type": record.key_type, "key": record.key, "value": record.value}
            offset += 1


class ScenarioGroup:
    """A group of a scenario."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    def join(
        self,
        member_id: str,
        topics: Iterable[str] = (),
        *,
        revoke_ms: int | None = REVOKE_MS,
        **options: Any,
    ) -> ScenarioMember:
        """Let a member join: `options` are fields of `Member`. `revoke_ms` of None never gives partitions up."""
        client = self.clients.join(Member(member_id, frozenset(topics), **options), revoke_ms)
        self.clients.adopt()
        return ScenarioMember(self.clients, client)

    def resolve(self, regex: str, topics: Iterable[str]) -> None:
        """Let the broker find what a regular expression matches."""
        self.clients.resolve(regex, tuple(topics))

    def rebalance_classic(self, members: dict[str, Iterable[str]]) -> None:
        """Let a classic group come out of a rebalance with these members, topics by member id."""
        joined = [Member(member_id, frozenset(topics)) for member_id, topics in members.items()]
        self.clients.coordinator.rebalance_classic(self.clients.now, joined)

    def member(self, member_id: str) -> ScenarioMember:
        """Return a member that an upgrade brought in."""
        return ScenarioMember(self.clients, self.clients.alive[member_id])

    def commit(self, topic: str, partition: int, offset: int, **fields: Any) -> None:
        """Commit an offset; `fields` are those of OffsetCommit's value."""
        self.clients.coordinator.commit(self.clients.now, topic, partition, offset, **fields)

    def delete(self) -> None:
        """Delete the group, which must be empty."""
        self.clients.coordinator.delete(self.clients.now)


class ScenarioMember:
    """A member of a scenario's group."""

    def __init__(self, clients: Clients, client: Client) -> None:
        self._clients = clients
        self._client = client

    def stuck(self) -> None:
        """Never give up a partition again."""
        self._client.revoke_ms = None

    def slow(self, ms: int) -> None:
        """Take `ms` to give partitions up, from the next time on."""
        self._client.revoke_ms = ms

    def leave(self) -> None:
        """Leave the group."""
        self._clients.leave(self._client)

    def crash(self) -> None:
        """Fall silent, until the session expires."""
        self._clients.crash(self._client)

    def go_away(self) -> None:
        """Leave as a static member that will be back."""
        self._clients.go_away(self._client)

    def come_back(self, new_id: str, topics: Iterable[str] | None = None) -> ScenarioMember:
        """Come back, under another member id, if the session has not expired."""
        client = self._clients.come_back(self._client, new_id, None if topics is None else frozenset(topics))
        if client is None:
            raise ValueError(f"{self._client.member_id} is not away any more: its session expired")
        return ScenarioMember(self._clients, client)

    def subscribe(self, topics: Iterable[str], regex: str | None = None) -> None:
        """Subscribe to other topics, and by another regular expression unless that is None."""
        self._clients.subscribe(self._client, frozenset(topics), regex)

    def heartbeat(self) -> None:
        """Heartbeat now, before the interval is over."""
        self._clients.heartbeat(self._client)
