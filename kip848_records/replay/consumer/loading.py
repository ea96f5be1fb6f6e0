"""What a coordinator refuses to load of a consumer group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from kip848_records.kinds import Role
from kip848_records.protocol.schema import NO_UUID
from kip848_records.replay import refusals
from kip848_records.replay.decode.columns import list_parts
from kip848_records.replay.decode.impossible import ASSIGNMENT_EPOCH, MEMBER_TARGET, twice
from kip848_records.replay.group.loading import LoadingRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.decode.columns import Columns
    from kip848_records.replay.decode.impossible import Bools, Checks
    from kip848_records.replay.records import Record
    from kip848_records.replay.refusals import Refusal

CONSUMER_RECORD_ON_CLASSIC: Final = refusals.Refusal.of_bug("the group is a classic one", "KAFKA-21117")
CONSUMER_RECORD_ON_SIMPLE: Final = refusals.Refusal.of_bug(
    "the group is a classic one that never had a member", "KAFKA-17306"
)
NO_GROUP: Final = refusals.Refusal.of_bug("the group is not there", "KAFKA-17306")
NO_MEMBER: Final = refusals.Refusal.of_bug("the member is not there", "KAFKA-17306")
IMPOSSIBLE_METADATA: Final = refusals.Refusal(
    "a topic has no id, no name, or a negative number of partitions", refusals.ONLY_4_0
)
HELD_TOPIC_TWICE: Final = refusals.Refusal("a topic occurs twice", refusals.between("4.0.0", "4.2.1"))


class ConsumerLoading(LoadingRules):
    """The rules of consumer groups: Kafka loads their records on a classic group, unless it has a known bug."""

    on_simple = CONSUMER_RECORD_ON_SIMPLE
    on_classic = CONSUMER_RECORD_ON_CLASSIC

    def refused(self, record: Record, *, has_group: bool, has_member: bool) -> Refusal | None:
        """Return why 3.9 refuses a record: only a value of a group epoch or of a member makes a group or a member."""
        is_value = record.value is not None
        if not has_group and not (is_value and record.role in {Role.GROUP_EPOCH, Role.MEMBER}):
            return NO_GROUP
        needs_member = record.role is Role.CURRENT_ASSIGNMENT or (record.role is Role.MEMBER and not is_value)
        return NO_MEMBER if needs_member and not has_member else None


def _impossible_metadata(columns: Columns) -> Bools:
    """Return whether a topic in a type 4 has no id, no name, or a negative number of partitions."""
    refused = np.zeros(columns.rows, bool)
    if "topics" in columns:
        offsets, topics = list_parts(columns["topics"])
        rows = np.repeat(np.arange(columns.rows), np.diff(offsets))
        is_bad = pc.or_(pc.equal(topics.field("topic_name"), ""), pc.less(topics.field("num_partitions"), 0))
        is_bad = pc.or_(is_bad, pc.equal(topics.field("topic_id"), NO_UUID))
        refused[rows[is_bad.to_numpy(zero_copy_only=False)]] = True
    return refused


RULES = ConsumerLoading()
CHECKS: Final[Mapping[Role, Checks]] = {
    Role.PARTITION_METADATA: ((_impossible_metadata, IMPOSSIBLE_METADATA),),
    Role.ASSIGNMENT_EPOCH: ASSIGNMENT_EPOCH,
    Role.MEMBER_TARGET: MEMBER_TARGET,
    Role.CURRENT_ASSIGNMENT: (
        (twice("topic_id", "assigned_partitions", "partitions_pending_revocation"), HELD_TOPIC_TWICE),
    ),
}
