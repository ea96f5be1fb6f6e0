"""One group id of one partition: its records split into operations and incarnations, and the rows of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from kip848_records.kinds import CLASSIC, CONSUMER, Role
from kip848_records.replay.dispatch import classic_group, modern_group
from kip848_records.replay.group import spill
from kip848_records.replay.group.context import Context
from kip848_records.replay.group.history import finished_rows
from kip848_records.replay.group.known_history import NEVER, GroupCoverage
from kip848_records.replay.group.loading import Loading
from kip848_records.replay.group.migrations import Migrations
from kip848_records.replay.group.states import DEAD, StateTimeline
from kip848_records.replay.group.vocabulary import DELETED, REPLACED, UNKNOWN, UPGRADED
from kip848_records.replay.group_state import Work, group_state
from kip848_records.replay.inputs import PartitionCoverage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kip848_records.replay.classic.group import ClassicGroup
    from kip848_records.replay.inputs import ReplayInputs
    from kip848_records.replay.modern.group import ModernGroup
    from kip848_records.replay.numbers import PartitionNumbers
    from kip848_records.replay.records import Record

_CLASSIC_GROUP: Final = Role.CLASSIC_GROUP
_GROUP_EPOCH: Final = Role.GROUP_EPOCH
_TOPOLOGY: Final = Role.TOPOLOGY
_LOST: Final = Role.LOST


class _NoClassicGroup:
    """In place of the classic group of a group id, until there is a record of it."""

    value = generation_before = members = None
    offset = NEVER
    is_lost = is_written = is_simple = is_behind_loss = False

    def lose_any(self) -> None:
        """Note that records were lost which may have been of this group."""
        self.is_behind_loss = True

    def finish(self) -> None:
        """Write nothing."""


class _Deleted(NamedTuple):
    """An incarnation that the operation deleted. `is_evaluated`: its state must be evaluated."""

    modern: ModernGroup
    incarnation: int
    is_evaluated: bool
    member_ids: frozenset[str]


class GroupReplay:
    """One group id of one partition, through all its incarnations and group types.

    Call `replay` for each record in offset order, then iterate over `finish` once. Memory is the group's present state;
    its rows wait in a file, because later records may show that records are missing.
    """

    def __init__(self, inputs: ReplayInputs, numbers: PartitionNumbers, partition: int, group_id: str) -> None:
        context = self._context = Context(inputs, numbers, partition, group_id)
        self._operation = context.operation
        self._coverage = GroupCoverage(inputs.partitions.get(partition, PartitionCoverage()))
        self._work = Work()
        self._states = StateTimeline(context)
        self._classic = cast("ClassicGroup", _NoClassicGroup())
        self._migrations = Migrations(context)
        self._loading = Loading(context)
        self._modern: ModernGroup | None = None
        self._handlers: Sequence[Callable[[Record], None] | None] = ()
        self._deleted: list[_Deleted] = []
        self._pending_loss = self._coverage.last_loss
        # Whether the state must be evaluated at the operation's end; whether it was not at the previous operation's.
        self._is_evaluated = self._is_unevaluated = False
        self._has_state = self._is_new_incarnation = self._ends_classic = False
        # The operation deleted the classic group, and no group of another type took its place.
        self._deletes_classic = False
        self._part = NEVER
        self._before: tuple[int | None, int] = None, NEVER
        self._classic_members: int | None = None

    def replay(self, record: Record) -> None:
        """Replay a record; offsets never decrease."""
        offset, timestamp, kind, role, _, _, value, size, _, leader_epoch, *_ = record
        operation, work = self._operation, self._work
        last = operation.last
        if timestamp != operation.at or timestamp is None or not last <= offset <= last + 1:
            self._begin_operation(offset, timestamp, leader_epoch)
        else:
            operation.last = offset
        work.records += 1
        work.bytes += size
        self._loading.replay(record)
        context, modern = self._context, self._modern
        if value is None and (modern is None or kind != modern.kind or modern.is_untouched) and self._is_stray(record):
            return
        if self._is_new_incarnation or not self._has_state:
            self._is_new_incarnation, self._has_state = False, True
            context.incarnation_offset = offset
        if role is _CLASSIC_GROUP or role is _LOST:
            self._replay_other(record)
            return
        self._ends_classic = False
        if modern is None or kind != modern.kind:
            modern = self._begin_modern(kind)
        classic = self._classic
        if classic.value is not None or classic.is_lost:
            classic.leave(record)
        handler = self._handlers[role]
        if role is _GROUP_EPOCH and value is None:
            self._delete(modern, record)
        elif handler is not None:
            handler(record)

    def _is_stray(self, record: Record) -> bool:
        """Return whether a tombstone belongs to a group that is gone: it changes nothing.

        The tombstone of a topology stands behind that of its group. Other types of a group that was replaced may have
        left tombstones. The coordinator refuses to load those behind a classic group, which they do not delete.
        """
        modern, role = self._modern, record.role
        if role is _CLASSIC_GROUP or role is _LOST:
            return False
        if self._is_classic and (modern is None or modern.is_untouched):
            return True
        if modern is None:
            if role is _TOPOLOGY:
                operation = self._operation
                self._coverage.add(self._part, record.offset, operation.first, is_timed=operation.at is not None)
                self._part = record.offset + 1
            return role is _TOPOLOGY
        return not modern.is_untouched

    @property
    def _is_classic(self) -> bool:
        """Whether the group is a classic one that its coordinator does not replace with another kind of group.

        Another kind replaces a simple group, which only has a name. A loss may hide a conversion.
        """
        classic, coverage = self._classic, self._coverage
        if classic.value is None or classic.is_simple:
            return False
        return not coverage.has_lost_prefix or classic.offset > coverage.last_loss

    def finish(self) -> Iterator[Any]:
        """End the group, and yield all its rows, in no order within a table."""
        context = self._context
        if self._operation.last != NEVER:
            self._end_operation()
        if self._coverage.may_have_lost(self._operation.last, None):
            self._classic.lose_any()
        if self._pending_loss > self._operation.last and self._has_state:
            self._lose_to_any()
        is_lost = self._coverage.has_lost_prefix
        if self._is_unevaluated and not is_lost:
            self._end_survivors(is_complete=self._coverage.is_complete_to_end())
        history = self._coverage.known()
        self._states.finish()
        if self._modern is not None:
            self._modern.end.finish(is_known=not is_lost)
        self._classic.finish()
        self._migrations.finish()
        yield from finished_rows(context, history)
        if self._states.state is not None:
            yield group_state(context, self._states, self._classic, self._modern, self._work, history, is_lost=is_lost)
        context.close()

    def _begin_operation(self, offset: int, timestamp: int | None, leader_epoch: int | None) -> None:
        operation, coverage = self._operation, self._coverage
        if operation.last != NEVER:
            self._end_operation()
        if coverage.may_have_lost(operation.last, offset):
            self._classic.lose_any()
        if NEVER < self._pending_loss < offset:
            if self._has_state:
                self._lose_to_any()
            self._pending_loss = NEVER
        self._is_evaluated = coverage.begin(offset)
        self._context.is_evaluated = self._is_evaluated
        if self._is_evaluated and self._is_unevaluated:
            self._end_survivors(is_complete=True)
        self._before = operation.at, operation.last
        operation.begin(offset, timestamp, leader_epoch)
        self._part = offset
        if self._classic.value is None:
            self._classic_members = None
        else:
            self._classic_members = self._classic.members
            if self._modern is not None:
                self._modern.end.rebalances.members_before = self._classic_members

    def _begin_modern(self, kind: str) -> ModernGroup:
        """Begin a group; the tombstone of a previous one of another kind may be missing."""
        before = self._modern
        if before is not None and not before.is_untouched:
            before.end.delete_survivors()
            self._states.enter(before.kind, DEAD, is_end_seen=False)
        modern = self._modern = modern_group(kind)(self._context, is_complete=self._is_evaluated)
        members = self._classic_members
        modern.end.rebalances.members_before = 0 if members is None and self._is_evaluated else members
        self._handlers = modern.handlers()
        if self._deletes_classic and kind == CONSUMER:
            modern.delete_classic()
        return modern

    def _replay_other(self, record: Record) -> None:
        """Replay a type 2, or note a lost record of the group."""
        if record.role is _LOST:
            self._coverage.lose(record.offset)
            self._is_evaluated = False
            if record.kind == CLASSIC:
                self._classic_group().lose()
            else:
                self._classic.lose_any()
            return
        if self._classic.is_written:
            self._split_operation(record)
        self._ends_classic = self._deletes_classic = record.value is None
        self._classic_group().replay(record)
        if self._deleted and self._deleted[-1].is_evaluated:
            self._classic.take_over(self._deleted[-1].modern.touched)
        if record.value is None and self._modern is not None:
            self._modern.delete_classic()

    def _classic_group(self) -> ClassicGroup:
        """Return the classic group of the group id, which begins with its first record."""
        before: object = self._classic
        if isinstance(before, _NoClassicGroup):
            self._classic = classic_group(self._context)
            if before.is_behind_loss:
                self._classic.lose_any()
        return self._classic

    def _split_operation(self, record: Record) -> None:
        """Begin another operation with a type 2: each is an outcome of its own, also if two have one timestamp."""
        work, operation = self._work, self._operation
        work.bytes -= record.size
        operation.last = max(operation.first, record.offset - 1)
        self._begin_operation(record.offset, record.timestamp, record.leader_epoch)
        work.bytes += record.size
        if self._is_new_incarnation:
            self._is_new_incarnation = False
            self._context.incarnation_offset = record.offset

    def _lose_to_any(self) -> None:
        """Note a loss that may concern any group: after the last one the group's state is unknown."""
        operation, coverage = self._operation, self._coverage
        operation.begin(self._pending_loss, operation.at, operation.leader_epoch)
        coverage.lose(self._pending_loss)
        self._is_evaluated = False
        self._pending_loss = NEVER
        self._evaluate()

    def _delete(self, modern: ModernGroup, record: Record) -> None:
        """Replay the tombstone of a type 3: it ends the incarnation within the operation."""
        modern.delete(record)
        member_ids = frozenset(member.member_id for member in modern.touched)
        is_evaluated = self._cover(modern)
        self._loading.end_operation(is_evaluated=is_evaluated)
        self._deleted.append(_Deleted(modern, self._context.incarnation, is_evaluated, member_ids))
        self._coverage.delete(record.offset)
        self._is_evaluated = self._coverage.begin(self._operation.first)
        self._part = record.offset + 1
        self._modern = None
        self._context.incarnation += 1
        self._is_new_incarnation = True

    def _cover(self, modern: ModernGroup | None) -> bool:
        """Add the records of an incarnation in this operation, and return whether its state must be evaluated."""
        operation, coverage = self._operation, self._coverage
        is_evaluated = self._is_evaluated
        if modern is not None and modern.jump is not None:
            if is_evaluated:
                coverage.jump(modern.jump)
                modern.end.rebalances.jump()
                is_evaluated = modern.jump == operation.first
                if is_evaluated:
                    self._states.restart(*self._before)
                    modern.end.restart(*self._before)
            modern.jump = None
        if not coverage.add(self._part, operation.last, operation.first, is_timed=operation.at is not None):
            is_evaluated = self._is_evaluated = False
        return is_evaluated

    def _end_operation(self) -> None:
        self._work.end_operation(self._operation.first)
        if not self._has_state:
            return
        modern = self._modern
        if self._deleted:
            self._end_incarnations()
        is_evaluated = self._is_evaluated if self._is_new_incarnation else self._cover(modern)
        self._loading.end_operation(is_evaluated=is_evaluated)
        if self._classic.is_written:
            is_known = self._is_evaluated or self._coverage.has_lost_prefix
            downgraded = {member_id for each in self._deleted for member_id in each.member_ids}
            ended_by = self._end_of_classic(modern)
            self._note_conversion(modern, ended_by)
            self._classic.end_operation(
                modern, downgraded if self._deleted else None, ended_by=ended_by, is_evaluated=is_known
            )
        elif self._migrations.is_mixed and (modern is None or (not modern.classic_members)):
            self._migrations.end_mixed()
        if is_evaluated:
            self._evaluate()
        else:
            self._end_unevaluated(modern)
        if self._deleted:
            self._deleted.clear()
        self._ends_classic = False
        if self._deletes_classic:
            self._end_classic()
        self._spill()

    def _end_unevaluated(self, modern: ModernGroup | None) -> None:
        """End an operation whose final state is unknown, or consists of surviving records only."""
        # The epochs jump: the history is complete from here on.
        is_jump = self._is_evaluated
        if modern is not None:
            modern.end.end_survivors(is_in_range=is_jump)
        if self._coverage.has_lost_prefix:
            self._evaluate()
        elif is_jump:
            self._end_survivors(is_complete=True)
        else:
            self._is_unevaluated = True

    def _end_incarnations(self) -> None:
        """End the incarnations that the operation deleted."""
        context, classic = self._context, self._classic
        now = context.incarnation
        classic_ids = classic.value.member_ids if classic.value is not None and classic.is_written else None
        for modern, incarnation, is_evaluated, _ in self._deleted:
            context.incarnation = incarnation
            if is_evaluated:
                modern.end.end_operation(is_deleted=True, classic_ids=classic_ids)
            else:
                modern.end.delete_survivors()
            self._states.enter(modern.kind, DEAD, is_end_seen=is_evaluated)
        context.incarnation = now
        self._is_unevaluated = False

    def _note_conversion(self, modern: ModernGroup | None, ended_by: str) -> None:
        """Note that an operation with a type 2 converted the group from one type to another."""
        classic, migrations = self._classic, self._migrations
        if self._deleted and classic.value is not None:
            migrations.end_mixed()
            before, members = self._deleted[-1].modern.kind, len(classic.value.member_ids)
            migrations.convert(before, CLASSIC, classic.offset, classic.value.generation, members)
        elif classic.value is None and modern is not None and not modern.is_untouched:
            if ended_by == UPGRADED:
                generation, members = classic.generation_before, modern.converted_members
                migrations.upgrade(modern.kind, classic.offset, generation, members)
                if not modern.classic_members:
                    migrations.end_mixed()
            elif self._operation.first <= classic.offset:
                migrations.convert(CLASSIC, modern.kind, classic.offset, modern.group_epoch)

    def _end_of_classic(self, modern: ModernGroup | None) -> str:
        """Return how the operation ended a classic group."""
        if modern is None or modern.is_untouched:
            return DELETED if self._deletes_classic else REPLACED
        return UPGRADED if modern.converted_members else REPLACED

    def _end_classic(self) -> None:
        """End the incarnation of a classic group that was deleted; a conversion to another type ends none."""
        self._deletes_classic = False
        modern = self._modern
        if modern is not None and not modern.is_untouched:
            return
        self._modern = None
        self._coverage.delete(self._classic.offset)
        self._states.enter(CLASSIC, DEAD, is_end_seen=self._is_evaluated)
        self._context.incarnation += 1
        self._is_new_incarnation = True
        self._is_unevaluated = False

    def _evaluate(self) -> None:
        """Evaluate the group's state at the end of an operation."""
        classic, modern, states = self._classic, self._modern, self._states
        if self._ends_classic:
            states.enter(CLASSIC, DEAD)
        elif classic.value is not None or classic.is_lost:
            is_known = not classic.is_lost and classic.offset > self._coverage.last_loss
            is_begin_seen = states.state != UNKNOWN
            state = classic.state if is_known else UNKNOWN
            states.enter(CLASSIC, state, is_begin_seen=is_begin_seen, is_end_seen=is_known)
            if modern is not None and modern.touched:
                is_complete = not self._coverage.has_lost_prefix
                modern.anomalies.end_operation(is_evaluated=is_complete, is_in_range=is_complete)
                modern.end.end_survivors()
        elif self._coverage.has_lost_prefix:
            if modern is not None:
                modern.end.lose()
            states.enter(CONSUMER if modern is None else modern.kind, UNKNOWN, is_end_seen=False)
        elif modern is not None:
            states.enter(modern.kind, modern.end.end_operation())

    def _end_survivors(self, *, is_complete: bool) -> None:
        """Evaluate the state of the records that survived from before the history is complete."""
        self._is_unevaluated = False
        classic, modern, states = self._classic, self._modern, self._states
        if classic.value is not None:
            states.enter(CLASSIC, classic.state)
        elif modern is None or (modern.is_untouched and classic.offset != NEVER):
            # No record survived, or only the tombstone of a classic group.
            states.enter(CLASSIC, DEAD)
        else:
            states.enter(modern.kind, modern.end.evaluate_survivors(is_complete=is_complete))
        states.restart(self._operation.at, self._operation.last)

    def _spill(self) -> None:
        """Write rows to files, if there are many."""
        context = self._context
        if len(context.rows.rows) >= spill.LIMIT:
            context.rows.write()
        if context.queues.is_full and self._modern is not None:
            self._modern.end.spill()
