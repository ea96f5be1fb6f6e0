"""What a coordinator refuses to load of a share group. Kafka 4.0 had a preview of them, with another layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.kinds import Role
from kip848_records.replay import refusals
from kip848_records.replay.decode.impossible import ASSIGNMENT_EPOCH, MEMBER_TARGET, twice
from kip848_records.replay.group.loading import LoadingRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.decode.columns import Columns
    from kip848_records.replay.decode.impossible import Bools, Check, Checks
    from kip848_records.replay.records import Record
    from kip848_records.replay.refusals import Refusal

SHARE_RECORD_ON_SIMPLE: Final = refusals.Refusal.of_bug(
    "the group is a classic one that never had a member", "share-over-commits"
)
_EARLY: Final = "early-share-groups"
SHARE_OF_4_0: Final = refusals.Refusal(
    "the value has the layout of Kafka 4.0", refusals.FROM_4_1, _EARLY, writers=refusals.ONLY_4_0
)
SHARE_OF_4_1: Final = refusals.Refusal("the value has the layout of Kafka 4.1", refusals.ONLY_4_0, _EARLY)
STATE_IN_4_0: Final = refusals.Refusal("Kafka 4.0 cannot replay its type", refusals.ONLY_4_0, _EARLY)
NO_GROUP: Final = refusals.Refusal("the group is not there", refusals.ONLY_4_0, _EARLY)


class ShareLoading(LoadingRules):
    """The rules of share groups, whose partitions have no owners."""

    on_simple = SHARE_RECORD_ON_SIMPLE

    def refused(self, record: Record, *, has_group: bool, has_member: bool) -> Refusal | None:  # noqa: ARG002 - of others
        """Return why 4.0 refuses a record: only a value of a group epoch or of a member makes a group."""
        if record.role is Role.SHARE_STATE:
            return STATE_IN_4_0
        makes_group = record.value is not None and record.role in {Role.GROUP_EPOCH, Role.MEMBER}
        return None if has_group or makes_group else NO_GROUP


def _lacks(name: str) -> Check:
    """Return a check whether the layout lacks a field."""
    return lambda columns: np.full(columns.rows, name not in columns.fields)


def _is_no_tag(columns: Columns) -> Bools:
    """Return whether 4.0 reads the metadata hash of a type 11 as tagged fields that are not there.

    It reads the first byte as their number; if that is 0, the others are trailing bytes.
    """
    if "metadata_hash" not in columns:
        return np.zeros(columns.rows, bool)
    hashes = columns["metadata_hash"].to_numpy(zero_copy_only=False)
    return hashes.astype(np.int64) >> 56 != 0  # type: ignore[no-any-return]


RULES = ShareLoading()
CHECKS: Final[Mapping[Role, Checks]] = {
    Role.GROUP_EPOCH: ((_lacks("metadata_hash"), SHARE_OF_4_0), (_is_no_tag, SHARE_OF_4_1)),
    Role.ASSIGNMENT_EPOCH: ASSIGNMENT_EPOCH,
    Role.MEMBER_TARGET: MEMBER_TARGET,
    Role.CURRENT_ASSIGNMENT: ((twice("topic_id", "assigned_partitions"), refusals.TOPIC_TWICE),),
    Role.SHARE_STATE: (
        (_lacks("initializing_topics"), SHARE_OF_4_0),
        (twice("topic_id", "initializing_topics", "initialized_topics"), refusals.TOPIC_TWICE),
    ),
}
