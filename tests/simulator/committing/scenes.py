"""Scenes of consumption: what happens to a group that reads and commits, and where it stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kip848_records.simulate.broker.classic import COOPERATIVE
from kip848_records.simulate.spec import START_MS
from tests.simulator.committing import flows
from tests.simulator.committing.groups import (
    Committing,
    CommittingClassic,
    CommittingConsumer,
    CommittingSimple,
    CommittingStreams,
)
from tests.simulator.committing.reader import Style
from tests.simulator.committing.topics import Topic
from tests.simulator.scripted.behaviours import MINUTE, SECOND, fleet

if TYPE_CHECKING:
    from kip848_records.simulate.consumption import CommitKeys
    from tests.simulator.scripted.process import Process

MIN_HOURS: Final = 2.5
"""The longest scene."""
RETENTION_MS: Final = 60 * MINUTE
"""The broker keeps the offsets of groups without members so long, and those of topics that nobody subscribes to."""
CALM: Final = 40 * MINUTE
"""A group works well for so long before something happens."""
TOPICS: Final = ("orders", "payments")
"""The starts of the names of a group's topics."""
_PARTITIONS: Final = 6

GROUPS: Final[dict[str, type[Committing]]] = {
    "consumer": CommittingConsumer,
    "eager": CommittingClassic,
    "cooperative": CommittingClassic,
    "simple": CommittingSimple,
    "streams": CommittingStreams,
}
STYLES: Final = {
    "java": Style(),
    "librdkafka": Style(only_moved=True),
    "slow": Style(batch_ms=80 * SECOND),
    "transactions": Style(interval_ms=10 * SECOND, only_moved=True, on_release=False, in_transactions=True),
    "never": Style(interval_ms=0),
}
MEMBERS: Final = ("consumer", "eager", "cooperative")
ALL: Final = (*MEMBERS, "streams")
BOTH: Final = ("java", "librdkafka")


class CommitScene(NamedTuple):
    """A scene in one kind of group whose clients commit in one way.

    `is_followed`: another group reads the same messages. `is_seen`: readers of committed records see all of it.
    """

    name: str
    kind: str
    style: str
    script: Callable[..., Iterator[int]]
    is_followed: bool
    is_seen: bool

    def begin(self, seed: object, group_id: str, keys: CommitKeys, hours: float = MIN_HOURS) -> Committing:
        """Return a group at the start of the scene. `keys`: of its partition's commits. `hours`: of the simulation."""
        group = GROUPS[self.kind](f"{seed}/{group_id}", group_id)
        group.style = STYLES[self.style]
        group.assignor = COOPERATIVE if self.kind == "cooperative" else None
        group.subscribe_to(scene_topics(self.name, seed, group_id, hours), keys)
        group.follow(self.script(group))
        return group

    def follow(self, seed: object, group_id: str, keys: CommitKeys, hours: float = MIN_HOURS) -> Committing:
        """Return the other group: `group_id` is that of the first one, and the start of its own."""
        group = CommittingConsumer(f"{seed}/{group_id}/follower", follower_id(group_id))
        group.style = STYLES["librdkafka"]
        group.subscribe_to(scene_topics(self.name, seed, group_id, hours), keys)
        fleet(group, 2, "audit")
        return group


Script = Callable[..., Iterator[int]]
"""What happens to a group: it yields the ms that it waits."""

SCENES: Final[list[CommitScene]] = []
"""All scenes."""


def follower_id(group_id: str) -> str:
    """Return the id of the group that reads the messages of another one."""
    return f"{group_id}-follower"


def scene(
    kinds: tuple[str, ...] = MEMBERS,
    styles: tuple[str, ...] = BOTH,
    *,
    is_followed: bool = True,
    is_seen: bool = True,
) -> Callable[[Script], Script]:
    """Make a script a scene of some kinds of groups and some styles, with the name that the script has."""

    def add(script: Script) -> Script:
        name = script.__name__.strip("_").replace("_", "-")
        SCENES.extend(
            CommitScene(name, kind, style, script, is_followed, is_seen) for kind in kinds for style in styles
        )
        return script

    return add


def scene_topics(name: str, seed: object, group_id: str, hours: float) -> list[Topic]:
    """Return the topics of a scene's group, whose messages never stop, unless the scene is called `no-messages`."""
    rng = np.random.default_rng(list(f"{seed}/{group_id}".encode()))
    made = [[flows.steady(rng, float(rng.uniform(0.3, 3)), hours) for _ in range(_PARTITIONS)] for _ in TOPICS]
    if name == "no-messages":
        stopped = [[flow.stopping(START_MS + CALM) for flow in each] for each in made]
        made = [[flows.idle(rng), stopped[0][1], *made[0][2:]], stopped[1]]
    names = (f"{topic}-{group_id}" for topic in TOPICS)
    return [Topic(name, seed, tuple(each)) for name, each in zip(names, made, strict=True)]


def begin_clients(group: Committing, topics: frozenset[str] = frozenset()) -> list[Process]:
    """Start the clients of a group, which read some topics, or all of the group's."""
    return fleet(group, 1 if isinstance(group, CommittingSimple) else 3, assignor=group.assignor, topics=topics)


def stop_all(group: Committing, clients: list[Process]) -> Iterator[int]:
    """Let all clients end, so that the group is Empty."""
    for each in clients:
        group.stop(each)
        yield 2 * SECOND
    yield 10 * SECOND


def start_all(group: Committing, clients: list[Process]) -> Iterator[int]:
    """Let all clients start again."""
    for each in clients:
        group.start(each)
        yield 2 * SECOND
