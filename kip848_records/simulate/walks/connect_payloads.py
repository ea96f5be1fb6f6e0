"""The payloads of Connect workers in a type 2, as workers and their leader encode them (`ConnectProtocol` in Kafka)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.simulate.walks.connect_leader import Unit


class Assignment(NamedTuple):
    """A worker's assignment. `error`: 1 if the leader had not read the configuration far enough."""

    version: int
    error: int
    leader: str
    leader_url: str
    config_offset: int
    assigned: frozenset[Unit]
    revoked: frozenset[Unit]
    delay_ms: int


def subscription_bytes(version: int, url: str, config_offset: int, allocation: Assignment | None) -> bytes:
    """Return a worker's subscription. `allocation`: what it runs, in versions above 0."""
    head = struct.pack(">h", version) + _text(url) + struct.pack(">q", config_offset)
    if version == 0:
        return head
    owned = b"" if allocation is None else assignment_bytes(allocation)
    return head + struct.pack(">i", len(owned) or -1) + owned


def assignment_bytes(assignment: Assignment) -> bytes:
    """Return a worker's assignment; version 0 has neither revocations nor a delay."""
    version, error, leader, leader_url, config_offset, assigned, revoked, delay_ms = assignment
    head = struct.pack(">hh", version, error) + _text(leader) + _text(leader_url) + struct.pack(">q", config_offset)
    if version == 0:
        return head + _units(assigned)
    return head + _units(assigned) + _units(revoked) + struct.pack(">i", delay_ms)


def by_connector(units: Iterable[Unit]) -> dict[str, list[int]]:
    """Return the tasks by connector, both sorted."""
    found: dict[str, list[int]] = {}
    for connector, task in sorted(units):
        found.setdefault(connector, []).append(task)
    return found


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _units(units: Iterable[Unit]) -> bytes:
    parts = [
        _text(connector) + struct.pack(f">{len(tasks) + 1}i", len(tasks), *tasks)
        for connector, tasks in by_connector(units).items()
    ]
    return struct.pack(">i", len(parts)) + b"".join(parts)
