"""One group id of one partition: its records split into operations and incarnations, and the rows of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CLASSIC, Role
from kip848_records.protocol.key_types import KeyType
from kip848_records.replay.blocker.present import present_blocker
from kip848_records.replay.diagnosis.diagnose import diagnoses, episodes_of, history_of
from kip848_records.replay.diagnosis.observed import ObservedRows
from kip848_records.replay.dispatch import loading_rules, modern_group
from kip848_records.replay.group.context import Context
from kip848_records.replay.group.history import finished_rows
from kip848_records.replay.group.known_history import NEVER, GroupCoverage
from kip848_records.replay.group.loading import Loading
from kip848_records.replay.incarnations.evaluation import Evaluation
from kip848_records.replay.incarnations.group_state import Work, group_state
from kip848_records.replay.incarnations.member_assignments import member_assignments
from kip848_records.replay.incarnations.migrations import DeletedGroup, Migrations
from kip848_records.replay.inputs import PartitionCoverage
from kip848_records.replay.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kip848_records.replay.inputs import ReplayInputs
    from kip848_records.replay.modern.group import ModernGroup
    from kip848_records.replay.numbers import PartitionNumbers

_CLASSIC_GROUP: Final = Role.CLASSIC_GROUP
_GROUP_EPOCH: Final = Role.GROUP_EPOCH
_TOPOLOGY: Final = Role.TOPOLOGY
_LOST: Final = Role.LOST


class GroupReplay:
    """One group id of one partition, through all its incarnations and group types.

    Call `replay` for each record in offset order, then iterate over `finish` once. Memory is the group's present state;
    its rows wait in a file, because later records may show that records are missing.
    """

    def __init__(self, inputs: ReplayInputs, numbers: PartitionNumbers, partition: int, group_id: str) -> None:
        self._inputs = inputs
        context = self._context = Context(inputs, numbers, partition, group_id)
        self._operation = context.operation
        self._coverage = GroupCoverage(inputs.partitions.get(partition, PartitionCoverage()))
        self._work = Work()
        self._migrations = Migrations(context, self._coverage)
        self._evaluation = Evaluation(context, self._coverage, self._migrations)
        self._loading = Loading(context, loading_rules)
        self._modern: ModernGroup | None = None
        self._handlers: Sequence[Callable[[Record], None] | None] = ()
        self._deleted: list[DeletedGroup] = []
        self._pending_loss = self._coverage.last_loss
        # Whether the state must be evaluated at the operation's end.
        self._is_evaluated = False
        self._has_state = self._is_new_incarnation = False
        self._part = NEVER
        self._before: tuple[int | None, int] = None, NEVER

    def replay(self, record: Record) -> None:
        """Replay a record; offsets never decrease."""
        offset, timestamp, kind, role, _, _, value, size, _, leader_epoch, _, _ = record
        operation, work, migrations = self._operation, self._work, self._migrations
        last = operation.last
        if timestamp != operation.at or timestamp is None or not last <= offset <= last + 1:
            self._begin_operation(offset, timestamp, leader_epoch)
        else:
            operation.last = offset
        work.records += 1
        work.bytes += size
        self._loading.replay(record)
        modern = self._modern
        if value is None and (modern is None or kind != modern.kind or modern.is_untouched) and self._is_stray(record):
            if modern is None and not migrations.is_classic:
                self._coverage.add(self._part, offset, operation.first, at=operation.at)
                self._part = offset + 1
            return
        if self._is_new_incarnation or not self._has_state:
            self._is_new_incarnation, self._has_state = False, True
            self._context.incarnation_offset = offset
        if role is _CLASSIC_GROUP or role is _LOST:
            self._replay_other(record)
            return
        migrations.ends_classic = False
        if modern is None or kind != modern.kind:
            modern = self._begin_modern(kind)
        classic = migrations.classic
        if classic.value is not None or classic.is_lost:
            classic.leave(record)
        handler = self._handlers[role]
        if role is _GROUP_EPOCH and value is None:
            self._delete(modern, record)
        elif handler is not None:
            handler(record)

    def finish(self) -> Iterator[Any]:
        """End the group, and yield all its rows, in no order within a table; then what they say together."""
        move = self._inputs.move_from(self._context.partition, self._context.group_id)
        if move is not None:
            self._leave(move.at)
        self._end()
        context, observed = self._context, ObservedRows()
        known, is_lost = self._coverage.known(), self._coverage.has_lost_prefix
        for row in finished_rows(context, known):
            observed.add(row)
            yield row
        states, classic = self._evaluation.states, self._migrations.classic
        if states.state is not None:
            observed.state = group_state(context, states, classic, self._modern, self._work, known, is_lost=is_lost)
            yield from member_assignments(context, states, classic, self._modern, known, is_lost=is_lost)
        context.close()
        history = history_of(context, self._inputs, observed)
        episodes = [] if history is None else episodes_of(history)
        if history is not None:
            yield from diagnoses(context, history, episodes)
        if observed.state is not None:
            yield observed.state._replace(blocker=present_blocker(context, observed, episodes))

    def _end(self) -> None:
        """End the last operation, and what is open at the end of the log."""
        coverage, migrations, evaluation = self._coverage, self._migrations, self._evaluation
        if self._operation.last != NEVER:
            self._end_operation()
        if coverage.may_have_lost(self._operation.last, None):
            migrations.classic.lose_any()
        if self._pending_loss > self._operation.last and self._has_state:
            self._lose_to_any()
        is_lost = coverage.has_lost_prefix
        if evaluation.is_pending and not is_lost:
            evaluation.evaluate_survivors(self._modern, is_complete=coverage.is_complete_to_end())
        evaluation.states.finish()
        if self._modern is not None:
            self._modern.end.finish(is_known=not is_lost)
        migrations.finish()

    def _is_stray(self, record: Record) -> bool:
        """Return whether a tombstone belongs to a group that is gone: it changes nothing.

        The tombstone of a topology stands behind that of its group. Other types of a group that was replaced may have
        left tombstones. The coordinator refuses to load those behind a classic group, which they do not delete.
        """
        modern, role = self._modern, record.role
        if role is _CLASSIC_GROUP or role is _LOST:
            return False
        if self._migrations.is_classic and (modern is None or modern.is_untouched):
            return True
        return role is _TOPOLOGY if modern is None else not modern.is_untouched

    def _begin_operation(self, offset: int, timestamp: int | None, leader_epoch: int | None) -> None:
        operation, coverage, evaluation = self._operation, self._coverage, self._evaluation
        if operation.last != NEVER:
            self._end_operation()
        if self._pending_loss != NEVER:
            self._lose_before(offset)
        self._is_evaluated = self._context.is_evaluated = coverage.begin(offset)
        if self._is_evaluated and evaluation.is_pending:
            evaluation.evaluate_survivors(self._modern, is_complete=True)
        self._before = operation.at, operation.last
        operation.begin(offset, timestamp, leader_epoch)
        self._part = offset
        self._migrations.begin_operation(self._modern)

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

    def _begin_modern(self, kind: str) -> ModernGroup:
        """Begin a group; the tombstone of a previous one of another kind may be missing."""
        before = self._modern
        if before is not None and not before.is_untouched:
            self._evaluation.end_unseen(before)
        modern = self._modern = modern_group(kind)(self._context, is_complete=self._is_evaluated)
        self._handlers = modern.handlers()
        self._migrations.begin_modern(modern, is_evaluated=self._is_evaluated)
        return modern

    def _replay_other(self, record: Record) -> None:
        """Replay a type 2, or note a lost record of the group."""
        if record.role is _LOST:
            self._coverage.lose(record.offset)
            self._is_evaluated = False
            self._migrations.lose(record.kind)
            return
        if self._migrations.classic.is_written:
            self._split_operation(record)
        self._migrations.replay_classic(record, self._modern, self._deleted)

    def _lose_before(self, offset: int) -> None:
        """Note the losses before this offset that may concern any group."""
        if self._coverage.may_have_lost(self._operation.last, offset):
            self._migrations.classic.lose_any()
        if self._pending_loss < offset:
            if self._has_state:
                self._lose_to_any()
            self._pending_loss = NEVER

    def _lose_to_any(self) -> None:
        """Note a loss that may concern any group: after the last one the group's state is unknown."""
        operation = self._operation
        operation.begin(self._pending_loss, operation.at, operation.leader_epoch)
        self._coverage.lose(self._pending_loss)
        self._is_evaluated = False
        self._pending_loss = NEVER
        self._evaluation.end_operation(self._modern)

    def _delete(self, modern: ModernGroup, record: Record) -> None:
        """Replay the tombstone of a type 3: it ends the incarnation within the operation."""
        modern.delete(record)
        member_ids = frozenset(member.member_id for member in modern.touched)
        is_evaluated = self._cover(modern)
        self._loading.end_operation(is_evaluated=is_evaluated)
        self._deleted.append(DeletedGroup(modern, self._context.incarnation, is_evaluated, member_ids))
        self._end_incarnation(record.offset)
        self._is_evaluated = self._coverage.begin(self._operation.first)
        self._part = record.offset + 1

    def _leave(self, at: int) -> None:
        """End a group that is in another partition since: its coordinator writes nothing more of it here.

        The end has the offset of the group's last record, because no coordinator wrote a tombstone.
        """
        operation, modern = self._operation, self._modern
        if not self._has_state or self._is_new_incarnation:
            return
        last = operation.last
        self._begin_operation(last, at if operation.at is None else max(at, operation.at), operation.leader_epoch)
        tombstone = Record(last, operation.at, CLASSIC, _CLASSIC_GROUP, KeyType.GROUP_METADATA, None, None, 0)
        if modern is None or modern.is_untouched:
            self._replay_other(tombstone)
        else:
            self._delete(modern, tombstone._replace(kind=modern.kind, role=_GROUP_EPOCH))

    def _end_incarnation(self, offset: int) -> None:
        """End the incarnation with the tombstone at this offset."""
        self._modern = None
        self._coverage.delete(offset)
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
                    self._evaluation.states.restart(*self._before)
                    modern.end.restart(*self._before)
            modern.jump = None
        if not coverage.add(self._part, operation.last, operation.first, at=operation.at):
            is_evaluated = self._is_evaluated = False
        return is_evaluated

    def _end_operation(self) -> None:
        self._work.end_operation(self._operation.first)
        if not self._has_state:
            return
        modern, migrations, evaluation = self._modern, self._migrations, self._evaluation
        if self._deleted:
            evaluation.end_deleted(self._deleted)
        is_evaluated = self._is_evaluated if self._is_new_incarnation else self._cover(modern)
        if self._loading.refused:
            self._loading.end_operation(is_evaluated=is_evaluated)
        migrations.end_operation(modern, self._deleted, is_evaluated=self._is_evaluated)
        if is_evaluated:
            evaluation.end_operation(modern)
        else:
            evaluation.end_unevaluated(modern, is_jump=self._is_evaluated)
        self._deleted.clear()
        migrations.ends_classic = False
        if migrations.deletes_classic:
            migrations.deletes_classic = False
            if modern is None or modern.is_untouched:
                evaluation.end_classic(is_end_seen=self._is_evaluated)
                self._end_incarnation(migrations.classic.offset)
        if self._context.queues.is_full and modern is not None:
            modern.end.spill()
