"""Scenes of members that do not stay, one or many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kip848_records.kinds import CLASSIC, CONSUMER, SHARE, STREAMS
from tests.simulator.scripted.behaviours import (
    SECOND,
    fleet,
    new_host,
    pod_name,
    rejoin_again,
    restart_again,
    roll,
    some,
)
from tests.simulator.scripted.process import Process
from tests.simulator.scripted.scene import ALL, CALM, MODERN, scene

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.simulator.scripted.script import Script


def _loop(
    group: Script, times: int, lives: tuple[float, float], down: tuple[float, float], *, kills: bool
) -> Iterator[int]:
    """Let one of some processes restart again and again; its first end is that of a long time that went well."""
    sick, *_ = fleet(group, group.rng.randint(3, 6))
    yield CALM
    trouble = group.trouble("restart_loop", lambda: sick.ends - 1, sick)
    yield from restart_again(group, sick, times + 1, lives, down, kills=kills, ends=False)
    trouble.last_seen = group.now


@scene(*ALL)
def _killed(group: Script) -> Iterator[int]:
    yield from _loop(group, group.rng.randint(12, 40), (60, 140), (4, 25), kills=True)


@scene(*ALL)
def _terminated(group: Script) -> Iterator[int]:
    yield from _loop(group, group.rng.randint(12, 40), (20, 90), (4, 20), kills=False)


@scene(*ALL)
def _crash_loop_back_off(group: Script) -> Iterator[int]:
    yield from _loop(group, group.rng.randint(15, 25), (15, 40), (280, 300), kills=False)


@scene(*ALL)
def _leaking(group: Script) -> Iterator[int]:
    yield from _loop(group, group.rng.randint(8, 12), (13 * 60, 26 * 60), (5, 25), kills=True)


@scene(*ALL)
def _the_only_member(group: Script) -> Iterator[int]:
    only = fleet(group, 1)[0]
    yield CALM
    trouble = group.trouble("restart_loop", lambda: only.ends - 1, only)
    yield from restart_again(group, only, 21, (60, 100), (5, 20), ends=False)
    trouble.last_seen = group.now


@scene(*ALL)
def _evicted(group: Script) -> Iterator[int]:
    """Each new pod of one replica is evicted after some minutes: name and address are new each time."""
    fleet(group, 3, client_id="payments-5d8f7b9c44-x7k2p")
    yield CALM
    pods: list[Process] = []
    # The first one follows no other.
    group.trouble("restart_loop", lambda: sum(pod.ends for pod in pods) - 1)
    for _ in range(group.rng.randint(12, 20)):
        pod = Process(pod_name(group, "payments", "5d8f7b9c44"), new_host(group))
        pods.append(pod)
        group.start(pod)
        yield some(group, (120, 300))
        group.stop(pod)
        yield some(group, (20, 90))


@scene(CLASSIC)
def _misses_polls_under_new_ids(group: Script) -> Iterator[int]:
    """A classic member that misses max.poll.interval.ms joins again under another id."""
    yield from _loop(group, 12, (301, 303), (2, 5), kills=False)


def _returns(group: Script, times: int, stays: tuple[float, float], away: tuple[float, float]) -> Iterator[int]:
    """Let one of four processes leave and join again, without ending."""
    slow, *_ = fleet(group, 4)
    yield CALM
    before = slow.ends
    group.trouble("leaves_and_returns", lambda: slow.ends - before, slow)
    yield from rejoin_again(group, slow, times, stays, away)


@scene(*MODERN)
def _misses_each_poll(group: Script) -> Iterator[int]:
    yield from _returns(group, 12, (300, 304), (2, 6))


@scene(*MODERN)
def _unsubscribes(group: Script) -> Iterator[int]:
    yield from _returns(group, 20, (100, 400), (1, 30))


@scene(CONSUMER, CLASSIC)
def _static_member_flaps(group: Script) -> Iterator[int]:
    """A process with an instance id restarts each few minutes; the coordinator keeps its place."""
    sick, *_ = fleet(group, 4, instance_id="payments-{}".format)
    yield CALM
    group.trouble("static_member_flaps", lambda: sick.ends, sick)
    yield from restart_again(group, sick, 15, (180, 480), (5, 30))


@scene(CLASSIC)
def _two_with_one_instance_id(group: Script) -> Iterator[int]:
    """Two processes fence each other: the one that was fenced starts again and takes the place back."""
    first, *_ = fleet(group, 4, instance_id="payments-{}".format)
    yield CALM
    second = Process(first.client_id, first.host, instance_id=first.instance_id)
    group.trouble("duplicate_instance_id", lambda: first.ends + second.ends, first)
    for number in range(30):
        group.start((second, first)[number % 2])
        yield some(group, (10, 20))


def _storm(group: Script, everybody: Sequence[Process], **subject: Any) -> Iterator[int]:
    """Let all processes restart again and again; the first end of each is that of a long time that went well."""
    yield CALM
    group.trouble("storm", lambda: sum(each.ends for each in everybody) - len(everybody), **subject)
    for place, each in enumerate(everybody):
        group.follow(restart_again(group, each, 16, (240, 540), (10, 30), ends=False), place * 30 * SECOND)


@scene(*ALL)
def _all_run_out_of_memory(group: Script) -> Iterator[int]:
    yield from _storm(group, fleet(group, 10), members=10)


@scene(CONSUMER, CLASSIC, SHARE, STREAMS)
def _all_behind_one_address_run_out_of_memory(group: Script) -> Iterator[int]:
    """All have one client id and one address."""
    yield from _storm(group, fleet(group, 10, "rdkafka", host="/192.0.2.1"))


@scene(*ALL)
def _rollout(group: Script) -> Iterator[int]:
    size = group.rng.randint(3, 10)
    old = fleet(group, size)
    yield CALM
    group.trouble("rolling_restart", lambda: sum(each.ends for each in old))
    new_first = group.rng.choice([False, True])
    yield from roll(group, old, (10, 40), lambda each: (each.client_id, new_host(group)), new_first=new_first)


@scene(CONSUMER)
def _rollout_of_static_members(group: Script) -> Iterator[int]:
    old = fleet(group, 5, instance_id="payments-{}".format)
    yield CALM
    group.trouble("rolling_restart", lambda: sum(each.ends for each in old))
    yield from roll(group, old, (8, 30))
