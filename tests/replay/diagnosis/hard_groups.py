"""Healthy groups that are hard to tell from others: what deployments, autoscalers, jobs and people do all day.

Each kind is a script for a group of any of some kinds of groups; its numbers are drawn, so that another seed is another
group. Nothing in them is a trouble.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kip848_records.kinds import CLASSIC, CONNECT, CONSUMER, SHARE, STREAMS
from kip848_records.simulate.spec import START_MS, BrokerClock, Simulation
from tests.replay.diagnosis.scripted import Log, compacted, diagnosed, written
from tests.simulator.scripted.behaviours import (
    HOUR,
    MINUTE,
    SECOND,
    fleet,
    new_host,
    pod_name,
    rejoin_again,
    restart,
    roll,
    some,
)
from tests.simulator.scripted.process import Process
from tests.simulator.scripted.scene import SCRIPTS

if TYPE_CHECKING:
    from random import Random

    from tests.simulator.scripted.script import Script

ALL = (CONSUMER, CLASSIC, SHARE, STREAMS, CONNECT)
NOT_CONNECT = ALL[:-1]
Wait = Iterator[int]


DAY = 24 * HOUR


class Hard(NamedTuple):
    script: Callable[[Script], Wait]
    kinds: tuple[str, ...]


HARD: dict[str, Hard] = {}


def hard(*kinds: str) -> Callable[[Callable[[Script], Wait]], Callable[[Script], Wait]]:
    def add(script: Callable[[Script], Wait]) -> Callable[[Script], Wait]:
        HARD[script.__name__] = Hard(script, kinds)
        return script

    return add


def in_turn(
    group: Script, act: Callable[[Process], None], processes: list[Process], between: tuple[float, float]
) -> Wait:
    """Start or stop processes one after another."""
    for each in processes:
        act(each)
        yield some(group, between)


def begin(number: int, seed: int) -> tuple[str, Script]:
    """A hard group: its name, and the group; kinds and scripts come in turn."""
    name = list(HARD)[number % len(HARD)]
    script, kinds = HARD[name]
    kind = kinds[number // len(HARD) % len(kinds)]
    group = SCRIPTS[kind](f"{seed}/{number}", f"{name}-{number}")
    group.SESSION_MS = group.rng.choice([6_000, 10_000, 30_000, 45_000, 45_000])
    group.follow(script(group))
    return f"{name}/{kind}", group


def outcome(number: int, seed: int) -> tuple[str, list[dict[str, Any]]]:
    """The name of a hard group, and the rows of `diagnosis` of a day of it.

    Of every second group the capture is made at some time of the day, every third one's brokers have other clocks, and
    of every fifth one a prefix is compacted.
    """
    name, group = begin(number, seed)
    until = START_MS + (DAY if number % 2 else round(DAY * group.rng.uniform(0.1, 1)))
    log = written(group, until)
    if not log:
        return name, []
    if number % 3 == 0:
        clock = BrokerClock(Simulation(1, hours=24, seed=seed), number)
        log = [row | {"timestamp": clock(row["timestamp"])} for row in log]
    if number % 5 == 0:
        return name, diagnosed(*_cut(log, until, group.rng))
    return name, diagnosed(log, until)


def _cut(log: Log, until: int, rng: Random) -> tuple[Log, int, int]:
    left, complete_from = compacted(log, rng.choice(log)["offset"])
    return left, until, complete_from


def crowd(group: Script, size: int, **fields) -> list[Process]:
    """Some processes with the names that one of several kinds of applications gives them."""
    style = group.rng.choice(["alike", "numbered", "pods", "nat", "one_host"])
    processes = fleet(group, size, **fields)
    host = new_host(group)
    for number, each in enumerate(processes):
        if style == "numbered":
            each.client_id = f"consumer-payments-{number + 1}"
        elif style == "pods":
            each.client_id = pod_name(group, "payments", "5d8f7b9c44")
        elif style == "nat":
            each.client_id, each.host = "rdkafka", host
        elif style == "one_host":
            each.client_id, each.host = f"payments-{number}", host
    return processes


def sized(group: Script, low: int, high: int) -> int:
    """A size: many are small."""
    return min(high, low + int(group.rng.paretovariate(1.2)) - 1)


def successor(group: Script) -> Callable[[Process], tuple[str, str]]:
    """What a new pod in the place of an old process is called."""
    version = f"{group.rng.randrange(16**8):08x}a7"

    def name(old: Process) -> tuple[str, str]:
        is_pod = old.client_id.startswith("payments-") and old.client_id.count("-") == 2
        client_id = pod_name(group, "payments", version) if is_pod else old.client_id
        return client_id, old.host if old.client_id == "rdkafka" else new_host(group)

    return name


def rolled(group: Script, old: list[Process], pace: tuple[float, float], *, new_first: bool) -> Wait:
    """Deploy a new version; afterwards `old` has the new processes."""
    name, before = successor(group), list(old)
    old.clear()
    for process in before:
        client_id, host = name(process)
        new = Process(client_id, host, process.topics, process.regex, process.instance_id)
        old.append(new)
        first, then = (group.start, group.stop) if new_first else (group.stop, group.start)
        first(new if new_first else process)
        yield some(group, pace)
        then(process if new_first else new)
        yield some(group, pace)


@hard(*ALL)
def quiet(group: Script) -> Wait:
    crowd(group, sized(group, 1, 20))
    yield HOUR


@hard(*ALL)
def deployments(group: Script) -> Wait:
    """Some rollouts a day, one pod after another, the new or the old one first."""
    pods = crowd(group, sized(group, 2, 16))
    pace = group.rng.choice([(5, 30), (20, 60), (60, 180)])
    while True:
        yield some(group, (2 * 3600, 9 * 3600))
        yield from rolled(group, pods, pace, new_first=group.rng.random() < 0.5)


@hard(CONSUMER, CLASSIC, SHARE, STREAMS, CONNECT)
def surge(group: Script) -> Wait:
    """All new pods start, and then all old ones end (blue-green)."""
    pods = crowd(group, sized(group, 2, 12))
    while True:
        yield some(group, (3 * 3600, 9 * 3600))
        name, old = successor(group), list(pods)
        pods.clear()
        for each in old:
            pods.append(Process(*name(each)))
            group.start(pods[-1])
            yield some(group, (0.1, 20))
        yield some(group, (60, 900))
        yield from in_turn(group, group.stop, old, (0.1, 20))


@hard(*ALL)
def recreate(group: Script) -> Wait:
    """All pods end, and all new ones start (strategy Recreate)."""
    pods = crowd(group, sized(group, 2, 12))
    while True:
        yield some(group, (3 * 3600, 9 * 3600))
        for each in pods:
            group.stop(each)
        yield some(group, (5, 120))
        name = successor(group)
        pods[:] = [Process(*name(each)) for each in pods]
        yield from in_turn(group, group.start, pods, (0.1, 8))


@hard(*NOT_CONNECT)
def autoscaler(group: Script) -> Wait:
    """Between a few pods and many, a step each some minutes, in a slow swing."""
    pods = crowd(group, 3)
    name = successor(group)
    high = group.rng.randint(5, 12)
    yield some(group, (60, 3600))
    while True:
        for _ in range(high - 3):
            pods.append(Process(*name(pods[0])))
            group.start(pods[-1])
            yield some(group, (300, 900))
        yield some(group, (1800, 7200))
        for _ in range(high - 3):
            group.stop(pods.pop())
            yield some(group, (300, 900))
        yield some(group, (1800, 7200))


@hard(*NOT_CONNECT)
def to_zero(group: Script) -> Wait:
    """Scaled to zero when there is nothing to do."""
    name, first = successor(group), Process("payments", new_host(group))
    while True:
        yield some(group, (12 * 60, 90 * 60))
        pods = [Process(*name(first)) for _ in range(group.rng.randint(1, 5))]
        yield from in_turn(group, group.start, pods, (1, 60))
        yield some(group, (12 * 60, 90 * 60))
        yield from in_turn(group, group.stop, pods, (0.1, 10))


@hard(*NOT_CONNECT)
def timetable(group: Script) -> Wait:
    """A CronJob."""
    period = group.rng.choice([10, 15, 30, 60, 120, 360]) * MINUTE
    size = group.rng.choice([1, 1, 2, 5])
    longest = period / 1000 * 0.6
    host = new_host(group)
    begin = group.now
    for number in range(1, 24 * 60 * MINUTE // period):
        yield max(1, begin + number * period + some(group, (0, 20)) - group.now)
        named = group.rng.random() < 0.5
        batch = [
            Process(f"report-{number}-{nth}" if named else "report", new_host(group) if named else host)
            for nth in range(size)
        ]
        for each in batch:
            group.start(each)
        yield some(group, (longest * 0.2, longest))
        for each in batch:
            group.stop(each)


@hard(*NOT_CONNECT)
def console(group: Script) -> Wait:
    """People look into a topic now and then."""
    while True:
        yield some(group, (300, 3 * 3600))
        for _ in range(group.rng.choice([1, 1, 1, 2, 3])):
            person = Process(group.rng.choice(["console-consumer", "kcat", "rdkafka"]), "/10.0.0.7")
            group.start(person)
            yield some(group, (8, 300))
            group.stop(person)
            yield some(group, (20, 200))


@hard(*NOT_CONNECT)
def developer(group: Script) -> Wait:
    """A program is started again and again in an afternoon."""
    yield 5 * HOUR
    program = Process("myapp", "/10.0.0.7")
    for _ in range(group.rng.randint(4, 9)):
        group.start(program)
        yield some(group, (60, 2400))
        group.rng.choice([group.stop, group.kill])(program)
        yield some(group, (400, 2400))


@hard(*ALL)
def one_crash(group: Script) -> Wait:
    """One process crashes now and then, and is back."""
    pods = crowd(group, sized(group, 3, 16))
    while True:
        yield some(group, (3 * 3600, 10 * 3600))
        yield from restart(group, group.rng.choice(pods), (3, 60), kills=group.rng.random() < 0.7)


@hard(*ALL)
def few_crashes(group: Script) -> Wait:
    """One process crashes twice or three times after a start, then it works."""
    pods = crowd(group, sized(group, 3, 10))
    yield some(group, (2 * 3600, 10 * 3600))
    unlucky = group.rng.choice(pods)
    for _ in range(group.rng.randint(2, 3)):
        yield from restart(group, unlucky, (5, 40), kills=group.rng.random() < 0.5)
        yield some(group, (50, 400))


@hard(*ALL)
def spot_instances(group: Script) -> Wait:
    """Some machines are taken each hour, and others come."""
    pods = crowd(group, group.rng.randint(8, 20))
    while True:
        yield some(group, (2400, 4800))
        for _ in range(group.rng.randint(1, 2)):
            gone = group.rng.choice(pods)
            pods.remove(gone)
            group.kill(gone)
            yield some(group, (30, 240))
            pods.append(Process(gone.client_id, new_host(group)))
            group.start(pods[-1])


@hard(*ALL)
def network_blips(group: Script) -> Wait:
    """A host is cut off for longer than a session, and what runs there is back under the same ids."""
    pods = crowd(group, sized(group, 3, 12))
    while True:
        yield some(group, (5 * 3600, 11 * 3600))
        for each in group.rng.sample(pods, group.rng.randint(1, len(pods))):
            group.kill(each)
        yield some(group, (55, 110))
        for each in pods:
            if not each.runs:
                group.start(each, returns=group.KIND in {CONSUMER, SHARE, STREAMS})
                yield some(group, (0.1, 5))


@hard(CONSUMER, SHARE, STREAMS)
def a_poll_missed(group: Script) -> Wait:
    """max.poll.interval.ms passes once or twice a day."""
    pods = crowd(group, sized(group, 3, 12))
    while True:
        yield some(group, (6 * 3600, 12 * 3600))
        yield from rejoin_again(group, group.rng.choice(pods), group.rng.choice([1, 1, 2]), (300, 400), (1, 6))


@hard(CONSUMER, CLASSIC)
def static_rollouts(group: Script) -> Wait:
    """Members with instance ids restart one after another, within their session or not."""
    pods = crowd(group, sized(group, 2, 10), instance_id="payments-{}".format)
    while True:
        yield some(group, (3 * 3600, 8 * 3600))
        yield from roll(group, pods, group.rng.choice([(4, 15), (10, 35), (50, 90)]))


@hard(CONSUMER, CLASSIC)
def static_restarts(group: Script) -> Wait:
    """A member with an instance id restarts now and then."""
    pods = crowd(group, sized(group, 2, 10), instance_id="payments-{}".format)
    while True:
        yield some(group, (2 * 3600, 5 * 3600))
        yield from restart(group, group.rng.choice(pods), (4, 40))


@hard(CONSUMER, CLASSIC)
def spare_members(group: Script) -> Wait:
    """More members than partitions, and rollouts."""
    pods = crowd(group, group.rng.randint(13, 18))
    while True:
        yield some(group, (5 * 3600, 9 * 3600))
        yield from rolled(group, pods, (10, 40), new_first=True)


@hard(CONSUMER)
def growing_expression(group: Script) -> Wait:
    """A topic that the expression matches is created each hour or so, and some get partitions."""
    regex = "^orders.*"
    crowd(group, sized(group, 2, 10), regex=regex)
    number = 0
    while True:
        yield some(group, (1200, 7200))
        number += 1
        group.cluster.create(f"orders-{number}", group.rng.randint(1, 6))
        yield some(group, (1, 120))
        group.resolve(regex)
        if group.rng.random() < 0.4:
            group.cluster.grow("orders", group.cluster.topics["orders"].partitions + 2)
            group.clients.wake()


@hard(CONSUMER, CLASSIC)
def new_topics_by_deployment(group: Script) -> Wait:
    """Each version subscribes to one topic more; one version is rolled back."""
    topics = {"orders"}
    pods = crowd(group, sized(group, 2, 8), topics=frozenset(topics))
    for number in range(1, 5):
        yield some(group, (2 * 3600, 5 * 3600))
        if number == 3:
            topics = topics - {f"extra-{number - 1}"}
        else:
            group.cluster.create(f"extra-{number}", 4)
            topics = topics | {f"extra-{number}"}
        before = list(pods)
        pods.clear()
        for each in before:
            new = Process(each.client_id, new_host(group), frozenset(topics))
            pods.append(new)
            group.stop(each)
            yield some(group, (5, 40))
            group.start(new)
            yield some(group, (5, 40))


@hard(CONSUMER)
def slow_all(group: Script) -> Wait:
    """All need long to give up partitions, and a pod is replaced each half an hour."""
    pods = crowd(group, group.rng.randint(4, 8), revoke_ms=lambda _: some(group, (6, 20)))
    while True:
        yield some(group, (1500, 3300))
        gone = pods.pop(0)
        group.stop(gone)
        yield some(group, (5, 60))
        pods.append(Process(gone.client_id, new_host(group), revoke_ms=some(group, (6, 20))))
        group.start(pods[-1])


@hard(*ALL)
def canary(group: Script) -> Wait:
    """One pod of a new version, the others half an hour later or back again."""
    pods = crowd(group, sized(group, 3, 10))
    while True:
        yield some(group, (4 * 3600, 8 * 3600))
        first = pods[0]
        yield from rolled(group, one := [first], (5, 40), new_first=False)
        yield some(group, (900, 3600))
        rest = pods[1:]
        if group.rng.random() < 0.7:
            yield from rolled(group, rest, (10, 40), new_first=False)
        else:
            yield from rolled(group, one, (5, 40), new_first=False)
        pods[:] = [*one, *rest]


@hard(*ALL)
def patching(group: Script) -> Wait:
    """Machines are rebooted one after another, each quarter or half of an hour."""
    pods = crowd(group, group.rng.randint(4, 12))
    yield some(group, (4 * 3600, 8 * 3600))
    pace = group.rng.choice([(600, 900), (900, 1500), (1500, 2100)])
    for each in list(pods):
        yield from restart(group, each, (90, 420), kills=group.rng.random() < 0.5)
        yield some(group, pace)


@hard(*NOT_CONNECT)
def scale_once(group: Script) -> Wait:
    """Scaled up for some hours, then down; later stopped for a weekend's maintenance of a quarter of an hour."""
    pods = crowd(group, 3)
    yield some(group, (3 * 3600, 6 * 3600))
    more = [Process("payments", new_host(group)) for _ in range(group.rng.randint(3, 20))]
    yield from in_turn(group, group.start, more, (0.1, 10))
    yield some(group, (2 * 3600, 6 * 3600))
    yield from in_turn(group, group.stop, more, (0.1, 2))
    yield some(group, (3600, 7200))
    for each in pods:
        group.stop(each)
    yield some(group, (400, 900))
    for each in pods:
        group.start(each)


