"""Groups in which nothing is wrong: every message that comes is read, sooner or later, and committed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import KINDS
from kip848_records.simulate.broker.classic import COOPERATIVE
from tests.simulator.committing.groups import (
    Committing,
    CommittingClassic,
    CommittingConsumer,
    CommittingSimple,
    CommittingStreams,
)
from tests.simulator.committing.reader import Style
from tests.simulator.committing.topics import topic, topics_of
from tests.simulator.scripted.behaviours import HOUR, MINUTE, SECOND, fleet, new_host, restart, roll
from tests.simulator.scripted.process import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.simulate.consumption import CommitKeys
    from tests.simulator.run import Simulation

_KINDS: Final[dict[str, tuple[int, type[Committing]]]] = {
    "consumer": (40, CommittingConsumer),
    "static": (10, CommittingConsumer),
    "eager": (15, CommittingClassic),
    "cooperative": (20, CommittingClassic),
    "simple": (10, CommittingSimple),
    "streams": (5, CommittingStreams),
}
"""Kinds of groups by the first word of their ids: how common they are, and the class."""
_STYLES: Final[dict[str, tuple[int, Style]]] = {
    "java": (40, Style()),
    "librdkafka": (25, Style(only_moved=True)),
    "batches": (15, Style(interval_ms=1_000, only_moved=True, batch_ms=500)),
    "slow": (8, Style(batch_ms=60 * SECOND)),
    "transactions": (7, Style(interval_ms=10 * SECOND, only_moved=True, on_release=False, in_transactions=True)),
    "seldom": (5, Style(interval_ms=MINUTE)),
}
"""How clients commit, by the second word."""
_EVENTS: Final = {"calm": 6, "deploys": 3, "scales": 2, "crashes": 2}
"""What happens to the clients, by the third word."""
_SIZES: Final = (1, 2, 2, 3, 4)


def _id(spec: Simulation, number: int) -> str:
    """Return the id of a committing group, which says what it does."""
    random = Random(f"{spec.seed}/committing/{number}")  # noqa: S311 - a log, not a secret
    kinds = {name: share for name, (share, kind) in _KINDS.items() if KINDS[kind.KIND].first_release <= spec.release}
    kind = _drawn(random, kinds)
    style = _drawn(random, {name: share for name, (share, _) in _STYLES.items()})
    events = "calm" if kind == "simple" else _drawn(random, _EVENTS)
    return f"{kind}-{style}-{events}-{number:05}"


class HealthyGroup(NamedTuple):
    """A group of a simulation, before it begins."""

    group_id: str

    def begin(self, spec: Simulation, keys: CommitKeys) -> Committing:
        """Return the group at the start of the simulation. `keys`: those of its partition's commits."""
        return _begin(spec, self.group_id, keys)


def committing_groups(spec: Simulation) -> Iterator[HealthyGroup]:
    """Yield the groups of a simulation that commit what they have read."""
    return (HealthyGroup(_id(spec, number)) for number in range(spec.committing_groups))


def _begin(spec: Simulation, group_id: str, keys: CommitKeys) -> Committing:
    """Return a group from the start of the simulation on; `keys`: of its partition's commits."""
    kind, style, events, number = group_id.split("-")
    group = _KINDS[kind][1](f"{spec.seed}/{group_id}", group_id)
    group.style = _STYLES[style][1]
    names = topics_of(int(number), group.rng)
    group.subscribe_to([topic(name, spec.seed, spec.hours) for name in names], keys)
    group.follow(_live(group, kind, events))
    return group


def _drawn(random: Random, shares: dict[str, int]) -> str:
    return random.choices(list(shares), list(shares.values()))[0]


def _live(group: Committing, kind: str, events: str) -> Iterator[int]:
    assignor = COOPERATIVE if kind == "cooperative" else None
    size = 1 if kind == "simple" else group.rng.choice(_SIZES)
    static = (lambda number: f"{group.group_id}-{number}") if kind == "static" else None
    processes = fleet(group, size, assignor=assignor, instance_id=static)
    yield 5 * MINUTE
    while events != "calm":
        yield group.rng.randint(10 * MINUTE, 3 * HOUR)
        if events == "deploys":
            yield from roll(group, processes, (5, 40))
        elif events == "scales":
            more = Process("payments", new_host(group), assignor=assignor)
            group.start(more)
            yield group.rng.randint(5 * MINUTE, HOUR)
            group.stop(more)
        else:
            yield from restart(group, group.rng.choice(processes), (50, 90), kills=True)
