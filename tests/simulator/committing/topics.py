"""The topics that committing groups read, several groups each topic, with the messages of their partitions."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.simulate.broker.cluster import uuid_of
from kip848_records.simulate.spec import START_MS
from tests.simulator.committing import flows

if TYPE_CHECKING:
    from tests.simulator.committing.flows import Flow

_GROUPS_PER_TOPIC: Final = 3
_MINUTE_MS: Final = 60_000
TRAFFIC: Final = ("steady", "uneven", "rare", "bursts", "partly-idle", "stops", "idle")
"""How messages come: the start of a topic's name."""


@dataclass(frozen=True)
class Topic:
    """A topic, and the messages of its partitions. `seed` and its name determine its id."""

    name: str
    seed: object
    flows: tuple[Flow, ...]

    @property
    def topic_id(self) -> str:
        """Its id."""
        return uuid_of("topic", self.seed, self.name)


def topics_of(number: int, random: Random) -> list[str]:
    """Return the names of the topics that a committing group reads: one that its neighbours read too, or two."""
    own = number // _GROUPS_PER_TOPIC
    other = max(0, own - random.randint(1, 20)) if random.random() < 1 / 3 else own
    return [_name(each) for each in sorted({own, other})]


def _name(number: int) -> str:
    return f"{TRAFFIC[number % len(TRAFFIC)]}-{number:05}"


def topic(name: str, seed: object, hours: float) -> Topic:
    """Return a topic with the traffic that its name says; the same arguments give the same messages."""
    random = Random(f"{seed}/{name}")  # noqa: S311 - a log, not a secret
    rng = np.random.default_rng(random.getrandbits(64))
    traffic = name.rsplit("-", 1)[0]
    rate = 10 ** random.uniform(-1.5, 1)
    return Topic(name, seed, tuple(_flow(traffic, rng, random, rate, hours) for _ in range(random.randint(2, 8))))


def _flow(traffic: str, rng: np.random.Generator, random: Random, rate: float, hours: float) -> Flow:
    if traffic == "idle" or (traffic == "partly-idle" and random.random() < 1 / 2):
        return flows.idle(rng)
    if traffic == "rare":
        return flows.rare(rng, 10 ** random.uniform(0, 2) * _MINUTE_MS, hours)
    if traffic == "bursts":
        lasts, apart = random.uniform(1, 20), random.uniform(5, 90)
        return flows.bursts(rng, rate, lasts * _MINUTE_MS, apart * _MINUTE_MS, hours)
    if traffic == "uneven":
        rate *= 10 ** random.uniform(-3, 0)
    flow = flows.steady(rng, rate, hours)
    return (
        flow.stopping(round(START_MS + random.uniform(0.2, 1) * hours * 60 * _MINUTE_MS))
        if traffic == "stops"
        else flow
    )