@hard(*ALL)
def slow_start(group: Script) -> Wait:
    """Many members, which start one after another."""
    crowd(group, group.rng.randint(15, 40), within=group.rng.choice([60, 600, 1200]) * SECOND)
    yield HOUR


@hard(CONSUMER)
def upgrade(group: Script) -> Wait:
    """From the classic protocol to the consumer protocol, one restart after another."""
    old = [Process("payments", new_host(group), member_id=group.new_id()) for _ in range(group.rng.randint(2, 6))]
    group.coordinator.rebalance_classic(group.now, [group.member(each) for each in old])
    yield some(group, (2 * 3600, 6 * 3600))
    pods = [Process("payments", each.host) for each in old]
    for each, new in zip(old, pods, strict=True):
        group.start(new)
        yield some(group, (1, 5))
        group.clients.leave(group.clients.alive[each.member_id])
        yield some(group, (20, 90))
    yield some(group, (2 * 3600, 6 * 3600))
    yield from rolled(group, pods, (10, 40), new_first=False)


@hard(CONSUMER, CLASSIC)
def one_application_two_topics(group: Script) -> Wait:
    """One application whose processes have two listeners, each with a topic of its own."""
    group.cluster.create("payments", 6)
    for each in crowd(group, sized(group, 2, 6), topics=frozenset({"orders"})):
        other = Process(each.client_id, each.host, frozenset({"payments"}))
        group.at(group.now + 30_000, partial(group.start, other))
    yield HOUR


