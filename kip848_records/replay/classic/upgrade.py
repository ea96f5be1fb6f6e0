"""Whether a consumer member may join a classic group and convert it, by the group's last record.

The rules are those of `GroupMetadataManager.validateOnlineUpgrade` and `ConsumerGroup.fromClassicGroup` in Kafka 4.0 to
4.4. Conditions that only the broker knows are not reasons: `group.consumer.migration.policy` and
`group.consumer.max.size`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.replay.classic.streams_assignor import STREAMS_ASSIGNOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.records import ClassicGroupValue

DUPLICATE_INSTANCE: Final = "duplicate_instance"
DUPLICATE_MEMBER: Final = "duplicate_member"
PROTOCOL_TYPE: Final = "protocol_type"
MALFORMED_ASSIGNMENT: Final = "malformed_assignment"
ASSIGNOR_USER_DATA: Final = "assignor_user_data"
MALFORMED_SUBSCRIPTION: Final = "malformed_subscription"
NO_PROTOCOL: Final = "no_protocol"
STREAMS_APPLICATION: Final = "streams_application"


def is_upgradable(value: ClassicGroupValue, reasons: tuple[str, ...]) -> bool | None:
    """Return whether Kafka converts the group online, or replaces it because it is Empty; None if unknown.

    `reasons`: the result of `upgrade_reasons`.
    """
    if reasons:
        return False
    if len(value.members) < len(value.member_ids):
        return None
    is_read = all(member.subscription is not None and member.assignment is not None for member in value.members)
    return True if is_read else None


def upgrade_reasons(value: ClassicGroupValue) -> tuple[str, ...]:
    """Return all reasons for which the group cannot be upgraded, in the order in which Kafka tests them.

    A group without members has none.
    """
    return tuple(_reasons(value)) if value.member_ids else ()


def _reasons(value: ClassicGroupValue) -> Iterator[str]:
    members = value.members
    if value.has_duplicate_instance:
        yield DUPLICATE_INSTANCE  # no coordinator has such a group in memory: none can load the record
    elif value.has_duplicate_member:
        yield DUPLICATE_MEMBER
    if value.protocol_type != CONSUMER_PROTOCOL_TYPE:
        yield PROTOCOL_TYPE
        return
    if any(member.assignment_error is not None for member in members):
        yield MALFORMED_ASSIGNMENT
    if any(member.assignment is not None and member.assignment.user_data for member in members):
        yield ASSIGNOR_USER_DATA
    if any(member.subscription_error is not None for member in members):
        yield MALFORMED_SUBSCRIPTION
    if value.protocol is None:
        yield NO_PROTOCOL
    if value.protocol == STREAMS_ASSIGNOR:
        yield STREAMS_APPLICATION  # its members have user data as soon as they have an assignment
