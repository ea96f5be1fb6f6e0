"""Groups of a real broker whose clients crash, miss their polls, or are deployed."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.broker.clients import consumer, make_topic, produce
from tests.broker.processes import crash_again_and_again, slow_consumer
from tests.broker.running import Broker

PROTOCOLS = ("classic", "consumer")
PARTITIONS = 6
KILLS = 8
STAY_S = 10
POLL_MS = 6_000
RECORD_MS = 9_000
MISSED_FOR_S = 75
MEMBERS = 6
SESSION_S = 6
"""The longest of both protocols: then a killed member is gone."""


def crashes(broker: Broker, protocol: str, topic: str, *, kills: int = KILLS, session: str = "6000") -> None:
    """Of two clients one is killed with SIGKILL each ten seconds, and started again by a loop."""
    group = f"crashes-{protocol}"
    settings = broker.client() | {"group.id": group, "group.protocol": protocol, "client.id": "billing-worker"}
    if protocol == "classic":
        settings["session.timeout.ms"] = session
    with consumer(broker, group, [topic], protocol=protocol, more={"client.id": "steady"}) as steady:
        steady.wait_for(PARTITIONS)
        crash_again_and_again(settings, topic, times=kills, stay=STAY_S, pause=1)
        steady.wait_for(PARTITIONS)


def missed_polls(broker: Broker, protocol: str, topic: str, folder: Path, lasting: float = MISSED_FOR_S) -> None:
    """Of two clients one, a Java consumer, takes longer for a record than max.poll.interval.ms."""
    group = f"polls-{protocol}"
    settings = {
        "group.id": group,
        "group.protocol": protocol,
        "client.id": f"slow-{protocol}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "max.poll.records": "1",
        "max.poll.interval.ms": str(POLL_MS),
    }
    if protocol == "classic":
        settings |= {"session.timeout.ms": "6000", "heartbeat.interval.ms": "200"}
    steady = {"client.id": "steady", "enable.auto.commit": "false"}
    with consumer(broker, group, [topic], protocol=protocol, more=steady) as other:
        other.wait_for(PARTITIONS)
        with slow_consumer(broker, settings, topic, RECORD_MS, folder):
            time.sleep(lasting)


def deployed(broker: Broker, protocol: str, topic: str, age_s: float, pause_s: float) -> None:
    """Six members work for some time; then each leaves in turn, and its successor joins."""
    group = f"deployed-{protocol}"

    def member(number: int, version: int):
        named = f"orders-{number}" if protocol == "classic" else f"orders-{7 + version}d9f8b6c5d-x{number}t4z"
        return consumer(broker, group, [topic], protocol=protocol, more={"client.id": named})

    with ExitStack() as stack:
        before = [stack.enter_context(member(number, 0)) for number in range(MEMBERS)]
        for each in before:
            each.wait_for(1)
        time.sleep(age_s)
        for number, each in enumerate(before):
            each.leave()
            time.sleep(pause_s)
            stack.enter_context(member(number, 1)).wait_for(1)
            time.sleep(pause_s)
        time.sleep(pause_s)


def all_at_once(broker: Broker, folder: Path, topic: str, *, age_s: float | None) -> None:
    """Let all groups have their trouble at once; without `age_s` no group is deployed."""
    make_topic(broker, topic, PARTITIONS)
    produce(broker, topic, 60)
    with ThreadPoolExecutor(6) as pool:
        scenes = [pool.submit(crashes, broker, protocol, topic) for protocol in PROTOCOLS]
        scenes += [pool.submit(missed_polls, broker, protocol, topic, folder) for protocol in PROTOCOLS]
        if age_s is not None:
            scenes += [pool.submit(deployed, broker, protocol, topic, age_s, 5) for protocol in PROTOCOLS]
        for scene in scenes:
            scene.result()