@hard(*NOT_CONNECT)
def batch_by_people(group: Script) -> Wait:
    """A program of some processes that is run by hand now and then."""
    while True:
        yield some(group, (1200, 5 * 3600))
        batch = [Process("backfill", new_host(group)) for _ in range(group.rng.randint(1, 6))]
        yield from in_turn(group, group.start, batch, (0.1, 3))
        yield some(group, (90, 5400))
        yield from in_turn(group, group.stop, batch, (0.1, 30))


@hard(*ALL)
def rollback(group: Script) -> Wait:
    """A deployment is rolled back after some minutes, and comes again, mended."""
    pods = crowd(group, sized(group, 2, 16))
    yield some(group, (3 * 3600, 6 * 3600))
    new_first = group.rng.random() < 0.5
    for pause in ((120, 900), (600, 2400), (1, 2)):
        yield from rolled(group, pods, (5, 30), new_first=new_first)
        yield some(group, pause)


@hard(*NOT_CONNECT)
def hunting(group: Script) -> Wait:
    """An autoscaler cannot decide: one pod more, one pod less, all day."""
    pods = crowd(group, sized(group, 3, 8))
    name = successor(group)
    while True:
        yield some(group, (500, 1500))
        more = Process(*name(pods[0]))
        group.start(more)
        yield some(group, (700, 1800))
        group.stop(more)


