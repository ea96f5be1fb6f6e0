"""The reasons for which Kafka's coordinator refuses to load a record, as data, and the releases that do.

Here are those that several kinds of groups have; the others are in the folder of their kind. The releases and their
known bugs are in `releases.toml`.

A coordinator that refuses one record does not load the partition, and none of its groups is available. The answers are
those of the coordinators of the releases, which were fed with records one at a time.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_DATA: Final[Mapping[str, Any]] = tomllib.loads(
    files("kip848_records.replay").joinpath("releases.toml").read_text(encoding="utf-8")
)

LOADERS: Final[tuple[str, ...]] = tuple(_DATA["releases"])
"""The releases whose loading is known, in their order. The first is the default coordinator of 3.9 and before."""
TRIED: Final[tuple[str, ...]] = tuple(_DATA["tried"])
"""Those of `LOADERS` whose coordinators gave the answers; the others are judged by the fixes that they have."""
PREVIEWS: Final[tuple[str, ...]] = tuple(_DATA["previews"])
"""Those of `LOADERS` in which the consumer protocol is a preview."""
RELEASES: Final = frozenset(TRIED) - {LOADERS[0], *PREVIEWS}
"""The releases that may have written a log, from the first one in which the consumer protocol is not a preview."""


FIRST_THAT_IGNORES: Final = (3, 5)
"""The first release that ignores records of types that it does not know (KIP-915): earlier ones are not judged."""
FIRST_WITH_STREAMS: Final[str] = _DATA["bugs"]["KAFKA-20254"]["fixed_in"][0]
"""The first release on which a classic application of Kafka Streams can move."""


class KnownBug(NamedTuple):
    """A known bug of Kafka, as in `releases.toml`."""

    rule: str
    has: tuple[str, ...]
    fixed_in: tuple[str, ...]
    consequence: str
    step: str
    source: str
    log: tuple[str, ...]
    ends_load: bool = True


KNOWN_BUGS: Final[Mapping[str, KnownBug]] = {
    name: KnownBug(**{**bug, **{key: tuple(bug[key]) for key in ("has", "fixed_in", "log")}})
    for name, bug in _DATA["bugs"].items()
}
"""The known bugs by their id: Kafka's, or a name of our own if Kafka has no report."""


REPORTED_BUGS: Final = frozenset(name for name in KNOWN_BUGS if name.startswith("KAFKA-"))
"""Those that Kafka's project has a report of."""


class Refusal(NamedTuple):
    """A reason. `seen`: the reason as text. `releases`: those that refuse the record. `known_bug`: Kafka's id of it.

    `writers`: the only releases that write such a value; None: the reason does not show them.
    """

    seen: str
    releases: frozenset[str] = frozenset(LOADERS)
    known_bug: str | None = None
    writers: frozenset[str] | None = None

    @classmethod
    def of_bug(cls, seen: str, known_bug: str) -> Refusal:
        """Return the reason of a known bug, with its releases."""
        return cls(seen, frozenset(KNOWN_BUGS[known_bug].has), known_bug)


def release_number(release: str) -> tuple[int, ...]:
    """Return a release in an order: as texts, 4.10 is before 4.2."""
    return tuple(map(int, release.removesuffix("-old").split(".")))


def between(first: str, to: str = LOADERS[-1]) -> frozenset[str]:
    """Return the releases from one to another."""
    return frozenset(LOADERS[LOADERS.index(first) : LOADERS.index(to) + 1])


@cache
def since(first: str) -> frozenset[str]:
    """Return the releases from one on, such as ``4.1``, that may have written a log."""
    return frozenset(release for release in RELEASES if release_number(release) >= release_number(first))


@cache
def knowing(key_type: int) -> frozenset[str]:
    """Return the releases that know a record type: the others ignore its records."""
    known: dict[str, frozenset[int]] = {}
    for each in _DATA["known_types"]:
        known |= dict.fromkeys(LOADERS[LOADERS.index(each["since"]) :], frozenset(each["types"]))
    return frozenset(release for release, types in known.items() if key_type in types)


@cache
def known_to_all(releases: frozenset[str]) -> frozenset[int]:
    """Return the record types that all of some releases know."""
    types = {key_type for each in _DATA["known_types"] for key_type in each["types"]}
    return frozenset(key_type for key_type in types if releases <= knowing(key_type))


def loader(release: str) -> str | None:
    """Return the one of `LOADERS` that a release is judged by; None if the text is no release from 3.5 on.

    Releases before KIP-915 do not load a partition with a record of a type that they do not know. It is the newest
    one of the same line that is not newer, else the oldest of the line, else the newest one before it.
    """
    if release in LOADERS:
        return release
    found = re.fullmatch(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", release)
    if found is None:
        return None
    number = release_number(release)
    if number < FIRST_THAT_IGNORES:
        return None
    of_line = [each for each in LOADERS[1:] if release_number(each)[:2] == number[:2]]
    older = [each for each in of_line or LOADERS[1:] if release_number(each) <= number]
    if len(number) == len(("major", "minor")) and of_line:
        return of_line[-1]
    return older[-1] if older else (of_line or LOADERS)[0]


FROM_4_1: Final = between("4.1.1")
"""Releases that know the records of streams groups, and the present layout of those of share groups."""
FROM_4_2: Final = between("4.2.0")
ONLY_4_0: Final = between("4.0.0", "4.0.2")

OTHER_KIND: Final = Refusal("the group is of another type")
MEMBER_WITH_ASSIGNMENT: Final = Refusal("the member is deleted before its current assignment")
MEMBER_WITH_TARGET: Final = Refusal("the member is deleted before its target assignment")
GROUP_WITH_MEMBERS: Final = Refusal("the group is deleted while it has members")
GROUP_WITH_TARGETS: Final = Refusal("the group is deleted while members have targets")
GROUP_WITH_ASSIGNMENT: Final = Refusal("the group is deleted before its assignment")
ASSIGNMENT_WITH_TARGETS: Final = Refusal("the assignment is deleted while members have targets")
TWO_OWNERS: Final = Refusal("another member has the partition at the same epoch or a later one")
HELD_TWICE: Final = Refusal("a partition is assigned and to be revoked")
TAKEN_EARLY: Final = Refusal.of_bug("another member still has the partition, at an earlier epoch", "KAFKA-19862")
TOPIC_TWICE: Final = Refusal("a topic occurs twice")
NEGATIVE_EPOCH: Final = Refusal("the assignment epoch is below -1", between("4.3.1"))
NEGATIVE_TIMESTAMP: Final = Refusal("the time of the assignment is negative", between("4.3.1"))
DUPLICATE_INSTANCE: Final = Refusal("two members have the same instance id")
DUPLICATE_MEMBER: Final = Refusal("a member id occurs twice, before another member")


def releases_text(releases: Collection[str]) -> str:
    """Return releases as text: the first and the last, since the releases of a reason are consecutive."""
    first, last = min(releases, key=release_number), max(releases, key=release_number)
    return first if first == last else f"{first} to {last}"
