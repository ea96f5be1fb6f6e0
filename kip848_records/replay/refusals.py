"""The reasons for which Kafka's coordinator refuses to load a record, as data, and the releases that do.

Here are those that several kinds of groups have; the others are in the folder of their kind.

A coordinator that refuses one record does not load the partition, and none of its groups is available. The answers are
those of the coordinators of `RELEASES`, which were fed with records one at a time.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

_RELEASES: Final = ("4.0.0", "4.1.1", "4.2.0", "4.2.1", "4.3.1", "4.4.0")
RELEASES: Final = frozenset(_RELEASES)
"""The releases that the answers are for, from the first one in which the consumer protocol is not a preview."""


class Refusal(NamedTuple):
    """A reason. `seen`: the reason as text. `releases`: those that refuse the record. `known_bug`: Kafka's id of it.

    `writers`: the only releases that write such a value; None: the reason does not show them.
    """

    seen: str
    releases: frozenset[str] = RELEASES
    known_bug: str | None = None
    writers: frozenset[str] | None = None


def release_number(release: str) -> tuple[int, ...]:
    """Return a release in an order: as texts, 4.10 is before 4.2."""
    return tuple(map(int, release.split(".")))


def between(first: str, to: str = _RELEASES[-1]) -> frozenset[str]:
    """Return the releases from one to another."""
    return frozenset(_RELEASES[_RELEASES.index(first) : _RELEASES.index(to) + 1])


@cache
def since(first: str) -> frozenset[str]:
    """Return the releases from one on, such as ``4.1``."""
    return frozenset(release for release in RELEASES if release_number(release) >= release_number(first))


FROM_4_1: Final = between("4.1.1")
"""Releases that know the records of streams groups, and the present layout of those of share groups."""
FROM_4_2: Final = between("4.2.0")
ONLY_4_0: Final = between("4.0.0", "4.0.0")

OTHER_KIND: Final = Refusal("the group is of another type")
MEMBER_WITH_ASSIGNMENT: Final = Refusal("the member is deleted before its current assignment")
MEMBER_WITH_TARGET: Final = Refusal("the member is deleted before its target assignment")
GROUP_WITH_MEMBERS: Final = Refusal("the group is deleted while it has members")
GROUP_WITH_TARGETS: Final = Refusal("the group is deleted while members have targets")
GROUP_WITH_ASSIGNMENT: Final = Refusal("the group is deleted before its assignment")
ASSIGNMENT_WITH_TARGETS: Final = Refusal("the assignment is deleted while members have targets")
TWO_OWNERS: Final = Refusal("another member has the partition at the same epoch or a later one")
HELD_TWICE: Final = Refusal("a partition is assigned and to be revoked")
TAKEN_EARLY: Final = Refusal(
    "another member still has the partition, at an earlier epoch", between("4.0.0", "4.1.1"), "KAFKA-19862"
)
TOPIC_TWICE: Final = Refusal("a topic occurs twice")
NEGATIVE_EPOCH: Final = Refusal("the assignment epoch is below -1", between("4.3.1"))
NEGATIVE_TIMESTAMP: Final = Refusal("the time of the assignment is negative", between("4.3.1"))
DUPLICATE_INSTANCE: Final = Refusal("two members have the same instance id")
DUPLICATE_MEMBER: Final = Refusal("a member id occurs twice, before another member")


def releases_text(releases: Collection[str]) -> str:
    """Return releases as text: the first and the last, since the releases of a reason are consecutive."""
    first, last = min(releases, key=release_number), max(releases, key=release_number)
    return first if first == last else f"{first} to {last}"
