"""The conversions of a group id from one type to another: `group_migration`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CLASSIC
from kip848_records.replay.rows import new_row
from kip848_records.specs.classic import GROUP_MIGRATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.group.context import Context

_new_row: Final = new_row(GROUP_MIGRATION)

UPGRADE: Final = "upgrade"
DOWNGRADE: Final = "downgrade"
EMPTY_REPLACED: Final = "empty_replaced"


class _Upgrade(NamedTuple):
    """An upgrade whose group has had members of the classic protocol since: columns, and its operation's offsets."""

    columns: Mapping[str, object]
    first: int
    last: int


class Migrations:
    """The conversions of a group. `is_mixed`: members of both protocols have been in it since its last upgrade."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._upgrade: _Upgrade | None = None

    @property
    def is_mixed(self) -> bool:
        """Whether an upgrade has not found all its members replaced."""
        return self._upgrade is not None

    def upgrade(self, to_type: str, offset: int, epoch: int | None, converted: int) -> None:
        """Note the tombstone of a classic group whose members were converted; `epoch`: its generation."""
        context, operation = self._context, self._context.operation
        columns = {
            "incarnation": context.incarnation,
            "direction": UPGRADE,
            "from_type": CLASSIC,
            "to_type": to_type,
            "at": operation.at,
            "offset": offset,
            "epoch": epoch,
            "converted": converted,
        }
        self._upgrade = _Upgrade(columns, operation.first, operation.last)

    def end_mixed(self) -> None:
        """Note that the operation left no member of the classic protocol, or ended the group."""
        self._emit(self._context.operation.at)

    def convert(self, from_type: str, to_type: str, offset: int, epoch: int | None, count: int = 0) -> None:
        """Note a downgrade of a group with `count` members, or that an Empty group was replaced."""
        context, operation = self._context, self._context.operation
        row = _new_row(
            context,
            incarnation=context.incarnation,
            direction=DOWNGRADE if count else EMPTY_REPLACED,
            from_type=from_type,
            to_type=to_type,
            at=operation.at,
            offset=offset,
            epoch=epoch,
            converted=count,
            mixed_until=None,
        )
        context.emit(row, operation.first)

    def finish(self) -> None:
        """Write an upgrade whose group is mixed at the end of the log."""
        self._emit(None)

    def _emit(self, mixed_until: int | None) -> None:
        upgrade, self._upgrade = self._upgrade, None
        if upgrade is not None:
            row = _new_row(self._context, **upgrade.columns, mixed_until=mixed_until)
            self._context.emit(row, upgrade.first, end=upgrade.last)
