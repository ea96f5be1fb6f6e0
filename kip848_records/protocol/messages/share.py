"""Share groups of KIP-932: record types 9 to 15."""

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages.common import (
    ASSIGNMENT_MEMBER_VALUE,
    ASSIGNMENT_METADATA_VALUE,
    GROUP_ID,
    GROUP_MEMBER,
    PARTITION_METADATA_VALUE,
    TOPIC_PARTITIONS,
)
from kip848_records.protocol.messages.record import Record
from kip848_records.protocol.schema import INT8, INT32, INT64, STRING, UUID, Array, Field, Message, struct

SHARE_TOPIC_PARTITIONS = Array(
    struct(Field("topicId", UUID), Field("topicName", STRING), Field("partitions", Array(INT32)))
)
SHARE_TOPICS = Array(struct(Field("topicId", UUID), Field("topicName", STRING)))
SHARE_STATE_FIELDS = (
    Field("initializedTopics", SHARE_TOPIC_PARTITIONS),
    Field("deletingTopics", SHARE_TOPICS),
)
SHARE_STATE_4_0_VALUE = Message(struct(*SHARE_STATE_FIELDS))


SHARE_RECORDS = (
    # 3.9 wrote type 9 with the layout that 4.0 moved to type 15.
    Record(
        KeyType.SHARE_GROUP_PARTITION_METADATA,
        "ShareGroupPartitionMetadata",
        GROUP_ID,
        (PARTITION_METADATA_VALUE, SHARE_STATE_4_0_VALUE),
    ),
    Record(
        KeyType.SHARE_GROUP_MEMBER_METADATA,
        "ShareGroupMemberMetadata",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("rackId", STRING, nullable="0+"),
                    Field("clientId", STRING),
                    Field("clientHost", STRING),
                    Field("subscribedTopicNames", Array(STRING)),
                )
            ),
        ),
    ),
    Record(
        KeyType.SHARE_GROUP_METADATA,
        "ShareGroupMetadata",
        GROUP_ID,
        (
            Message(struct(Field("epoch", INT32), Field("metadataHash", INT64))),
            Message(struct(Field("epoch", INT32))),
        ),
    ),
    Record(
        KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA,
        "ShareGroupTargetAssignmentMetadata",
        GROUP_ID,
        (ASSIGNMENT_METADATA_VALUE,),
    ),
    Record(
        KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER,
        "ShareGroupTargetAssignmentMember",
        GROUP_MEMBER,
        (ASSIGNMENT_MEMBER_VALUE,),
    ),
    Record(
        KeyType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        "ShareGroupCurrentMemberAssignment",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("memberEpoch", INT32),
                    Field("previousMemberEpoch", INT32),
                    Field("state", INT8),
                    Field("assignedPartitions", TOPIC_PARTITIONS),
                )
            ),
        ),
    ),
    Record(
        KeyType.SHARE_GROUP_STATE_PARTITION_METADATA,
        "ShareGroupStatePartitionMetadata",
        GROUP_ID,
        (
            Message(struct(Field("initializingTopics", SHARE_TOPIC_PARTITIONS), *SHARE_STATE_FIELDS)),
            SHARE_STATE_4_0_VALUE,
        ),
    ),
)
