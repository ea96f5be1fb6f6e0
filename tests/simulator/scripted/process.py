"""A client process, and a trouble of a group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(eq=False)
class Process:
    """A client process, over all its restarts.

    `poll_ms`: its max.poll.interval.ms. `revoke_ms`: how long it takes to give up partitions. `member_id`: of its last
    start. `ends`: how often the coordinator saw it end: it left, expired, went away, or was replaced.
    """

    client_id: str
    host: str
    topics: frozenset[str] = frozenset()
    regex: str = ""
    instance_id: str | None = None
    assignor: str | None = None
    poll_ms: int = 300_000
    revoke_ms: int = 20
    member_id: str = ""
    runs: bool = False
    is_away: bool = False
    ends: int = 0


@dataclass
class Trouble:
    """What is wrong with a group from `first_seen` on (ms). `count`: asked at the end of the simulation."""

    pattern: str
    first_seen: int
    count: Callable[[], int]
    subject: dict[str, Any] = field(default_factory=dict)
    last_seen: int | None = None
