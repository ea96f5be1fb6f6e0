"""The payloads of Connect workers: the subscription of a worker, and the leader's assignment."""

from __future__ import annotations

from typing import Final, NamedTuple

CONNECT_PROTOCOL_TYPE: Final = "connect"
"""The `protocolType` of the groups of Connect workers."""

EAGER_VERSION: Final = 0


class WorkerSubscription(NamedTuple):
    """A worker's subscription. `owned`: the connectors (task -1) and tasks that it runs when it joins.

    Units are numbers of `PartitionNumbers.of_names`: the connector's name and the task.
    """

    version: int
    url: str
    config_offset: int
    owned: frozenset[int]


class WorkerAssignment(NamedTuple):
    """The leader's assignment for a worker. From version 1 on, `assigned` contains new connectors and tasks only.

    `error` 1: the leader had not read the configuration far enough. `delay_ms`: how long it waits for workers that
    left.
    """

    version: int
    error: int
    leader: str
    leader_url: str
    config_offset: int
    assigned: frozenset[int]
    revoked: frozenset[int]
    delay_ms: int
