"""Scenes in which offsets jump: seeks, resets, and committed offsets that are removed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.simulator.committing.reading import PAUSED
from tests.simulator.committing.scenes import (
    CALM,
    MEMBERS,
    RETENTION_MS,
    begin_clients,
    scene,
    start_all,
    stop_all,
)
from tests.simulator.committing.topics import Topic
from tests.simulator.scripted.behaviours import MINUTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulator.committing.groups import CoordinatedCommitting

_ANY = (*MEMBERS, "simple")


@scene(kinds=_ANY)
def _seek(group: CoordinatedCommitting) -> Iterator[int]:
    """A client goes back in one partition, which takes it a while, and later over all that waits in another one."""
    group.style = replace(group.style, per_s=20)
    first, *_ = begin_clients(group)
    yield CALM
    back, *_ = chosen = group.reading.owned(first.member_id)
    group.reading.seek(first.member_id, group.now, back, group.reading.offsets(group.now)[back] - 150)
    ahead = chosen[1]
    group.reading.stall(first.member_id, group.now, PAUSED, [ahead])
    yield 2 * MINUTE
    group.reading.seek(first.member_id, group.now, ahead, group.end_of(ahead))


def _reset(group: CoordinatedCommitting, by: int) -> Iterator[int]:
    clients = begin_clients(group)
    yield CALM
    yield from stop_all(group, clients)
    yield 2 * MINUTE
    committed = group.reading.offsets(group.now)
    group.reset({tp: committed[tp] + by for tp in group.partitions()[:2]})
    yield MINUTE
    yield from start_all(group, clients)


@scene(kinds=_ANY)
def _reset_back(group: CoordinatedCommitting) -> Iterator[int]:
    yield from _reset(group, -100)


@scene(kinds=_ANY)
def _reset_ahead(group: CoordinatedCommitting) -> Iterator[int]:
    yield from _reset(group, 5)


@scene(kinds=_ANY)
def _offsets_deleted(group: CoordinatedCommitting) -> Iterator[int]:
    """A tool removes the offsets of two partitions while nobody is there."""
    clients = begin_clients(group)
    yield CALM
    yield from stop_all(group, clients)
    group.remove("deleted", group.partitions()[:2])
    yield MINUTE
    yield from start_all(group, clients)


@scene(kinds=_ANY)
def _group_deleted(group: CoordinatedCommitting) -> Iterator[int]:
    yield from _removed("group_deleted", group)


@scene(kinds=_ANY)
def _group_expired(group: CoordinatedCommitting) -> Iterator[int]:
    yield from _removed("group_expired", group, RETENTION_MS + MINUTE)


def _removed(cause: str, group: CoordinatedCommitting, *waits: int) -> Iterator[int]:
    """Let the group be removed some time after its clients have left, and come back."""
    clients = begin_clients(group)
    yield CALM
    yield from stop_all(group, clients)
    yield from waits
    group.remove(cause)
    yield 3 * MINUTE
    yield from start_all(group, clients)


@scene(kinds=MEMBERS)
def _topic_expired(group: CoordinatedCommitting) -> Iterator[int]:
    """All clients are replaced by others, which read only one of the two topics."""
    clients = begin_clients(group)
    yield CALM
    yield from stop_all(group, clients)
    orders = min(group.topics)
    begin_clients(group, topics=frozenset({orders}))
    yield RETENTION_MS + MINUTE
    group.remove("expired", [tp for tp in group.partitions() if tp[0] != group.read_topics[orders].topic_id])


@scene(kinds=MEMBERS, is_followed=False)
def _topic_deleted(group: CoordinatedCommitting) -> Iterator[int]:
    begin_clients(group)
    yield CALM
    group.delete_topic(min(group.topics))


@scene(kinds=MEMBERS, is_followed=False)
def _topic_created_anew(group: CoordinatedCommitting) -> Iterator[int]:
    begin_clients(group)
    yield CALM
    old = group.read_topics[min(group.topics)]
    group.delete_topic(old.name)
    yield 2 * MINUTE
    group.create_topic(Topic(old.name, f"{old.seed}/again", tuple(flow.starting(group.now) for flow in old.flows)))


@scene(kinds=MEMBERS, is_followed=False)
def _topic_grows(group: CoordinatedCommitting) -> Iterator[int]:
    """Members begin in new partitions where these end when they hear of them."""
    begin_clients(group)
    yield CALM
    topic = group.read_topics[min(group.topics)]
    group.grow_topic(topic.name, tuple(flow.starting(group.now) for flow in topic.flows[:2]))
