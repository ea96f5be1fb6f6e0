"""The cause of a new epoch of a consumer group: the first that matches the records of its operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from kip848_records.replay.group.vocabulary import (
    MEMBER_JOINED,
    MEMBER_LEFT,
    REGEX_RESOLVED,
    STATIC_MEMBER_REPLACED,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UNKNOWN,
    UPGRADED,
)
from kip848_records.replay.modern.causes import Causes, Trigger

if TYPE_CHECKING:
    from kip848_records.replay.records import MemberValue, RegularExpressionValue


@dataclass(slots=True)
class ConsumerTrigger(Trigger):
    """The records of an operation between its previous type 3 and a type 3."""

    classic: list[str] = field(default_factory=list)
    """Members of the classic protocol."""
    deletes_classic: bool = False
    is_regex: bool = False
    has_topics: bool = False
    """A type 4 with a value."""


class ConsumerCauses(Causes):
    """The possible causes of the next epoch of a consumer group."""

    new_trigger = ConsumerTrigger

    def __init__(self, *, is_complete: bool) -> None:
        super().__init__(is_complete=is_complete)
        self._regexes: dict[str, tuple[str, ...]] = {}

    def _begin_operation(self) -> None:
        super()._begin_operation()
        self._deletes_topics = self._is_upgrade = False

    def classic_deleted(self) -> None:
        """Note a tombstone of type 2."""
        self._consumer.deletes_classic = self._is_upgrade = True

    def member(self, member_id: str, value: MemberValue, before: MemberValue | None) -> str | None:
        """Note a type 5, and return the id of the static member that the member replaces, if any."""
        if value.is_classic:
            self._consumer.classic.append(member_id)
        return super().member(member_id, value, before)

    def partition_metadata(self, *, is_tombstone: bool) -> None:
        """Note a type 4."""
        if is_tombstone:
            self._deletes_topics = True
        else:
            self._consumer.has_topics = True

    def regular_expression(self, regex: str, value: RegularExpressionValue | None) -> None:
        """Note a type 16."""
        self._consumer.is_regex = True
        topics = () if value is None else value.topics
        self._replace_topics(self._regexes.pop(regex, ()), topics)
        if topics:
            self._regexes[regex] = topics

    def _cause_before(self, trigger: Trigger) -> tuple[str, tuple[str, ...]]:
        return _first(cast("ConsumerTrigger", trigger), changed=None, proven=self._first_epochs)

    def _cause(self, trigger: Trigger, *, is_changed: bool | None) -> tuple[str, tuple[str, ...]]:
        return _first(cast("ConsumerTrigger", trigger), changed=is_changed, proven=None)

    @property
    def _consumer(self) -> ConsumerTrigger:
        return cast("ConsumerTrigger", self._written)

    def _metadata_changed(self, trigger: Trigger, *, is_complete: bool) -> bool | None:
        """Return whether the metadata of the same topics changed, also by a type 4.

        The first hash after a type 4 only shows that the broker was upgraded, which deletes the type 4. And the first
        type 4 of an upgraded classic group comes with its second epoch.
        """
        is_changed = super()._metadata_changed(trigger, is_complete=is_complete)
        if self._deletes_topics and trigger.hash_before == 0 and trigger.hash_now != 0:
            return None
        has_topics = cast("ConsumerTrigger", trigger).has_topics and not self._is_upgrade
        return trigger.same_topics if is_changed is False and has_topics else is_changed


def _first(
    trigger: ConsumerTrigger, *, changed: bool | None, proven: dict[str, int | None] | None
) -> tuple[str, tuple[str, ...]]:
    """Return the first cause that matches, and its members; `proven`: the only members that are known to be new."""
    # Records of an operation -> its cause; the first match counts.
    is_new = proven is None or any(proven.get(member_id) == 0 for member_id in trigger.joined)
    causes = (
        (trigger.deletes_classic and trigger.classic, UPGRADED, trigger.classic),
        (trigger.joined and is_new, MEMBER_JOINED, trigger.joined),
        (trigger.joined, UNKNOWN, ()),
        (trigger.resubscribed, SUBSCRIPTION_CHANGED, trigger.resubscribed),
        (trigger.left, MEMBER_LEFT, trigger.left),
        (trigger.is_regex, REGEX_RESOLVED, ()),
        (changed, TOPIC_METADATA_CHANGED, ()),
        (trigger.replaced and changed is not None, STATIC_MEMBER_REPLACED, trigger.replaced),
    )
    return next(((cause, tuple(members)) for fits, cause, members in causes if fits), (UNKNOWN, ()))
