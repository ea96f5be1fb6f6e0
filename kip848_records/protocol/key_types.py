"""The record types of `__consumer_offsets` by name, the first two bytes of a key."""

from typing import Final


class KeyType:
    """The numbers of Kafka's `CoordinatorRecordType`, as Kafka 3.8 and later write them.

    Early dialects have other records under some of these numbers (`protocol.messages.early`). They are no enumeration,
    whose members Spark's columns do not take.
    """

    LEGACY_OFFSET_COMMIT: Final = 0
    OFFSET_COMMIT: Final = 1
    GROUP_METADATA: Final = 2
    CONSUMER_GROUP_METADATA: Final = 3
    CONSUMER_GROUP_PARTITION_METADATA: Final = 4
    CONSUMER_GROUP_MEMBER_METADATA: Final = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: Final = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = 8
    SHARE_GROUP_PARTITION_METADATA: Final = 9
    SHARE_GROUP_MEMBER_METADATA: Final = 10
    SHARE_GROUP_METADATA: Final = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: Final = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = 14
    SHARE_GROUP_STATE_PARTITION_METADATA: Final = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION: Final = 16
    STREAMS_GROUP_METADATA: Final = 17
    STREAMS_GROUP_MEMBER_METADATA: Final = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: Final = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = 22
    STREAMS_GROUP_TOPOLOGY: Final = 23
