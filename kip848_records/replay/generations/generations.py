"""The generations of a classic group: `classic_generation` and `classic_member`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.generations.cause import cause_of, mode_of
from kip848_records.replay.generations.generation import Generation
from kip848_records.replay.generations.last_owners import LastOwners
from kip848_records.replay.generations.rebalances import ClassicRebalances
from kip848_records.replay.generations.round import Round, members_and_stopped
from kip848_records.replay.generations.rules import End, MemberColumns
from kip848_records.replay.generations.stays import GenerationStays
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import (
    CREATED,
    DOWNGRADED,
    EMPTIED,
    EPOCH_WENT_BACK,
    FIRST_GENERATION,
    TWO_OWNERS,
)
from kip848_records.replay.rows import new_struct, row_writer
from kip848_records.specs.tables import ANOMALY, CLASSIC_GENERATION, CLASSIC_MEMBER, UNAPPLIED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kip848_records.replay.generations.last_owners import Move, Owner
    from kip848_records.replay.generations.rules import ProtocolRules
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue

_write_anomaly: Final = row_writer(ANOMALY)
_write_generation: Final = row_writer(CLASSIC_GENERATION)
_OF_MEMBER: Final = (
    *("member_id", "instance_id", "client_id", "client_host", "session_timeout_ms", "rebalance_timeout_ms", "topics"),
    *("subscription_error", "assignment_error", "subscription_version", "user_data_bytes"),
)
_of_member: Final = attrgetter(*_OF_MEMBER)
_write_member: Final = row_writer(CLASSIC_MEMBER, member=_OF_MEMBER, columns=MemberColumns._fields)
_new_unapplied: Final = new_struct(UNAPPLIED)

NEXT_GENERATION: Final = "next_generation"
_FIRST_OFFSET: Final = 0


class Generations:
    """The generations of a classic group in the order of their records; the last one is open."""

    def __init__(self, context: Context, new_rules: Callable[[str, Context], ProtocolRules]) -> None:
        self._context = context
        self._new_rules = new_rules
        self._rules: dict[str, ProtocolRules] = {}
        self._open: Generation | None = None
        # The columns of the open generation that its first record decides.
        self._columns: dict[str, Any] = {}
        self._round: Round | None = None
        self.owners = LastOwners()
        self._rebalances = ClassicRebalances(context)
        self._stays = GenerationStays(context)

    def replay(
        self,
        value: ClassicGroupValue,
        offset: int,
        owners: dict[int, Owner] | None,
        *,
        is_downgrade: bool,
    ) -> None:
        """Begin a generation with its type 2, or note that a record replaced a static member in the same one.

        `is_downgrade`: the operation deleted a consumer group, whose partitions had these `owners` (None: unknown).
        """
        at, before = self._context.operation.at, self._open
        if before is not None and before.value.generation == value.generation and not is_downgrade:
            last_offset = before.last_offset
            self._emit_members(before, before.replace(value, offset, at))
            self.owners.assign(before)
            self._stays.assign(before, last_offset, has_partitions=self._rules_of(before).stops_partitions)
            return
        if before is not None and before.value.generation > value.generation:
            # The group was deleted in between and its tombstone is missing, or its generation went back.
            expected = f"a generation of at least {before.value.generation}"
            self._anomaly(
                EPOCH_WENT_BACK, offset, None, value.generation, expected, str(value.generation), before.last_offset
            )
            before = None
            self._stays.lose()
        now = Generation(value, offset, at, self._context.operation.leader_epoch)
        if before is not None and not is_downgrade:
            now.replace_in_round(before)
        now.cause = cause_of(now, before, self._rules_of(now), is_downgrade=is_downgrade)
        self._emit(at, EMPTIED if now.cause.name == EMPTIED else NEXT_GENERATION, offset)
        if not now.members:
            self._leave_units(at, offset)
        moves: list[Move] | None = []
        if is_downgrade and now.members:
            self.owners.take_over(now, owners)
        else:
            moves = self.owners.assign(now)
        self._begin(now, before, moves)

    def end(self, ended_by: str) -> None:
        """End the open generation with the operation: the group was deleted, or another type took its place."""
        operation = self._context.operation
        self._leave_units(operation.at, operation.last)
        self._emit(operation.at, ended_by, operation.last)
        self._rebalances.end(ended_by)
        self._stays.end_all()
        for rules in self._rules.values():
            rules.end()
        self.owners.forget()
        self._open = None

    def lose(self) -> None:
        """End the open generation at an unknown moment: records are missing."""
        self._emit(None, None)
        self.end_unseen()
        self._open = None

    def end_unseen(self) -> None:
        """End the open rebalance, and the gaps of units: records are missing that may have ended them."""
        self._rebalances.lose()
        self._stays.lose()
        for rules in self._rules.values():
            rules.lose()

    def finish(self) -> None:
        """Write the generation that is open at the end of the log."""
        self._leave_units(self._context.captured_at, None)
        self._emit(None, None)
        self._rebalances.finish()
        self._stays.finish()
        for rules in self._rules.values():
            rules.finish()

    def _leave_units(self, until: int | None, offset: int | None) -> None:
        """Write the units that the open rebalance left to no member, up to a time; `offset`: of what ended it."""
        now, first = self._open, self._rebalances.first_offset
        if now is None or first is None:
            return
        gaps = {unit: gap for unit, gap in self.owners.gaps_since(first).items() if gap.at is not None}
        unowned = self._rules_of(now).leave(now, gaps, End(until, offset))
        self._rebalances.note_unowned(unowned)

    def _rules_of(self, generation: Generation) -> ProtocolRules:
        protocol_type = generation.value.protocol_type or ""
        rules = self._rules.get(protocol_type)
        if rules is None:
            rules = self._rules[protocol_type] = self._new_rules(protocol_type, self._context)
        return rules

    def _begin(self, now: Generation, before: Generation | None, moves: list[Move] | None) -> None:
        self._open = now
        rules = self._rules_of(now)
        is_beginning = now.is_shown or now.value.generation == FIRST_GENERATION
        if before is None and not is_beginning:
            moves = None
        mode = mode_of(now, before, rules)
        columns = self._columns = _columns(now, before, mode) | {"unapplied": self._unapplied(now, before, rules)}
        columns |= rules.generation_columns(now)._asdict()
        begin = now.offset if before is None else before.last_offset
        if before is None and not is_beginning:
            begin = _FIRST_OFFSET  # one was before it, unless the log has every record from its start
        compared_from = min((move.owner.offset for move in moves or ()), default=begin)
        if self.owners.has_new and (rules.units_may_wait or self.owners.since == NEVER):
            # A unit may have had an owner before: in the generation before, it may have waited for one.
            compared_from = min(compared_from, self.owners.since)
        this = self._round = Round(
            now,
            before,
            mode,
            moves,
            columns["rounds"],
            columns["sync_ms"],
            begin,
            min(begin, compared_from),
            *members_and_stopped(now, before, moves, mode),
        )
        self._emit_members(now, now.value.members)
        self._check_owners(now, rules.one_owner)
        if self._context.is_evaluated:
            rules.assign(this)
        self._rebalances.add(this, rules)
        self._stays.assign(now, begin, has_partitions=rules.stops_partitions)

    def _unapplied(self, now: Generation, before: Generation | None, rules: ProtocolRules) -> tuple[Any, ...] | None:
        """Return the column `unapplied`: units of topics that a member no longer subscribes to are not missing."""
        if before is None or now.cause.name == DOWNGRADED:
            return () if now.is_shown or now.value.generation == FIRST_GENERATION else None
        name, found = self._context.numbers.of_names.name, []
        for member, kept, missing in now.unapplied(before):
            topics = member.topics
            wanted = missing if topics is None else frozenset(unit for unit in missing if name(unit)[0] in topics)
            if kept or wanted:
                found.append(
                    _new_unapplied(member_id=member.member_id, kept=rules.named(kept), missing=rules.named(wanted))
                )
        return tuple(found)

    def _check_owners(self, now: Generation, expected: str | None) -> None:
        """Check that no two members have a unit, where that is expected."""
        if expected is None or (shared := now.shared_unit()) is None:
            return
        unit, (first, *others) = shared
        topic, number = self._context.numbers.of_names.name(unit)
        name = topic if number < 0 else f"{topic}-{number}"
        seen = f"{name} also of {', '.join(others)}"
        self._anomaly(TWO_OWNERS, now.offset, first, now.value.generation, expected, seen)

    def _anomaly(  # noqa: PLR0913, PLR0917 - the columns of `anomaly`
        self,
        kind: str,
        offset: int,
        member_id: str | None,
        generation: int,
        expected: str,
        seen: str,
        compared: int | None = None,
    ) -> None:
        """Write an anomaly; `compared`: the offset of the earlier record that it contradicts, if there is one."""
        context = self._context
        _write_anomaly(
            context,
            offset if compared is None else compared,
            kind=kind,
            offset=offset,
            at=context.operation.at,
            member_id=member_id,
            epoch=generation,
            expected=expected,
            seen=seen,
        )

    def _emit(self, ended_at: int | None, ended_by: str | None, ended_offset: int | None = None) -> None:
        now, of_now, context = self._open, self._round, self._context
        if now is None or of_now is None:
            return
        _write_generation(
            context,
            of_now.begin,
            generation=now.value.generation,
            offset=now.offset,
            static_replaced=tuple(now.replaced),
            units=None if now.units is None else len(now.units),
            moved=None if of_now.moves is None else len(of_now.moves),
            unassigned=now.unassigned,
            ended_at=ended_at,
            ended_by=ended_by,
            clock_skew=context.operation.is_skewed(of_now.begin, of_now.sync_ms),
            **self._columns,
            end=now.last_offset,
            extra=(now.has_static_members, of_now.compared_from, now.last_offset, ended_offset, now.replaced_in_round),
        )

    def _emit_members(self, now: Generation, members: Iterable[ClassicMemberValue]) -> None:
        context, value, rules = self._context, now.value, self._rules_of(now)
        for member in members:
            owned, assigned = rules.partitions(member)
            _write_member(
                context,
                now.offset,
                generation=value.generation,
                member=_of_member(member),
                columns=rules.member_columns(now, member),
                is_leader=member.member_id == value.leader,
                owned=owned,
                assigned=assigned,
                subscription=member.subscription_bytes,
                assignment=member.assignment_bytes,
            )
            rules.emit_member(now, member)


def _columns(now: Generation, before: Generation | None, mode: str | None) -> dict[str, Any]:
    """Return the columns that the first record of a generation decides."""
    value, joined_at = now.value, now.value.state_at
    joined: tuple[str, ...] | None = None
    left: tuple[str, ...] | None = None
    rounds = join_ms = None
    if before is not None:
        joined, left = now.joined(before), before.joined(now)
        rounds = value.generation - before.value.generation
        if before.cause.name == CREATED and rounds == 1:
            join_ms = ms_between(before.value.state_at, joined_at)
    elif value.generation == FIRST_GENERATION:
        joined, left = tuple(sorted(now.members)), ()
    return {
        "protocol_type": value.protocol_type or None,
        "protocol": value.protocol,
        "leader": value.leader,
        "cause": now.cause.name,
        "mode": mode,
        "rounds": rounds,
        "joined_at": joined_at,
        "completed_at": now.at,
        "join_ms": join_ms,
        "sync_ms": None if now.is_shown else ms_between(joined_at, now.at),
        "members": len(value.member_ids),
        "joined": joined,
        "left": left,
    }
