"""Small logs of classic groups as rows of Spark's Kafka source. Their times are seconds before the end of all logs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS, classic
from kip848_records.simulate.walks.connect_payloads import Assignment, assignment_bytes, subscription_bytes
from kip848_records.specs.log_columns import TOPIC

END = 1_795_780_000_000
"""When the logs end, in ms since 1970."""
Row = dict[str, Any]
Units = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Consumer:
    """A consumer in a generation: what it still had when it joined, and what it has from then on, by topic."""

    name: str
    assigned: Units = field(default_factory=dict)
    owned: Units = field(default_factory=dict)
    topics: tuple[str, ...] = ("orders",)
    host: str = "/10.0.0.1"
    rebalance_seconds: float = 60
    assignment_data: bytes | None = None

    @property
    def payloads(self) -> dict[str, bytes]:
        """Its subscription and its assignment."""
        subscription = {"topics": list(self.topics), "userData": None, "ownedPartitions": _by_topic(self.owned)}
        assignment = {"assignedPartitions": _by_topic(self.assigned), "userData": self.assignment_data}
        return {
            "subscription": encode_message(classic.CONSUMER_PROTOCOL_SUBSCRIPTION.layouts[1], subscription),
            "assignment": encode_message(classic.CONSUMER_PROTOCOL_ASSIGNMENT.layouts[1], assignment),
        }


@dataclass(frozen=True)
class Worker:
    """A Connect worker in a generation: what it runs when it joins, and what the leader assigns to it besides.

    Units are pairs of connector and task. `error`: of the assignment. `knows`, `leads_to`: the offsets of the
    configuration that the worker had read, and the leader.
    """

    name: str
    url: str
    owned: frozenset[tuple[str, int]] = frozenset()
    assigned: frozenset[tuple[str, int]] = frozenset()
    revoked: frozenset[tuple[str, int]] = frozenset()
    host: str = "/10.0.0.1"
    knows: int = 7
    leads_to: int = 7
    error: int = 0
    delay_ms: int = 0
    rebalance_seconds: float = 60

    @property
    def payloads(self) -> dict[str, bytes]:
        """Its subscription and its assignment."""
        nothing: frozenset[tuple[str, int]] = frozenset()
        runs = Assignment(2, 0, "", "", self.knows, self.owned, nothing, 0)
        given = Assignment(2, self.error, "", "", self.leads_to, self.assigned, self.revoked, self.delay_ms)
        return {
            "subscription": subscription_bytes(2, self.url, self.knows, runs),
            "assignment": assignment_bytes(given),
        }


def rows(*values: tuple[float, dict[str, Any] | None], group: str = "g", partition: int = 0) -> list[Row]:
    """The rows of a group's records, each the seconds before `END` and a value, behind that of its creation."""
    created = {"protocolType": "", "generation": 0, "protocol": None, "leader": None, "members": []}
    layout = RECORDS[2].value_layouts(3)[0]
    return [
        {
            "topic": TOPIC,
            "partition": partition,
            "offset": offset,
            "timestampType": 0,
            "timestamp": 1000 * at(before),
            "key": encode_key(RECORDS[2], {"group": group}),
            "value": value and encode_message(layout, {"currentStateTimestamp": at(before), **value}),
        }
        for offset, (before, value) in enumerate([(values[0][0] + 3, created), *values])
    ]


def generation(
    number: int, members: Iterable[Consumer | Worker], *, protocol: str = "cooperative-sticky", kind: str = "consumer"
) -> dict[str, Any]:
    """The value of a completed generation; the first member leads it."""
    written = [
        {
            "memberId": f"{each.name}-id",
            "groupInstanceId": None,
            "clientId": each.name,
            "clientHost": each.host,
            "rebalanceTimeout": round(1000 * each.rebalance_seconds),
            "sessionTimeout": 10_000,
            **each.payloads,
        }
        for each in members
    ]
    leader = written[0]["memberId"] if written else None
    return {"protocolType": kind, "generation": number, "protocol": protocol, "leader": leader, "members": written}


def at(seconds: float) -> int:
    """The time so many seconds before the end, in ms since 1970."""
    return END - round(1000 * seconds)


def _by_topic(units: Units) -> list[dict[str, Any]]:
    return [{"topic": topic, "partitions": list(partitions)} for topic, partitions in units.items()]
