"""The rules of generations that depend on the protocol type of a classic group."""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.generations.generation import ASSIGNOR_CHANGED, Cause
from kip848_records.replay.group.vocabulary import DOWNGRADED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.generations.last_owners import Gap
    from kip848_records.replay.generations.round import Round
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.numbers import PartitionNumbers
    from kip848_records.replay.records import ClassicMemberValue

    Named = tuple[tuple[str, tuple[int, ...]], ...]

_REMEMBERED: Final = 256
"""How many sets of units are remembered with their names."""


class End(NamedTuple):
    """When a rebalance ended, or the capture (ms). `offset`: of the record that ended it; None while it lasts."""

    at: int | None
    offset: int | None


class GenerationColumns(NamedTuple):
    """What the assignments of a generation say beyond who has what: columns of `classic_generation`."""

    error: int | None = None
    next_rebalance_at: int | None = None
    warm_ups: tuple[Any, ...] | None = None


class MemberColumns(NamedTuple):
    """What a member's payloads say beyond its partitions: columns of `classic_member`."""

    active_tasks: tuple[str, ...] | None = None
    standby_tasks: tuple[str, ...] | None = None
    url: str | None = None
    undecoded: str | None = None


class ProtocolRules:
    """The rules of one protocol type; here those of a type whose payloads the replay cannot read.

    `one_owner`: what `anomaly` expects where two members have one unit; None if such members may share units.
    `units_may_wait`: a unit without an owner in one generation may wait for one, and is not new in the next.
    `stops_partitions`: offset commits show when its members stop and resume.
    """

    one_owner: str | None = None
    units_may_wait = False
    stops_partitions = False

    def __init__(self, context: Context) -> None:
        self._context = context

    def protocol_cause(self, now: Generation, before: Generation) -> Cause | None:
        """Return the cause of a generation with another protocol; it comes before members that join or leave."""
        return Cause(ASSIGNOR_CHANGED) if has_other_protocol(now, before) else None

    def cause_of_same_members(self, now: Generation, before: Generation) -> Cause:  # noqa: ARG002 - unknown payloads
        """Return the cause of a generation with the members of the one before."""
        return Cause(UNKNOWN)

    def mode(self, now: Generation, before: Generation | None) -> str | None:  # noqa: ARG002 - unknown payloads
        """Return the rebalance protocol of a round whose payloads were read, by evidence."""
        return None

    def needs_follow_up(self, now: Generation) -> bool:
        """Return whether another generation has to follow."""
        return bool(now.unassigned) or now.cause.name == DOWNGRADED

    def assign(self, round_: Round) -> None:
        """Write what a generation hands over from member to member."""

    def leave(self, now: Generation, gaps: Mapping[int, Gap], end: End) -> list[int | None]:  # noqa: ARG002 - as above
        """Write the units that an ongoing rebalance left to no member, and return how long each had no owner, in ms.

        `now`: its last generation.
        """
        return []

    def to_give_up(self, now: Generation) -> list[ClassicMemberValue]:  # noqa: ARG002 - unknown payloads
        """Return the members that have to give units up after a generation, and then ask for the next one."""
        return []

    def emit_member(self, now: Generation, member: ClassicMemberValue) -> None:
        """Write the row of a member in a table of its protocol type."""

    def partitions(self, member: ClassicMemberValue) -> tuple[Named | None, Named | None]:  # noqa: ARG002 - as above
        """Return the partitions that a member still had when it joined, and those that it has now, by topic."""
        return None, None

    def generation_columns(self, now: Generation) -> GenerationColumns:  # noqa: ARG002 - unknown payloads
        """Return what the assignments of a generation say beyond who has what; asked once for each, in order."""
        return GenerationColumns()

    def member_columns(self, now: Generation, member: ClassicMemberValue) -> MemberColumns:  # noqa: ARG002 - as above
        """Return what a member's payloads say beyond its partitions."""
        return MemberColumns()

    def rebalance_columns(self, rounds: list[Round]) -> tuple[int | None, int | None, int | None]:  # noqa: ARG002
        """Return the longest delay of a rebalance, until when its leader waits, and how many units it revoked."""
        return None, None, None

    def end(self) -> None:
        """End what is open with the operation: the group was deleted, or another type took its place."""

    def lose(self) -> None:
        """End what is open: records are missing that may have ended it."""
        self.end()

    def finish(self) -> None:
        """Write what is open at the end of the log."""

    @cached_property
    def named(self) -> Callable[[frozenset[int]], Named]:
        """A function that returns units by topic, or by connector, both sorted.

        Most members have the same units in the next generation.
        """
        return lru_cache(_REMEMBERED)(partial(_named, self._context.numbers.of_names))


def _named(numbers: PartitionNumbers, units: frozenset[int]) -> Named:
    by_topic: dict[str, list[int]] = {}
    for topic, number in map(numbers.name, sorted(units)):
        by_topic.setdefault(topic, []).append(number)
    return tuple((topic, tuple(sorted(by_topic[topic]))) for topic in sorted(by_topic))


def has_other_protocol(now: Generation, before: Generation) -> bool:
    """Return whether two generations have different protocols, both known."""
    protocols: set[Any] = {now.value.protocol, before.value.protocol}
    return len(protocols) > 1 and None not in protocols


RULES = ProtocolRules
