"""A share group (KIP-932): its members take partitions without revocation, and several may have one partition.

Names and order follow `ShareGroup` in Kafka's group coordinator. Its state is Empty or Stable, also while members are
at an older epoch. Whether it has converged is evaluated by epochs and members, as for a consumer group (`phase`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kip848_records.kinds import SHARE, Role
from kip848_records.replay.group.vocabulary import EMPTY, STABLE, UNKNOWN
from kip848_records.replay.modern.group import ModernGroup
from kip848_records.replay.share.causes import INITIALIZED_OTHERS, ShareCauses
from kip848_records.replay.share.ownership import ShareOwnership, ShareTargets

if TYPE_CHECKING:
    from collections.abc import Callable

    from kip848_records.replay.records import MemberValue, Record
    from kip848_records.replay.share.values import ShareStateValue


class ShareGroup(ModernGroup):
    """One incarnation of a share group, with the handlers of a consumer group."""

    kind = SHARE
    targets: ShareTargets
    causes: ShareCauses
    new_ownership = ShareOwnership
    new_targets = ShareTargets
    new_causes = ShareCauses

    def handlers(self) -> list[Callable[[Record], None] | None]:
        """Return the handlers of records, by role."""
        handlers = super().handlers()
        handlers[Role.SHARE_STATE] = self.replay_share_state
        return handlers

    def replay_group_epoch(self, record: Record) -> None:
        """Replay a type 11 with a value."""
        if self.causes.needs_partitions and self.targets.differ_from_initialized():
            self.causes.note(INITIALIZED_OTHERS)
        super().replay_group_epoch(record)

    def replay_member(self, record: Record) -> None:
        """Replay a type 10."""
        member = self.members.get(record.member_id or "")
        before = None if member is None else member.value
        super().replay_member(record)
        value: MemberValue | None = record.value
        self.targets.subscribe(_topics(before), _topics(value))

    def replay_share_state(self, record: Record) -> None:
        """Replay a type 15."""
        self.end.is_eventful = True
        value: ShareStateValue | None = record.value
        self.targets.initialize(() if value is None else value.initialized)
        self._share_ownership.states.change(value, record.offset)

    def delete(self, record: Record) -> None:
        """Replay the tombstone of type 11: the incarnation ends with the operation."""
        super().delete(record)
        self._share_ownership.states.change(None, record.offset)

    @property
    def _share_ownership(self) -> ShareOwnership:
        return cast("ShareOwnership", self.end.ownership)

    def evaluate(self, *, is_complete: bool) -> str:
        """Return the group's state: Empty or Stable."""
        self.phase = super().evaluate(is_complete=is_complete)
        return self.phase if self.phase in {EMPTY, UNKNOWN} else STABLE


def _topics(value: object) -> tuple[str, ...]:
    return () if value is None else cast("MemberValue", value).topics


GROUP = ShareGroup
