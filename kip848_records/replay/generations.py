"""The generations of a classic group: `classic_generation` and `classic_member`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.context import ms_between
from kip848_records.replay.generation import CREATED, EMPTIED, Generation
from kip848_records.replay.generation_cause import FIRST_GENERATION, cause_of, mode_of
from kip848_records.replay.last_owners import LastOwners
from kip848_records.replay.records import ConsumerAssignment, ConsumerSubscription

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.context import Context
    from kip848_records.replay.last_owners import Move
    from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue

NEXT_GENERATION: Final = "next_generation"


class _Facts(NamedTuple):
    """The values of a generation that are known when it begins.

    `begin`, `compared_from`: the smallest offset on which they depend, and on which `moved` depends.
    """

    begin: int
    compared_from: int
    columns: tuple[Any, ...]
    sync_ms: int | None
    moved: int | None


class Generations:
    """The generations of a classic group in the order of their records; the last one is open."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: Generation | None = None
        # The open generation's values that depend on the one before.
        self._facts: _Facts | None = None
        self.owners = LastOwners()

    def replay(self, value: ClassicGroupValue, offset: int, *, is_downgrade: bool) -> None:
        """Begin a generation with its type 2, or note that a record replaced a static member in the same one."""
        at, before = self._context.operation.at, self._open
        if before is not None and before.value.generation == value.generation and not is_downgrade:
            self._emit_members(before, before.replace(value, offset, at))
            self.owners.assign(before)
            return
        if before is not None and before.value.generation > value.generation:
            before = None  # the group was deleted in between, and its tombstone is missing
        now = Generation(value, offset, at)
        now.cause = cause_of(now, before, is_downgrade=is_downgrade)
        self.end(EMPTIED if now.cause.name == EMPTIED else NEXT_GENERATION)
        self._begin(now, before, self.owners.assign(now))

    def end(self, ended_by: str | None) -> None:
        """End the open generation with the operation; None: its end was not seen."""
        self._emit(self._context.operation.at if ended_by is not None else None, ended_by)
        self._open = None

    def finish(self) -> None:
        """Write the generation that is open at the end of the log."""
        self._emit(None, None)

    def _begin(self, now: Generation, before: Generation | None, moves: list[Move] | None) -> None:
        self._open = now
        value, is_first = now.value, before is None and now.value.generation == FIRST_GENERATION
        joined_at = value.state_at
        sync_ms = None if now.is_shown else ms_between(joined_at, now.at)
        joined: tuple[str, ...] | None = tuple(sorted(now.members)) if is_first else None
        left: tuple[str, ...] | None = () if is_first else None
        rounds = join_ms = None
        if before is not None:
            joined, left = now.joined(before), before.joined(now)
            rounds = value.generation - before.value.generation
            if before.cause.name == CREATED and rounds == 1:
                join_ms = ms_between(before.value.state_at, joined_at)
        moved = None if moves is None or (before is None and not now.is_shown and not is_first) else len(moves)
        columns = (
            *(value.protocol_type or None, value.protocol, value.leader, now.cause.name, mode_of(now, before)),
            *(rounds, joined_at, now.at, join_ms, sync_ms, len(value.member_ids), joined, left),
        )
        begin = now.offset if before is None else before.last_offset
        compared_from = min((move.owner.offset for move in moves or ()), default=begin)
        self._facts = _Facts(begin, compared_from, columns, sync_ms, moved)
        self._emit_members(now, value.members)

    def _emit(self, ended_at: int | None, ended_by: str | None) -> None:
        now, facts = self._open, self._facts
        if now is None or facts is None:
            return
        context = self._context
        units = None if now.units is None else len(now.units)
        row = (
            *(context.incarnation, now.value.generation, now.offset, *facts.columns),
            *(tuple(now.replaced), units, facts.moved, now.unassigned, ended_at, ended_by),
        )
        skew = (context.operation.is_skewed(facts.begin, facts.sync_ms),)
        extra = (now.has_static_members, facts.compared_from)
        context.emit("ClassicGeneration", facts.begin, row, end=now.last_offset, tail=skew, extra=extra)

    def _emit_members(self, now: Generation, members: Iterable[ClassicMemberValue]) -> None:
        context, value = self._context, now.value
        for member in members:
            subscription, assignment = member.subscription, member.assignment
            owned = assigned = None
            if isinstance(subscription, ConsumerSubscription):
                owned = self._named(subscription.owned)
            if isinstance(assignment, ConsumerAssignment):
                assigned = self._named(assignment.assigned)
            context.emit(
                "ClassicMember",
                now.offset,
                (
                    *(context.incarnation, value.generation, member.member_id, member.instance_id, member.client_id),
                    *(member.client_host, member.session_timeout_ms, member.rebalance_timeout_ms),
                    *(member.member_id == value.leader, member.topics, owned, assigned),
                    *(member.subscription_bytes, member.assignment_bytes),
                ),
            )

    def _named(self, units: frozenset[int]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return partitions by topic, both sorted."""
        by_topic: dict[str, list[int]] = {}
        name = self._context.numbers.of_names.name
        for topic, number in map(name, sorted(units)):
            by_topic.setdefault(topic, []).append(number)
        return tuple((topic, tuple(by_topic[topic])) for topic in sorted(by_topic))
