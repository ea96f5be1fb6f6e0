"""The cause of a new epoch of a share group. Members come first: they change the hash with the set of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.vocabulary import (
    MEMBER_JOINED,
    MEMBER_LEFT,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
)
from kip848_records.replay.modern.causes import Causes, Trigger

if TYPE_CHECKING:
    from collections.abc import Collection

PARTITIONS_INITIALIZED: Final = "partitions_initialized"
INITIALIZED_OTHERS: Final = "initialized_others"
"""A sign: the initialized partitions are not those of the targets."""

_OF_MEMBERS: Final = (SUBSCRIPTION_CHANGED, MEMBER_JOINED, MEMBER_LEFT)


class ShareCauses(Causes):
    """The possible causes of the next epoch of a share group."""

    order = (*_OF_MEMBERS, TOPIC_METADATA_CHANGED, PARTITIONS_INITIALIZED)

    @property
    def needs_partitions(self) -> bool:
        """Whether no member's record is a cause, so that the partitions may be."""
        return not any(map(self._written.signs.get, _OF_MEMBERS))

    def compared(self, trigger: Trigger, changed: bool | None) -> Collection[str]:  # noqa: FBT001 - None is a third
        """Return the causes that show in a comparison with the previous group epoch.

        Without the hash before, a change of topics cannot be excluded, so that initialized partitions are no cause.
        """
        is_other = changed is False and INITIALIZED_OTHERS in trigger.noted
        return (PARTITIONS_INITIALIZED,) if is_other else super().compared(trigger, changed)
