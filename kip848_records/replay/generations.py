"""The generations of a classic group: `classic_generation`, `classic_member`, and its `partition_handover`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CLASSIC
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.replay.anomalies import EPOCH_WENT_BACK, TWO_OWNERS
from kip848_records.replay.classic_rebalances import ClassicRebalances
from kip848_records.replay.classic_round import Round, members_and_stopped
from kip848_records.replay.connect import is_connect
from kip848_records.replay.connect_records import CONNECT_PROTOCOL_TYPE, WorkerAssignment, WorkerSubscription
from kip848_records.replay.connect_tasks import ConnectTasks
from kip848_records.replay.context import ms_between
from kip848_records.replay.coverage import NEVER
from kip848_records.replay.generation import CREATED, EMPTIED, Generation
from kip848_records.replay.generation_cause import FIRST_GENERATION, cause_of, mode_of
from kip848_records.replay.last_owners import LastOwners
from kip848_records.replay.records import ConsumerAssignment, ConsumerSubscription

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.context import Context
    from kip848_records.replay.last_owners import Move, Owner
    from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue

NEXT_GENERATION: Final = "next_generation"
_FIRST_OFFSET: Final = 0
_ONE_OWNER: Final = {
    CONSUMER_PROTOCOL_TYPE: "one owner of each partition",
    CONNECT_PROTOCOL_TYPE: "one worker for each connector and task",
}


class Generations:
    """The generations of a classic group in the order of their records; the last one is open."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: Generation | None = None
        # The columns of the open generation from `protocol_type` to `left`.
        self._columns: tuple[Any, ...] = ()
        self._round: Round | None = None
        self.owners = LastOwners()
        self._rebalances = ClassicRebalances(context)
        self._tasks = ConnectTasks(context)

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
            self._emit_members(before, before.replace(value, offset, at))
            self.owners.assign(before)
            return
        if before is not None and before.value.generation > value.generation:
            # The group was deleted in between and its tombstone is missing, or its generation went back.
            expected = f"a generation of at least {before.value.generation}"
            self._anomaly(
                EPOCH_WENT_BACK, offset, None, value.generation, expected, str(value.generation), before.last_offset
            )
            before = None
        now = Generation(value, offset, at, self._context.operation.leader_epoch)
        if before is not None and not is_downgrade:
            now.replace_in_round(before)
        now.cause = cause_of(now, before, is_downgrade=is_downgrade)
        self._emit(at, EMPTIED if now.cause.name == EMPTIED else NEXT_GENERATION, offset)
        moves: list[Move] | None = []
        if is_downgrade and now.members:
            self.owners.take_over(now, owners)
        else:
            moves = self.owners.assign(now)
        self._begin(now, before, moves)

    def end(self, ended_by: str) -> None:
        """End the open generation with the operation: the group was deleted, or another type took its place."""
        operation = self._context.operation
        self._emit(operation.at, ended_by, operation.last)
        self._rebalances.end(ended_by)
        self._tasks.end()
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
        self._tasks.lose()

    def finish(self) -> None:
        """Write the generation that is open at the end of the log."""
        self._emit(None, None)
        self._rebalances.finish()
        self._tasks.finish()

    def _begin(self, now: Generation, before: Generation | None, moves: list[Move] | None) -> None:
        self._open = now
        value, is_first = now.value, before is None and now.value.generation == FIRST_GENERATION
        if before is None and not now.is_shown and not is_first:
            moves = None
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
        mode = mode_of(now, before)
        self._columns = (
            *(value.protocol_type or None, value.protocol, value.leader, now.cause.name, mode),
            *(rounds, joined_at, now.at, join_ms, sync_ms, len(value.member_ids), joined, left),
        )
        begin = now.offset if before is None else before.last_offset
        if before is None and not now.is_shown and not is_first:
            begin = _FIRST_OFFSET  # one was before it, unless the log has every record from its start
        compared_from = min((move.owner.offset for move in moves or ()), default=begin)
        if self.owners.has_new and (is_connect(now) or self.owners.since == NEVER):
            # A unit may have had an owner before: in the generation before, it may have waited for one.
            compared_from = min(compared_from, self.owners.since)
        begin_of_moves = min(begin, compared_from)
        each = self._round = Round(
            now,
            before,
            mode,
            moves,
            rounds,
            sync_ms,
            begin,
            begin_of_moves,
            *members_and_stopped(now, before, moves, mode),
        )
        self._emit_members(now, value.members)
        self._check_owners(now)
        if not self._context.is_evaluated:
            pass
        elif is_connect(now):
            self._tasks.add(now)
        elif value.protocol_type == CONSUMER_PROTOCOL_TYPE:
            self._emit_moves(each)
        self._rebalances.add(each)
        self._context.round_offset = now.offset

    def _check_owners(self, now: Generation) -> None:
        """Check that no two members have a unit. Other types of groups may share what their payloads name."""
        expected = _ONE_OWNER.get(now.value.protocol_type or "")
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
        head = (kind, context.incarnation, offset, context.operation.at, member_id, generation, expected, seen)
        context.emit("Anomaly", offset if compared is None else compared, head)

    def _emit(self, ended_at: int | None, ended_by: str | None, ended_offset: int | None = None) -> None:
        now, each, context = self._open, self._round, self._context
        if now is None or each is None:
            return
        units = None if now.units is None else len(now.units)
        moved = None if each.moves is None else len(each.moves)
        row = (
            *(context.incarnation, now.value.generation, now.offset, *self._columns),
            *(tuple(now.replaced), units, moved, now.unassigned, ended_at, ended_by),
        )
        skew = (context.operation.is_skewed(each.begin, each.sync_ms),)
        extra = (now.has_static_members, each.compared_from, now.last_offset, ended_offset, now.replaced_in_round)
        context.emit("ClassicGeneration", each.begin, row, end=now.last_offset, tail=skew, extra=extra)

    def _emit_moves(self, each: Round) -> None:
        """Write a row of `partition_handover` for each partition with another owner.

        At `joined_at` the previous owner had released it, so that the time to the record is a lower bound. If an
        earlier round left it to no member, it had an owner until then: the time since is an upper bound.
        """
        context, now = self._context, each.now
        for move in each.moves or ():
            topic, number = context.numbers.of_names.name(move.unit)
            gap, unowned_ms = move.gap, each.sync_ms
            released_offset, longest = (None, None) if gap is None else (gap.offset, ms_between(gap.at, now.at))
            head = (
                *(context.incarnation, None, number, now.offset, move.owner.member_id, now.value.state_at),
                *(released_offset, move.to_member, now.at, unowned_ms, True, unowned_ms, None),
            )
            tail = (
                *(context.operation.is_skewed(move.owner.offset, unowned_ms), CLASSIC, topic),
                *(now.value.generation, longest),
            )
            extra = (now.has_static_members,)
            context.emit("PartitionHandover", move.owner.offset, head, tail=tail, extra=extra)

    def _emit_members(self, now: Generation, members: Iterable[ClassicMemberValue]) -> None:
        context, value = self._context, now.value
        members = list(members)
        for member in members:
            subscription, assignment = member.subscription, member.assignment
            owned = assigned = None
            if isinstance(subscription, ConsumerSubscription) and subscription.owned is not None:
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
                    *(member.subscription_error, member.assignment_error),
                ),
            )

        if is_connect(now):
            for member in members:
                self._emit_worker(now, member)

    def _emit_worker(self, now: Generation, member: ClassicMemberValue) -> None:
        """Write the row of `connect_assignment` of a worker."""
        said, told = member.subscription, member.assignment
        subscription = said if isinstance(said, WorkerSubscription) else None
        assignment = told if isinstance(told, WorkerAssignment) else None
        failed = ("subscription", member.subscription_bytes), ("assignment", member.assignment_bytes)
        reasons = [f"the {name} is not one of a Connect worker" for name, payload in failed if payload is not None]
        running = None if assignment is None else member.units
        offsets = None if subscription is None else subscription.config_offset
        row = (
            *(self._context.incarnation, now.value.generation, member.member_id),
            None if subscription is None else subscription.url,
            *((None, None) if assignment is None else (assignment.version, assignment.error)),
            *(None if assignment is None else assignment.config_offset, offsets),
            None if subscription is None else self._named(subscription.owned),
            None if assignment is None else self._named(assignment.assigned),
            None if assignment is None else self._named(assignment.revoked),
            *(None if running is None else self._named(running), None if assignment is None else assignment.delay_ms),
            "; ".join(reasons) or None,
        )
        self._context.emit("ConnectAssignment", now.offset, row)

    def _named(self, units: frozenset[int]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return partitions by topic, both sorted."""
        by_topic: dict[str, list[int]] = {}
        name = self._context.numbers.of_names.name
        for topic, number in map(name, sorted(units)):
            by_topic.setdefault(topic, []).append(number)
        return tuple((topic, tuple(sorted(by_topic[topic]))) for topic in sorted(by_topic))
