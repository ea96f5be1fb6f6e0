"""Scenes of groups without members, of members without partitions, and of what is slow, silent, or to and fro."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC, CONNECT, CONSUMER, SHARE, STREAMS
from tests.simulator.scripted.behaviours import HOUR, MINUTE, fleet, new_host, run_by_timetable, some
from tests.simulator.scripted.coordinated import ClassicScript, ConsumerScript
from tests.simulator.scripted.process import Process
from tests.simulator.scripted.scene import ALL, CALM, scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulator.scripted.script import Script
    from tests.simulator.scripted.walked import ConnectScript, StreamsScript


@scene(CONSUMER, CLASSIC, SHARE, STREAMS)
def _job(group: Script) -> Iterator[int]:
    runs = group.rng.randint(8, 14)
    processes = [Process("report", new_host(group)) for _ in range(group.rng.randint(1, 3))]
    group.trouble("job", lambda: processes[0].ends)
    yield from run_by_timetable(group, processes, runs, 30 * MINUTE, (200, 500))


@scene(*ALL)
def _everybody_left(group: Script) -> Iterator[int]:
    everybody = fleet(group, 4)
    yield 5 * HOUR
    group.trouble("everybody_left", lambda: len(everybody))
    for each in everybody:
        group.stop(each)
        yield some(group, (5, 20))


@scene(CONSUMER, CLASSIC)
def _more_members_than_partitions(group: Script) -> Iterator[int]:
    fleet(group, 15)
    group.trouble("spares", lambda: 3, members=3)
    yield 8 * HOUR


@scene(CONSUMER, CLASSIC, SHARE)
def _topic_that_does_not_exist(group: Script) -> Iterator[int]:
    fleet(group, 3)
    yield CALM
    wrong = frozenset({"ordres"})
    fleet(group, 2, topics=wrong)
    group.trouble("no_topic", lambda: 2, members=2, topics=sorted(wrong))


@scene(CONSUMER)
def _expression_that_matches_nothing(group: Script) -> Iterator[int]:
    fleet(group, 3)
    yield CALM
    fleet(group, 2, regex="^ordres-.*")
    group.trouble("no_topic", lambda: 2, members=2, regex="^ordres-.*")


@scene(CONSUMER, STREAMS)
def _slow_to_revoke(group: ConsumerScript | StreamsScript) -> Iterator[int]:
    """A pod comes and goes; each time that it comes, all others give up partitions, one of them slowly."""
    slow = fleet(group, 1, revoke_ms=some(group, (20, 40)))[0]
    group.trouble("slow_by_habit", lambda: group.revocations(slow), slow)
    for _ in range(2):
        yield 2 * MINUTE
        fleet(group, 1, revoke_ms=some(group, (0.1, 1.5)))
    yield CALM
    for _ in range(10):
        pod = Process("payments", new_host(group))
        group.start(pod)
        yield some(group, (900, 1500))
        group.stop(pod)
        yield some(group, (900, 1500))


@scene(CONSUMER)
def _topics_come_and_go(group: ConsumerScript) -> Iterator[int]:
    for name in ("orders-eu", "orders-us"):
        group.cluster.create(name, 4)
    fleet(group, 3, regex="^orders-.*")
    yield CALM
    times = 12
    group.trouble("flapping_topics", lambda: times - 1, regex="^orders-.*")
    for number in range(times):
        if number % 2:
            group.cluster.delete("orders-tmp")
        else:
            group.cluster.create("orders-tmp", 4, number)
        group.resolve("^orders-.*")
        yield some(group, (300, 900))


@scene(CLASSIC)
def _topics_of_a_classic_member_come_and_go(group: ClassicScript) -> Iterator[int]:
    group.cluster.create("orders-tmp", 4)
    everybody = fleet(group, 3)
    yield CALM
    times = 12
    group.trouble("flapping_topics", lambda: times - 1)
    for number in range(times):
        for each in everybody:
            each.topics = group.topics if number % 2 else group.topics | {"orders-tmp"}
        group.rejoin()
        yield some(group, (300, 900))


@scene(CONSUMER, CLASSIC)
def _assignors_by_votes(group: Script) -> Iterator[int]:
    """Two of three prefer an assignor; two pods with another one come and go."""
    fleet(group, 2, assignor="range")
    yield CALM
    others = [Process("payments-canary", new_host(group), assignor="uniform") for _ in range(3)]
    times = 4
    group.trouble("assignor_flip", lambda: 2 * times - 1)
    for _ in range(times):
        for action in (group.start, group.stop):
            for each in others:
                action(each)
            yield some(group, (2400, 3000))


@scene(CONSUMER)
def _upgrade_and_downgrade(group: ConsumerScript) -> Iterator[int]:
    """A pod with group.protocol=consumer comes and goes in a classic group."""
    members = [Process("payments", new_host(group), member_id=group.new_id()) for _ in range(3)]
    group.coordinator.rebalance_classic(group.now, [group.member(each) for each in members])
    yield CALM
    pod = Process("payments-canary", new_host(group))
    times = 4
    group.trouble("assignor_flip", lambda: 2 * times - 2)
    for _ in range(times):
        group.start(pod)
        yield some(group, (2400, 3000))
        group.stop(pod)
        yield some(group, (2400, 3000))


@scene(CONSUMER, CLASSIC, SHARE)
def _two_applications(group: Script) -> Iterator[int]:
    some_topics = sorted(group.topics)
    if isinstance(group, ConsumerScript | ClassicScript):
        group.cluster.create("invoices", 4)
        some_topics += ["invoices"]
    fleet(group, 3, topics=frozenset(some_topics[:1]))
    yield CALM
    fleet(group, 2, "billing", topics=frozenset(some_topics[-1:]))
    group.trouble("two_applications", lambda: 2, clients=["billing", "payments"])


@scene(CONNECT)
def _tasks_move(group: ConnectScript) -> Iterator[int]:
    """An autoscaler starts a worker and ends it again: tasks go to it and come back."""
    fleet(group, 2, "connect")
    yield CALM
    begin, times = group.now, 12

    def moves() -> int:
        """Return the moves of the tasks that go to and fro; others move now and then, because a worker has one less."""
        counts = Counter(unit for at, unit in group.moves() if at >= begin)
        return sum(count for count in counts.values() if count > times)

    group.trouble("task_restarts", moves)
    for _ in range(times):
        worker = Process("connect", new_host(group))
        group.start(worker)
        yield some(group, (240, 320))
        group.stop(worker)
        yield some(group, (240, 320))


@scene(CONSUMER, STREAMS)
def _broker_hangs(group: ConsumerScript | StreamsScript) -> Iterator[int]:
    """A member joins, and when others are to give it a part, the coordinator does nothing more."""
    fleet(group, 4)
    yield 3 * HOUR
    while not group.behind():
        group.start(Process("payments", new_host(group)))
        if not group.behind():
            yield HOUR // 4
    group.trouble("coordinator_silent", group.behind, members=group.behind())
    group.hang()
