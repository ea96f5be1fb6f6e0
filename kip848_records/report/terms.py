"""The words of each kind of group, for all reports: a Connect cluster has workers, and generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.terminal import ranges_text

if TYPE_CHECKING:
    from collections.abc import Collection

CONSUMER: Final = "consumer"
CLASSIC: Final = "classic"
CONNECT: Final = "connect"
SHARE: Final = "share"
STREAMS: Final = "streams"

CONNECTOR: Final = -1
"""The number by which Connect's assignments name the connector itself, among its tasks."""


class Terms(NamedTuple):
    """The words for a kind of group: its name, and those of a member, a unit of an assignment and a numbered step.

    `limit`: what the log does not show of such a group, and `page`: the page of the documentation about it. None: a
    consumer group has no limit of its own.
    """

    name: str
    member: str
    unit: str
    units: str
    step: str
    limit: str | None = None
    page: str | None = None


TERMS: Final = {
    CONSUMER: Terms("consumer group", "member", "partition", "partitions", "epoch"),
    CLASSIC: Terms(
        "classic group",
        "member",
        "partition",
        "partitions",
        "generation",
        "The log does not show when members begin to join: a rebalance took at least its sync time",
        "docs/groups/classic.md",
    ),
    CONNECT: Terms(
        "Connect cluster",
        "worker",
        "connector or task",
        "connectors and tasks",
        "generation",
        "The log shows what the leader decided: a failed or paused task looks like a running one",
        "docs/groups/connect.md",
    ),
    SHARE: Terms(
        "share group",
        "member",
        "partition",
        "partitions",
        "epoch",
        "A share group is Stable also while members are late, and the log does not show deliveries",
        "docs/groups/share.md",
    ),
    STREAMS: Terms(
        "streams group",
        "member",
        "task",
        "tasks",
        "epoch",
        "The log does not show how long tasks restore their state",
        "docs/groups/streams.md",
    ),
}


def kind_of(group_type: str, protocol_type: str | None) -> str:
    """Return the kind of a group: its type, or `CONNECT` for a classic group of Connect workers."""
    return CONNECT if group_type == CLASSIC and protocol_type == CONNECT else group_type


def units_text(kind: str, place: str, numbers: Collection[int | None] | None) -> str:
    """Return what a member has of one topic, connector or subtopology.

    Partitions: ``orders 0-3``. A connector and its tasks: ``sink: connector, tasks 0-1``. Tasks of a subtopology:
    ``0: 2-3``.
    """
    if kind != CONNECT:
        return f"{place}{':' if kind == STREAMS else ''} {ranges_text(numbers)}"
    tasks = [number for number in numbers or () if number not in {CONNECTOR, None}]
    named = ["connector"] if CONNECTOR in (numbers or ()) else []
    named += [f"{'task' if len(tasks) == 1 else 'tasks'} {ranges_text(tasks)}"] if tasks else []
    return f"{place}: {', '.join(named)}"
