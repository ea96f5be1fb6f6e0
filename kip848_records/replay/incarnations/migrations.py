"""The migrations of a group id between a classic group and a group of another type: `group_migration`.

An upgrade makes a consumer group of a classic group with members, and a downgrade the reverse: both take the members
over. An Empty group of another type is replaced. The terms are those of Kafka's `ConsumerGroupMigrationPolicy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CLASSIC, KINDS
from kip848_records.replay.dispatch import classic_group
from kip848_records.replay.group.vocabulary import DELETED, REPLACED, UPGRADED
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import GROUP_MIGRATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.known_history import GroupCoverage
    from kip848_records.replay.modern.group import ModernGroup
    from kip848_records.replay.records import Record

_write: Final = row_writer(GROUP_MIGRATION)

UPGRADE: Final = "upgrade"
DOWNGRADE: Final = "downgrade"
EMPTY_REPLACED: Final = "empty_replaced"


class DeletedGroup(NamedTuple):
    """An incarnation that the operation deleted. `is_evaluated`: its state must be evaluated."""

    modern: ModernGroup
    incarnation: int
    is_evaluated: bool
    member_ids: frozenset[str]


class _Upgrade(NamedTuple):
    """An upgrade whose group has had members of the classic protocol since: columns, and its operation's offsets."""

    columns: Mapping[str, object]
    first: int
    last: int


class Migrations:
    """The classic group of a group id, and its changes to and from groups of other types.

    `ends_classic`: the operation's last record is the tombstone of the classic group. `deletes_classic`: the operation
    has one, and no group of another type took its place up to then. `members_before`: of the classic group, before the
    operation; None without one.
    """

    def __init__(self, context: Context, coverage: GroupCoverage) -> None:
        self._context = context
        self._coverage = coverage
        self._upgrade: _Upgrade | None = None
        self.classic = classic_group(context)
        self.ends_classic = self.deletes_classic = False
        self.members_before: int | None = None

    @property
    def is_classic(self) -> bool:
        """Whether the group is a classic one that its coordinator does not replace with another kind of group.

        Another kind replaces a simple group, which only has a name. A loss may hide a migration.
        """
        classic, coverage = self.classic, self._coverage
        if classic.value is None or classic.is_simple:
            return False
        return not coverage.has_lost_prefix or classic.offset > coverage.last_loss

    def begin_operation(self, modern: ModernGroup | None) -> None:
        """Note how many members the classic group has, which a group of another type may take over."""
        if self.classic.value is None:
            self.members_before = None
            return
        self.members_before = self.classic.members
        if modern is not None:
            modern.end.rebalances.members_before = self.members_before

    def begin_modern(self, modern: ModernGroup, *, is_evaluated: bool) -> None:
        """Note a group of another type, which begins in an operation that may have deleted the classic group."""
        members = self.members_before
        modern.end.rebalances.members_before = 0 if members is None and is_evaluated else members
        if self.deletes_classic and KINDS[modern.kind].migrates:
            modern.delete_classic()

    def replay_classic(self, record: Record, modern: ModernGroup | None, deleted: Sequence[DeletedGroup]) -> None:
        """Replay a type 2. `deleted`: the groups that the operation deleted before it."""
        self.ends_classic = self.deletes_classic = record.value is None
        self.classic.replay(record)
        if deleted and deleted[-1].is_evaluated:
            self.classic.take_over(deleted[-1].modern.touched)
        if record.value is None and modern is not None:
            modern.delete_classic()

    def lose(self, kind: str) -> None:
        """Note a lost record of a kind of group; it may hide a type 2."""
        if kind == CLASSIC:
            self.classic.lose()
        else:
            self.classic.lose_any()

    def end_operation(self, modern: ModernGroup | None, deleted: Sequence[DeletedGroup], *, is_evaluated: bool) -> None:
        """End an operation: write the migration that it was, if any, and let the classic group follow."""
        if self.classic.is_written:
            ended_by = self._end_of_classic(modern)
            value = self.classic.value
            if deleted and value is not None:
                self._end_mixed()
                self._emit_at_once(deleted[-1].modern.kind, CLASSIC, value.generation, len(value.member_ids))
            elif value is None and modern is not None and not modern.is_untouched:
                self._follow_classic(modern, ended_by)
            downgraded = {member_id for group in deleted for member_id in group.member_ids} if deleted else None
            is_known = is_evaluated or self._coverage.has_lost_prefix
            self.classic.end_operation(modern, downgraded, ended_by=ended_by, is_evaluated=is_known)
        elif self._upgrade is not None and (modern is None or not modern.classic_members):
            self._end_mixed()

    def finish(self) -> None:
        """Write what the classic group has open, and an upgrade whose group has members of both protocols."""
        self.classic.finish()
        self._emit_upgrade(None)

    def _end_of_classic(self, modern: ModernGroup | None) -> str:
        """Return how the operation ended a classic group."""
        if modern is None or modern.is_untouched:
            return DELETED if self.deletes_classic else REPLACED
        return UPGRADED if modern.upgraded_members else REPLACED

    def _follow_classic(self, modern: ModernGroup, ended_by: str) -> None:
        """Note that a group of another type follows the classic one: an upgrade, or it was Empty."""
        operation, classic = self._context.operation, self.classic
        if ended_by == UPGRADED:
            columns = self._columns(UPGRADE, CLASSIC, modern.kind, classic.generation_before, modern.upgraded_members)
            self._upgrade = _Upgrade(columns, operation.first, operation.last)
            if not modern.classic_members:
                self._end_mixed()
        elif operation.first <= classic.offset:
            self._emit_at_once(CLASSIC, modern.kind, modern.group_epoch, 0)

    def _end_mixed(self) -> None:
        """Note that the operation left no member of the classic protocol in an upgraded group, or ended the group."""
        self._emit_upgrade(self._context.operation.at)

    def _columns(
        self, direction: str, from_type: str, to_type: str, epoch: int | None, members: int
    ) -> dict[str, object]:
        return {
            "incarnation": self._context.incarnation,
            "direction": direction,
            "from_type": from_type,
            "to_type": to_type,
            "at": self._context.operation.at,
            "offset": self.classic.offset,
            "epoch": epoch,
            "converted": members,
        }

    def _emit_at_once(self, from_type: str, to_type: str, epoch: int | None, members: int) -> None:
        """Write a downgrade of a group with members, or that an Empty group was replaced."""
        columns = self._columns(DOWNGRADE if members else EMPTY_REPLACED, from_type, to_type, epoch, members)
        _write(self._context, self._context.operation.first, **columns, mixed_until=None)

    def _emit_upgrade(self, mixed_until: int | None) -> None:
        upgrade, self._upgrade = self._upgrade, None
        if upgrade is not None:
            _write(self._context, upgrade.first, **upgrade.columns, mixed_until=mixed_until, end=upgrade.last)
