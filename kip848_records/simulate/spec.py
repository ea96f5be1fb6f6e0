"""The parameters of a simulation."""

from __future__ import annotations

import math
from bisect import bisect
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kip848_records.errors import InputError
from kip848_records.kinds import KINDS
from kip848_records.simulate.broker.cluster import OFFSETS_PARTITIONS
from kip848_records.simulate.broker.releases import NEWEST, RELEASES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.kinds import Kind
    from kip848_records.simulate.broker.releases import Release

START_MS: Final = 1_800_000_000_000
"""The start of the simulation's time: 2027-01-15 08:00 UTC."""

MOST_MEMBERS: Final = 10_000
"""The largest number of members of a group."""

_MOST_GROUPS: Final = 1_000_000

_HOUR_MS: Final = 3_600_000
_MAX_HOURS: Final = 24 * 366
_MIN_HOURS: Final = 0.001
MIN_HOURS_OF_OTHERS: Final = 0.04
"""A rebalance of a classic group takes up to a minute, and none begins that may not end before the log does."""
_SMALL_MEMBER_HOURS: Final = 30
_TOPICS: Final = 20
_WIDEST_NARROW: Final = 8
"""Larger groups need a topic with a partition for each member."""

_WITHOUT_TOPIC_MS: Final = (1, 60_000)
"""How long a recreated topic is missing."""

_HOURS_PER_GROWTH: Final = 8
"""The mean time until a topic gets more partitions."""


class OtherKind(NamedTuple):
    """A kind of groups other than consumer groups."""

    kind: Kind

    @property
    def words(self) -> str:
        """Its plural."""
        return f"{self.kind.title}s"

    @property
    def prefix(self) -> str:
        """The start of its group ids."""
        return self.kind.title.lower().replace(" ", "-")

    @property
    def field(self) -> str:
        """The field of `Simulation` that has their number."""
        return f"{self.kind.name}_groups"

    @property
    def option(self) -> str:
        """The option of the command line that has their number."""
        return f"--{self.kind.name}-groups"


