"""The cause of a new epoch of a consumer group: the first that matches the records of its operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.vocabulary import (
    MEMBER_JOINED,
    MEMBER_LEFT,
    REGEX_RESOLVED,
    STATIC_MEMBER_REPLACED,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UPGRADED,
)
from kip848_records.replay.modern.causes import Causes, Trigger

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.replay.records import AnyMemberValue, RegularExpressionValue

_DELETES_CLASSIC: Final = "deletes_classic"
_HAS_TOPICS: Final = "has_topics"
"""Signs: a tombstone of type 2, and a type 4 with a value."""


class ConsumerCauses(Causes):
    """The possible causes of the next epoch of a consumer group."""

    order = (
        *(UPGRADED, MEMBER_JOINED, SUBSCRIPTION_CHANGED, MEMBER_LEFT, REGEX_RESOLVED, TOPIC_METADATA_CHANGED),
        STATIC_MEMBER_REPLACED,
    )

    def __init__(self, *, is_complete: bool) -> None:
        super().__init__(is_complete=is_complete)
        self._regexes: dict[str, tuple[str, ...]] = {}

    def _begin_operation(self) -> None:
        super()._begin_operation()
        self._deletes_topics = self._is_upgrade = False

    def classic_deleted(self) -> None:
        """Note a tombstone of type 2."""
        # A sign of the next epoch only; the first type 4 comes with the second one of the same operation.
        self.note(_DELETES_CLASSIC)
        self._is_upgrade = True

    def member(self, member_id: str, value: AnyMemberValue, before: AnyMemberValue | None) -> str | None:
        """Note a type 5, and return the id of the static member that the member replaces, if any."""
        if value.is_classic:
            self._written.signs[UPGRADED].append(member_id)
        return super().member(member_id, value, before)

    def partition_metadata(self, *, is_tombstone: bool) -> None:
        """Note a type 4."""
        if is_tombstone:
            self._deletes_topics = True
        else:
            self.note(_HAS_TOPICS)

    def regular_expression(self, regex: str, value: RegularExpressionValue | None) -> None:
        """Note a type 16."""
        self.note(REGEX_RESOLVED)
        topics = () if value is None else value.topics
        self._replace_topics(self._regexes.pop(regex, ()), topics)
        if topics:
            self._regexes[regex] = topics

    def unproven(self, trigger: Trigger, changed: bool | None) -> Collection[str]:  # noqa: FBT001 - None is a third
        """Return the causes whose signs prove nothing: only with a tombstone of type 2 are members of it converted."""
        unproven = set() if _DELETES_CLASSIC in trigger.noted else {UPGRADED}
        return unproven | ({STATIC_MEMBER_REPLACED} if changed is None else set())

    def metadata_changed(self, trigger: Trigger, *, is_complete: bool) -> bool | None:
        """Return whether the metadata of the same topics changed, also by a type 4.

        The first hash after a type 4 only shows that the broker was upgraded, which deletes the type 4. And the first
        type 4 of an upgraded classic group comes with its second epoch.
        """
        is_changed = super().metadata_changed(trigger, is_complete=is_complete)
        if self._deletes_topics and trigger.hash_before == 0 and trigger.hash_now != 0:
            return None
        has_topics = _HAS_TOPICS in trigger.noted and not self._is_upgrade
        return trigger.same_topics if is_changed is False and has_topics else is_changed
