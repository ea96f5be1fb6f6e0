"""The cause of a new epoch of a consumer group: the first that matches the records of its operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    from kip848_records.replay.records import RegularExpressionValue


class ConsumerCauses(Causes):
    """The possible causes of the next epoch of a consumer group."""

    def __init__(self, *, is_complete: bool) -> None:
        super().__init__(is_complete=is_complete)
        self._regexes: dict[str, tuple[str, ...]] = {}

    def partition_metadata(self, *, is_tombstone: bool) -> None:
        """Note a type 4."""
        if is_tombstone:
            self._deletes_topics = True
        else:
            self._written.has_topics = True

    def regular_expression(self, regex: str, value: RegularExpressionValue | None) -> None:
        """Note a type 16."""
        self._written.is_regex = True
        topics = () if value is None else value.topics
        self._replace_topics(self._regexes.pop(regex, ()), topics)
        if topics:
            self._regexes[regex] = topics

    def resolve(self, trigger: Trigger, *, is_complete: bool) -> tuple[str, str, bool | None, tuple[str, ...]]:
        """Return the cause of a bump at the end of its operation, with the values that `Causes.resolve` returns."""
        changed = self._metadata_changed(trigger, is_complete=is_complete)
        cause_before, triggers_before = _cause(trigger, changed=None, proven=self._first_epochs)
        if not is_complete:
            return cause_before, cause_before, changed, triggers_before
        cause, triggers = _cause(trigger, changed=changed, proven=None)
        return cause, cause_before, changed, triggers


def _cause(
    trigger: Trigger, *, changed: bool | None, proven: dict[str, int | None] | None
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
