"""The cause of a new group epoch: the records of its operation from the previous group epoch up to its own.

Leave, session expiry and fencing write the same records, so they share one name.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from kip848_records.replay.group.vocabulary import (
    MEMBER_JOINED,
    MEMBER_LEFT,
    STATIC_MEMBER_REPLACED,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UNKNOWN,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.records import (
        AnyMemberValue,
        CurrentAssignmentValue,
        MemberValue,
        StreamsGroupEpochValue,
    )

_MANY: Final = 10_000


@dataclass(slots=True)
class Trigger:
    """The records of an operation between its previous group epoch and a group epoch: possible causes of its bump."""

    signs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By cause, the members whose records are a sign of it."""
    noted: set[str] = field(default_factory=set)
    """Signs without members."""
    gone: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """By instance id: the static member that was deleted, and its value."""

    # Known at the group epoch.
    unbumped: tuple[str, ...] = ()
    """Members with a record since the previous group epoch, also in earlier operations."""
    before: StreamsGroupEpochValue | None = None
    now: StreamsGroupEpochValue | None = None
    hash_before: int = 0
    hash_now: int = 0
    same_topics: bool = True
    is_first: bool = True
    """The operation has no earlier group epoch."""


class Causes:
    """The possible causes of the next bump; a kind of group has an `order` of causes, of which the first counts.

    `has_joined`: a member has joined in this operation. `is_compared`: the previous group epoch, or the incarnation's
    start, lies where the history is complete.
    """

    order: tuple[str, ...] = ()
    change = SUBSCRIPTION_CHANGED
    """The cause if a member's record differs from the one before."""

    def __init__(self, *, is_complete: bool) -> None:
        self.is_compared = is_complete
        self._hash = 0
        self._topics: dict[str, int] = {}
        self._changed_topics: set[str] = set()
        self._unbumped: dict[str, None] = {}
        self._begin_operation()

    def _begin_operation(self) -> None:
        self._written = Trigger()
        self._first_epochs: dict[str, int | None] = {}
        self._is_first = True
        self.has_joined = False

    def note(self, sign: str) -> None:
        """Note a sign without members."""
        self._written.noted.add(sign)

    def member_deleted(self, member_id: str, before: AnyMemberValue | None) -> None:
        """Note a member's tombstone."""
        self._written.signs[MEMBER_LEFT].append(member_id)
        if before is not None:
            self._replace_topics(self.topics(before), ())
            if before.instance_id is not None:
                self._written.gone[before.instance_id] = member_id, before

    def member(self, member_id: str, value: AnyMemberValue, before: AnyMemberValue | None) -> str | None:
        """Note a member's record, and return the id of the static member that the member replaces, if any."""
        signs, replaced = self._written.signs, None
        if len(self._unbumped) < _MANY:
            self._unbumped[member_id] = None
        self._replace_topics(() if before is None else self.topics(before), self.topics(value))
        if before is None:
            self.has_joined = True
            gone = None if value.instance_id is None else self._written.gone.pop(value.instance_id, None)
            if gone is None:
                signs[MEMBER_JOINED].append(member_id)
                return None
            replaced, before = gone
            signs[MEMBER_LEFT].remove(replaced)
        if self.bumping(before) != self.bumping(value):
            signs[self.change].append(member_id)
        elif replaced is not None:
            signs[STATIC_MEMBER_REPLACED].append(member_id)
        return replaced

    def current(self, member_id: str, value: CurrentAssignmentValue | None) -> None:
        """Note a current assignment: the first one of a joining member shows whether it is new."""
        if value is not None and member_id not in self._first_epochs:
            self._first_epochs[member_id] = value.previous_member_epoch

    def bump(self, metadata_hash: int) -> Trigger:
        """Note a group epoch with a value, and return its possible causes."""
        written, self._written = self._written, Trigger()
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
        changed = self.metadata_changed(trigger, is_complete=is_complete)
        proves_new = any(self._first_epochs.get(member_id) == 0 for member_id in trigger.signs.get(MEMBER_JOINED, ()))
        cause_before, triggers = self._first(trigger, None, is_new=proves_new)
        if not is_complete:
            return cause_before, cause_before, changed, triggers
        cause, triggers = self._first(trigger, changed, is_new=True)
        return cause, cause_before, changed, triggers

    def _first(self, trigger: Trigger, changed: bool | None, *, is_new: bool) -> tuple[str, tuple[str, ...]]:  # noqa: FBT001 - as `compared` takes it
        """Return the first cause with a sign, and its members. `is_new`: those that joined are known to be new."""
        compared, unproven = self.compared(trigger, changed), self.unproven(trigger, changed)
        for cause in self.order:
            if cause in unproven:
                continue
            members = trigger.signs.get(cause, ())
            if members or cause in trigger.noted or cause in compared:
                is_known = cause != MEMBER_JOINED or is_new
                return (cause, tuple(members)) if is_known else (UNKNOWN, ())
        return UNKNOWN, ()

    def topics(self, value: AnyMemberValue) -> tuple[str, ...]:
        """Return the topics to which a member subscribes by name."""
        return cast("MemberValue", value).topics

    def bumping(self, value: AnyMemberValue) -> tuple[Any, ...]:
        """Return the fields of a member's record whose change bumps the group epoch."""
        subscribed = cast("MemberValue", value)
        return subscribed.topics, subscribed.regex

    def compared(self, trigger: Trigger, changed: bool | None) -> Collection[str]:  # noqa: ARG002, FBT001 - None is a third
        """Return the causes that show in a comparison with the previous group epoch.

        `changed`: whether the metadata of the topics is; None: unknown, also if the epoch lies before the history is
        complete.
        """
        return (TOPIC_METADATA_CHANGED,) if changed else ()

    def unproven(self, trigger: Trigger, changed: bool | None) -> Collection[str]:  # noqa: ARG002, FBT001 - as above
        """Return the causes whose signs prove nothing."""
        return ()

    def end_operation(self, *, is_complete: bool) -> None:
        """Remember whether the last type 3 lies where the history is complete, and clear the operation's records."""
        if not self._is_first:
            self.is_compared = is_complete
        self._begin_operation()

    def metadata_changed(self, trigger: Trigger, *, is_complete: bool) -> bool | None:
        """Return whether the metadata of the same topics changed.

        A member that joins, leaves or resubscribes changes the hash with the set of topics: that is not a change of a
        topic.
        """
        if not is_complete or (trigger.is_first and not self.is_compared):
            return None
        return trigger.same_topics and trigger.hash_before != trigger.hash_now

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
