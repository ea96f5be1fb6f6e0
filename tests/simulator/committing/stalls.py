"""Scenes in which partitions are owned and not read, or look so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulator.committing.reading import PAUSED, WORKER_DEAD
from tests.simulator.committing.scenes import ALL, CALM, MEMBERS, begin_clients, scene
from tests.simulator.scripted.behaviours import MINUTE, SECOND, new_host, roll
from tests.simulator.scripted.process import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulator.committing.groups import Committing


@scene(kinds=ALL)
def _one_paused(group: Committing) -> Iterator[int]:
    first, *_ = begin_clients(group)
    yield CALM
    group.reading.stall(first.member_id, group.now, PAUSED, group.reading.owned(first.member_id)[:1])


@scene(is_followed=False)
def _one_paused_alone(group: Committing) -> Iterator[int]:
    yield from _one_paused(group)


@scene()
def _paused_twice(group: Committing) -> Iterator[int]:
    """A partition is paused for a quarter of an hour, read again, and paused again."""
    first, *_ = begin_clients(group)
    yield CALM
    chosen = group.reading.owned(first.member_id)[:1]
    for why, wait in ((PAUSED, 15 * MINUTE), (None, 20 * MINUTE), (PAUSED, 0)):
        group.reading.stall(first.member_id, group.now, why, chosen)
        yield wait


@scene(kinds=ALL)
def _worker_dead(group: Committing) -> Iterator[int]:
    first, *_ = begin_clients(group)
    yield CALM
    group.reading.stall(first.member_id, group.now, WORKER_DEAD)


@scene(is_followed=False)
def _worker_dead_alone(group: Committing) -> Iterator[int]:
    yield from _worker_dead(group)


@scene(kinds=ALL)
def _all_workers_dead(group: Committing) -> Iterator[int]:
    clients = begin_clients(group)
    yield CALM
    for each in clients:
        group.reading.stall(each.member_id, group.now, WORKER_DEAD)
        yield 10 * SECOND


@scene()
def _handover_broken(group: Committing) -> Iterator[int]:
    """Whoever gets a partition from some time on does not read it."""
    clients = begin_clients(group)
    yield CALM
    group.reading.broken.add(group.partitions()[0])
    yield from roll(group, clients, (10, 20))


@scene(kinds=("consumer", "eager"), styles=("transactions",), is_seen=False)
def _transaction_left_open(group: Committing) -> Iterator[int]:
    """A client opens a transaction, hangs and dies; another one gets its partitions, and cannot start."""
    first, *_ = begin_clients(group)
    yield CALM
    group.reading.open_transaction(first.member_id, group.now)
    yield 30 * SECOND
    group.kill(first)


@scene(kinds=("consumer", "eager"), styles=("transactions",))
def _transaction_timed_out(group: Committing) -> Iterator[int]:
    """Likewise, but the coordinator aborts the transaction after five minutes."""
    yield from _transaction_left_open(group)
    yield 5 * MINUTE
    group.reading.abort_transaction(group.now)


@scene(kinds=MEMBERS, styles=("java", "librdkafka", "never"))
def _no_messages(group: Committing) -> Iterator[int]:
    """One partition never gets a message, one stops getting any, and so does all of another topic: nothing is wrong."""
    begin_clients(group)
    yield CALM


@scene(styles=("slow",))
def _slow_batches(group: Committing) -> Iterator[int]:
    begin_clients(group)
    yield CALM


@scene(kinds=ALL)
def _crash(group: Committing) -> Iterator[int]:
    """A client is killed: who gets its partitions reads some messages again."""
    first, *_ = begin_clients(group)
    yield CALM
    group.kill(first)
    yield 10 * MINUTE
    group.start(first)


@scene(kinds=ALL)
def _more_members(group: Committing) -> Iterator[int]:
    """Members come and go; cooperative classic ones commit what they gave up after the generation without it."""
    begin_clients(group)
    for _ in range(4):
        yield 10 * MINUTE
        more = Process("payments", new_host(group), assignor=group.assignor)
        group.start(more)
        yield 10 * MINUTE
        group.stop(more)