@hard(*ALL)
def drains(group: Script) -> Wait:
    """A node is drained: a part of the pods moves at once; twice a day."""
    pods = crowd(group, sized(group, 4, 20))
    while True:
        yield some(group, (4 * 3600, 9 * 3600))
        name = successor(group)
        moved = group.rng.sample(pods, max(1, len(pods) // 3))
        for each in moved:
            group.stop(each)
            pods.remove(each)
        yield some(group, (5, 90))
        for each in moved:
            pods.append(Process(*name(each)))
            group.start(pods[-1])
            yield some(group, (0.1, 10))


@hard(*ALL)
def everything(group: Script) -> Wait:
    """Deployments, single crashes, and a network that fails once, of parts of one application."""
    for script in (deployments, one_crash, network_blips):
        group.follow(script(group), after=group.rng.randint(0, HOUR))
    yield HOUR


@hard(CLASSIC)
def enforced(group: Script) -> Wait:
    """The application, or new metadata, lets all members join again once or twice an hour."""
    crowd(group, sized(group, 2, 12))
    while True:
        yield some(group, (1500, 4000))
        group.rejoin()


@hard(CONNECT)
def connectors_change(group: Script) -> Wait:
    """Connectors are created, resized and deleted all day."""
    crowd(group, group.rng.randint(2, 6))
    while True:
        yield some(group, (600, 3000))
        group.configure(f"connector-{group.rng.randrange(6)}", group.rng.choice([0, 1, 2, 4, 8]))


@hard(*NOT_CONNECT)
def before_its_topic(group: Script) -> Wait:
    """Members start some minutes before others bring load, and the leader of a pair of sites changes once."""
    first = crowd(group, 2)
    yield some(group, (4 * 3600, 8 * 3600))
    second = [Process(each.client_id, new_host(group)) for each in first]
    for each in second:
        group.start(each)
    yield some(group, (60, 900))
    for each in first:
        group.stop(each)


@hard(*ALL)
def crash_in_a_rollout(group: Script) -> Wait:
    """One of the new pods crashes twice while the others are replaced."""
    pods = crowd(group, group.rng.randint(4, 10))
    while True:
        yield some(group, (4 * 3600, 9 * 3600))
        group.follow(crashes(group, pods), after=group.rng.randint(60_000, 120_000))
        yield from rolled(group, pods, (20, 60), new_first=False)


def crashes(group: Script, pods: list[Process]) -> Wait:
    running = [each for each in pods if each.runs]
    if running:
        for _ in range(2):
            yield from restart(group, running[0], (5, 20), kills=True)
            yield some(group, (30, 90))
