"""The cause of a new group epoch: the records of its operation from the previous type 3 up to its own type 3.

Leave, session expiry and fencing write the same records, so they share one name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.records import CurrentAssignmentValue, MemberValue


_MANY: Final = 10_000


@dataclass(slots=True)
class Trigger:
    """The records of an operation between its previous type 3 and a type 3: possible causes of its bump."""

    joined: list[str] = field(default_factory=list)
    resubscribed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    gone: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """By instance id: the static member that was deleted, and its type 5."""

    # Known at the type 3.
    unbumped: tuple[str, ...] = ()
    """Members with a type 5 since the previous type 3, also in earlier operations."""
    hash_before: int = 0
    hash_now: int = 0
    same_topics: bool = True
    is_first: bool = True
    """The operation has no earlier type 3."""


class Causes:
    """The possible causes of the next bump.

    `has_joined`: a member has joined in this operation. `is_compared`: the previous type 3, or the incarnation's start,
    lies where the history is complete.
    """

    new_trigger: type[Trigger] = Trigger

    def __init__(self, *, is_complete: bool) -> None:
        self.is_compared = is_complete
        self._hash = 0
        self._topics: dict[str, int] = {}
        self._changed_topics: set[str] = set()
        self._unbumped: dict[str, None] = {}
        self._begin_operation()

    def _begin_operation(self) -> None:
        self._written = self.new_trigger()
        self._first_epochs: dict[str, int | None] = {}
        self._is_first = True
        self.has_joined = False

    def member_deleted(self, member_id: str, before: MemberValue | None) -> None:
        """Note a tombstone of type 5."""
        written = self._written
        written.left.append(member_id)
        if before is None:
            return
        self._replace_topics(before.topics, ())
        if before.instance_id is not None:
            written.gone[before.instance_id] = member_id, before

    def member(self, member_id: str, value: MemberValue, before: MemberValue | None) -> str | None:
        """Note a type 5, and return the id of the static member that the member replaces, if any."""
        written = self._written
        if len(self._unbumped) < _MANY:
            self._unbumped[member_id] = None
        if before is not None:
            if before.topics != value.topics or before.regex != value.regex:
                written.resubscribed.append(member_id)
                self._replace_topics(before.topics, value.topics)
            return None
        self._replace_topics((), value.topics)
        self.has_joined = True
        succeeds = None if value.instance_id is None else written.gone.pop(value.instance_id, None)
        if succeeds is None:
            written.joined.append(member_id)
            return None
        old_id, old = succeeds
        written.left.remove(old_id)
        if old.topics != value.topics or old.regex != value.regex:
            written.resubscribed.append(member_id)
        else:
            written.replaced.append(member_id)
        return old_id

    def current(self, member_id: str, value: CurrentAssignmentValue | None) -> None:
        """Note a type 8: the first one of a joining member shows whether it is new."""
        if value is not None and member_id not in self._first_epochs:
            self._first_epochs[member_id] = value.previous_member_epoch

    def bump(self, metadata_hash: int) -> Trigger:
        """Note a type 3 with a value, and return its possible causes."""
        written, self._written = self._written, self.new_trigger()
        written.unbumped = tuple(self._unbumped)
        written.hash_before, written.hash_now = self._hash, metadata_hash
        written.same_topics = not self._changed_topics
        written.is_first = self._is_first
        self._unbumped.clear()
        self._changed_topics.clear()
        self._hash = metadata_hash
        self._is_first = False
        return written

    def resolve(self, trigger: Trigger, *, is_complete: bool) -> tuple[str, str, bool | None, tuple[str, ...]]:
        """Return the cause of a bump at the end of its operation; `is_complete`: of the operation.

        Also return the cause in case the bump lies before the history is complete; whether the metadata of the topics
        changed; and the members whose records are the cause.
        """
        changed = self._metadata_changed(trigger, is_complete=is_complete)
        cause_before, triggers = self._cause_before(trigger)
        if not is_complete:
            return cause_before, cause_before, changed, triggers
        cause, triggers = self._cause(trigger, is_changed=changed)
        return cause, cause_before, changed, triggers

    def _cause_before(self, trigger: Trigger) -> tuple[str, tuple[str, ...]]:
        """Return the cause and its members, if the bump lies before the history is complete."""
        raise NotImplementedError

    def _cause(self, trigger: Trigger, *, is_changed: bool | None) -> tuple[str, tuple[str, ...]]:
        """Return the cause and its members; `is_changed`: the metadata of the topics is, None if unknown."""
        raise NotImplementedError

    def end_operation(self, *, is_complete: bool) -> None:
        """Remember whether the last type 3 lies where the history is complete, and clear the operation's records."""
        if not self._is_first:
            self.is_compared = is_complete
        self._begin_operation()

    def _metadata_changed(self, trigger: Trigger, *, is_complete: bool) -> bool | None:
        """Return whether the metadata of the same topics changed.

        A member that joins, leaves or resubscribes changes the hash with the set of topics: that is not a change of a
        topic.
        """
        if not is_complete or (trigger.is_first and not self.is_compared):
            return None
        return trigger.same_topics and trigger.hash_before != trigger.hash_now

    def _proves_new(self, trigger: Trigger) -> bool:
        """Return whether the first type 8 of a member that joined shows that it is new."""
        return any(self._first_epochs.get(member_id) == 0 for member_id in trigger.joined)

    def _replace_topics(self, before: Iterable[str], now: Iterable[str]) -> None:
        counts, changed = self._topics, self._changed_topics
        for topic in now:
            count = counts.get(topic, 0)
            counts[topic] = count + 1
            if not count:
                changed ^= {topic}
        for topic in before:
            counts[topic] -= 1
            if not counts[topic]:
                del counts[topic]
                changed ^= {topic}
