"""The rows of classic groups that the replay emits; see `rows`."""

from __future__ import annotations

from typing import NamedTuple


class StaticReplacement(NamedTuple):
    """A static member that came back under a new member id (`ClassicGeneration`)."""

    instance_id: str
    from_member: str
    to_member: str
    at: int | None


class ClassicGeneration(NamedTuple):
    """A row of `classic_generation`: one round of a classic group that was completed, or its becoming Empty."""

    partition: int
    group_id: str
    incarnation: int
    generation: int
    offset: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    cause: str
    mode: str | None
    rounds: int | None
    joined_at: int | None
    completed_at: int | None
    join_ms: int | None
    sync_ms: int | None
    members: int
    joined: tuple[str, ...] | None
    left: tuple[str, ...] | None
    static_replaced: tuple[StaticReplacement, ...]
    units: int | None
    moved: int | None
    unassigned: int | None
    ended_at: int | None
    ended_by: str | None
    history: str
    clock_skew: bool


class TopicPartitions(NamedTuple):
    """Partitions of a topic."""

    topic: str
    partitions: tuple[int, ...]


class ClassicMember(NamedTuple):
    """A row of `classic_member`: a member of a generation, as its record contains it."""

    partition: int
    group_id: str
    incarnation: int
    generation: int
    member_id: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    is_leader: bool
    topics: tuple[str, ...] | None
    owned: tuple[TopicPartitions, ...] | None
    assigned: tuple[TopicPartitions, ...] | None
    subscription: bytes | None
    assignment: bytes | None
    subscription_error: str | None
    assignment_error: str | None


class ConnectorTasks(NamedTuple):
    """A connector and tasks of it; task -1 is the connector itself."""

    connector: str
    tasks: tuple[int, ...]


class ConnectAssignment(NamedTuple):
    """A row of `connect_assignment`: a worker of a generation of a Connect cluster, as its record contains it."""

    partition: int
    group_id: str
    incarnation: int
    generation: int
    member_id: str
    worker_url: str | None
    version: int | None
    error: int | None
    config_offset: int | None
    worker_config_offset: int | None
    owned: tuple[ConnectorTasks, ...] | None
    assigned: tuple[ConnectorTasks, ...] | None
    revoked: tuple[ConnectorTasks, ...] | None
    running: tuple[ConnectorTasks, ...] | None
    delay_ms: int | None
    quarantine_reason: str | None


class GroupMigration(NamedTuple):
    """A row of `group_migration`: a group id that goes on as another type of group."""

    partition: int
    group_id: str
    incarnation: int
    direction: str
    from_type: str
    to_type: str
    at: int | None
    offset: int
    epoch: int | None
    converted: int
    mixed_until: int | None
    history: str