@dataclass(frozen=True)
class Simulation:
    """A cluster of `groups` consumer groups with about `members` members each, over `hours` hours.

    `release`: Kafka's, 4.0 or 4.3. `partitions`: those of `__consumer_offsets`. `happening_s`: the mean time between
    two events of a group. `commit_interval_ms`: how often each member commits the offsets of its partitions; 0: no
    offset commits, which are most of a real log. `largest`: if not 0, the sizes of groups follow a power law from 1 to
    this size, instead of `members`: half as many groups have at least the double size. The first group has the largest
    size, and is never at rest. `compacted`: run Kafka's cleaner over all but the newest part of each partition;
    `delete_retention_ms`: how long it keeps tombstones. `recreations_per_hour`: how often, on average, each topic is
    deleted, and created again with another id. `classic_groups`, `connect_groups`, `share_groups`, `streams_groups`:
    how many groups of other kinds there are, with about four members each; they need `hours` of at least 0.04. The
    fields `members`, `commit_interval_ms`, `largest` and `recreations_per_hour` are only for the groups that `groups`
    counts.

    The same fields give the same log, and a group behaves the same with any other groups.

    Raises InputError for values that cannot be simulated.
    """

    groups: int
    members: int = 5
    hours: float = 1.0
    seed: int = 0
    release: str = "4.3"
    partitions: int = OFFSETS_PARTITIONS
    happening_s: float = 180.0
    commit_interval_ms: int = 5_000
    largest: int = 0
    compacted: bool = False
    delete_retention_ms: int = 86_400_000
    recreations_per_hour: float = 0.0
    classic_groups: int = 0
    connect_groups: int = 0
    share_groups: int = 0
    streams_groups: int = 0

    def __post_init__(self) -> None:
        """Reject values that cannot be simulated."""
        others = {kind.field: getattr(self, kind.field) for kind in OTHER_KINDS}
        limits: dict[str, tuple[float, float]] = {
            "groups": (0 if self.has_others else 1, _MOST_GROUPS),
            **dict.fromkeys(others, (0, _MOST_GROUPS)),
            "members": (1, MOST_MEMBERS),
            "hours": (MIN_HOURS_OF_OTHERS if any(others.values()) else _MIN_HOURS, _MAX_HOURS),
            "partitions": (1, 10_000),
            "happening_s": (1, math.inf),
            "commit_interval_ms": (0, math.inf),
            "largest": (0, MOST_MEMBERS),
            "delete_retention_ms": (0, math.inf),
            "recreations_per_hour": (0, 3_600),
        }
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                raise InputError.not_simulated(name, getattr(self, name), low, high)
        if self.release not in RELEASES:
            raise InputError(f"Kafka {self.release} cannot be simulated", f"choose one of {', '.join(RELEASES)}")
        newest_only = [each for each in OTHER_KINDS if each.kind.first_release > self.release]
        if any(others[each.field] for each in newest_only):
            words = " and ".join(kind.words for kind in newest_only)
            options = " and ".join(kind.option for kind in newest_only)
            raise InputError(
                f"{words} cannot be simulated with release {self.release}", f"use --release {NEWEST}, or omit {options}"
            )

    @property
    def has_others(self) -> bool:
        """Whether there are groups other than those that `groups` counts."""
        return any(getattr(self, kind.field) for kind in OTHER_KINDS)

    @property
    def is_small(self) -> bool:
        """Whether to start processes would take longer than to simulate."""
        others = sum(getattr(self, kind.field) for kind in OTHER_KINDS)
        return not self.largest and self.hours * (self.groups * self.members + others) < _SMALL_MEMBER_HOURS

    @property
    def kafka(self) -> Release:
        """The release whose coordinator writes the log."""
        return RELEASES[self.release]

    @property
    def end_ms(self) -> int:
        """When the simulation ends, in ms since 1970: the newest timestamp in the log."""
        return START_MS + round(self.hours * _HOUR_MS)

    def topics(self) -> list[tuple[str, int]]:
        """Return the topics at the start: name and number of partitions."""
        random = Random(f"{self.seed}/topics")  # noqa: S311 - a log, not a secret
        topics = [(f"topic-{number:02}", random.choice([6, 12, 12, 24])) for number in range(_TOPICS)]
        return [*topics, *((_wide(partitions), partitions) for partitions in _doubling(_WIDEST_NARROW, self.largest))]

    def is_hot(self, number: int) -> bool:
        """Return whether a group is the largest one, which is never at rest."""
        return number == 0 and self.largest > 0

    def size(self, number: int, random: Random) -> int:
        """Return the approximate number of members of a group."""
        size = self.typical_size(number)
        return size if self.largest else max(1, round(random.gauss(size, size / 3)))

    def typical_size(self, number: int) -> int:
        """Return the expected number of members of a group."""
        if not self.largest:
            return self.members
        if self.is_hot(number):
            return self.largest
        # The share of groups that are at least as large: 1 for a size of 1, a half for a size of 2.
        share = Random(f"{self.seed}/size/{number}").uniform(1 / self.largest, 1)  # noqa: S311
        return int(1 / share)

    def subscribed(self, number: int, random: Random) -> frozenset[str]:
        """Return the first topics of a group: for a large one a topic with a partition for each member."""
        names = [name for name, _ in self.topics()[:_TOPICS]]
        wide = _doubling(_WIDEST_NARROW, self.typical_size(number)) if self.largest else []
        if wide:
            return frozenset([_wide(wide[-1]), *random.sample(names[:2], random.randint(0, 1))])
        return frozenset(random.sample(names, random.randint(1, 3)))

    def growths(self) -> list[tuple[int, str, int]]:
        """Return time (ms), topic and new number of partitions of each growth, in the order of time."""
        random = Random(f"{self.seed}/growths")  # noqa: S311
        grown = [topic for topic in self.topics() if random.random() < self.hours / _HOURS_PER_GROWTH]
        return sorted((random.randrange(START_MS, self.end_ms), name, n + random.choice([1, 4])) for name, n in grown)

    def recreations(self) -> list[TopicRecreation]:
        """Return the topics that are deleted and created again, with the times."""
        random = Random(f"{self.seed}/recreations")  # noqa: S311
        recreations: list[TopicRecreation] = []
        for name, partitions in self.topics():
            time = float(START_MS)
            while self.recreations_per_hour:
                time += random.expovariate(self.recreations_per_hour / _HOUR_MS)
                created_at = round(time) + random.randint(*_WITHOUT_TOPIC_MS)
                if created_at >= self.end_ms:
                    break
                seed = f"{self.seed}/{len(recreations)}"
                recreations.append(TopicRecreation(name, partitions, seed, round(time), created_at))
                time = created_at
        return recreations


OTHER_KINDS: Final = tuple(
    other for other in map(OtherKind, KINDS.values()) if other.field in Simulation.__dataclass_fields__
)
"""The kinds of groups other than consumer groups that can be simulated: `Simulation` has a field for each."""


class TopicRecreation(NamedTuple):
    """A topic is deleted, and created again with an id that `seed` determines."""

    name: str
    partitions: int
    seed: str
    deleted_at: int
    created_at: int


def _wide(partitions: int) -> str:
    return f"wide-{partitions}"


def _doubling(start: int, end: int) -> list[int]:
    """Return twice `start`, twice that, and so on, up to the first value of at least `end`."""
    sizes = []
    while start < end:
        start *= 2
        sizes.append(start)
    return sizes


class BrokerClock:
    """The clock of the broker that leads one partition of `__consumer_offsets`; some clocks are slow, none is fast.

    Now and then the partition moves to another broker and back. At the end of the simulation the clock is right, so
    that nothing in the log is newer.
    """

    def __init__(self, spec: Simulation, partition: int) -> None:
        random = Random(f"{spec.seed}/clock/{partition}")  # noqa: S311
        moves = 2 * int(random.random() * (2 + spec.hours / 6))
        self._moves = sorted(random.randrange(START_MS, spec.end_ms) for _ in range(moves))
        self._behind = [random.randint(1, 3_000) if place % 2 else 0 for place in range(moves + 1)]

    def of_many(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the clock's times for many times of the simulation."""
        behind = np.array(self._behind, np.int64)
        return times - behind[np.searchsorted(np.array(self._moves, np.int64), times, side="right")]

    def __call__(self, time: int) -> int:
        """Return the clock's time for a time of the simulation."""
        return time - self._behind[bisect(self._moves, time)]
