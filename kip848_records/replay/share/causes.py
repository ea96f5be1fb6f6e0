"""The cause of a new epoch of a share group. Members come first: they change the hash with the set of topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from kip848_records.replay.group.vocabulary import (
    MEMBER_JOINED,
    MEMBER_LEFT,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UNKNOWN,
)
from kip848_records.replay.modern.causes import Causes, Trigger

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTITIONS_INITIALIZED: Final = "partitions_initialized"


@dataclass(slots=True)
class ShareTrigger(Trigger):
    """The records of an operation between its previous type 11 and a type 11."""

    initialized_others: bool = False
    """The initialized partitions are not those of the targets."""


class ShareCauses(Causes):
    """The possible causes of the next epoch of a share group."""

    new_trigger = ShareTrigger

    @property
    def needs_partitions(self) -> bool:
        """Whether no member's record is a cause, so that the partitions may be."""
        written = self._written
        return not (written.resubscribed or written.joined or written.left)

    def initialized_others(self, *, is_other: bool) -> None:
        """Note before a bump whether the initialized partitions are not those of the targets."""
        cast("ShareTrigger", self._written).initialized_others = is_other

    def _cause_before(self, trigger: Trigger) -> tuple[str, tuple[str, ...]]:
        return _first(trigger, is_new=self._proves_new(trigger))

    def _cause(self, trigger: Trigger, *, is_changed: bool | None) -> tuple[str, tuple[str, ...]]:
        """Return the cause and its members.

        Without the hash before, a change of topics cannot be excluded, so that initialized partitions are no cause.
        """
        cause, triggers = _first(trigger, is_new=True)
        if cause == UNKNOWN and is_changed:
            cause = TOPIC_METADATA_CHANGED
        elif cause == UNKNOWN and is_changed is not None and cast("ShareTrigger", trigger).initialized_others:
            cause = PARTITIONS_INITIALIZED
        return cause, triggers


def _first(trigger: Trigger, *, is_new: bool) -> tuple[str, tuple[str, ...]]:
    """Return the first cause among the members' records. `is_new`: those that joined are known to be new."""
    causes: tuple[tuple[bool, str, Iterable[str]], ...] = (
        (bool(trigger.resubscribed), SUBSCRIPTION_CHANGED, trigger.resubscribed),
        (bool(trigger.joined) and is_new, MEMBER_JOINED, trigger.joined),
        (bool(trigger.joined), UNKNOWN, ()),
        (bool(trigger.left), MEMBER_LEFT, trigger.left),
    )
    return next(((cause, tuple(members)) for fits, cause, members in causes if fits), (UNKNOWN, ()))
