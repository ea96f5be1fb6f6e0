"""Consumer groups of KIP-848: record types 3 to 8 and 16."""

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages.common import (
    ASSIGNMENT_MEMBER_VALUE,
    ASSIGNMENT_METADATA_VALUE,
    GROUP_ID,
    GROUP_MEMBER,
    PARTITION_METADATA_VALUE,
)
from kip848_records.protocol.messages.record import Record
from kip848_records.protocol.schema import BYTES, INT8, INT32, INT64, STRING, UUID, Array, Field, Message, struct

OWNED_PARTITIONS = Array(
    struct(
        Field("topicId", UUID),
        Field("partitions", Array(INT32)),
        Field("assignmentEpochs", Array(INT32), nullable="0+", tag=0, default=[]),
    )
)
CLASSIC_MEMBER_METADATA = struct(
    Field("sessionTimeoutMs", INT32),
    Field("supportedProtocols", Array(struct(Field("name", STRING), Field("metadata", BYTES)))),
)

CONSUMER_RECORDS = (
    Record(
        KeyType.CONSUMER_GROUP_METADATA,
        "ConsumerGroupMetadata",
        GROUP_ID,
        (Message(struct(Field("epoch", INT32), Field("metadataHash", INT64, tag=0, default=0))),),
    ),
    Record(
        KeyType.CONSUMER_GROUP_PARTITION_METADATA,
        "ConsumerGroupPartitionMetadata",
        GROUP_ID,
        (PARTITION_METADATA_VALUE,),
    ),
    Record(
        KeyType.CONSUMER_GROUP_MEMBER_METADATA,
        "ConsumerGroupMemberMetadata",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("instanceId", STRING, nullable="0+"),
                    Field("rackId", STRING, nullable="0+"),
                    Field("clientId", STRING),
                    Field("clientHost", STRING),
                    Field("subscribedTopicNames", Array(STRING)),
                    Field("subscribedTopicRegex", STRING, nullable="0+"),
                    Field("rebalanceTimeoutMs", INT32),
                    Field("serverAssignor", STRING, nullable="0+"),
                    Field(
                        "classicMemberMetadata",
                        CLASSIC_MEMBER_METADATA,
                        nullable="0+",
                        tag=0,
                        default={"sessionTimeoutMs": 0, "supportedProtocols": []},
                    ),
                )
            ),
        ),
    ),
    Record(
        KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
        "ConsumerGroupTargetAssignmentMetadata",
        GROUP_ID,
        (ASSIGNMENT_METADATA_VALUE,),
    ),
    Record(
        KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
        "ConsumerGroupTargetAssignmentMember",
        GROUP_MEMBER,
        (ASSIGNMENT_MEMBER_VALUE,),
    ),
    Record(
        KeyType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        "ConsumerGroupCurrentMemberAssignment",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("memberEpoch", INT32),
                    Field("previousMemberEpoch", INT32),
                    Field("state", INT8),
                    Field("assignedPartitions", OWNED_PARTITIONS),
                    Field("partitionsPendingRevocation", OWNED_PARTITIONS),
                )
            ),
        ),
    ),
    Record(
        KeyType.CONSUMER_GROUP_REGULAR_EXPRESSION,
        "ConsumerGroupRegularExpression",
        struct(Field("groupId", STRING), Field("regularExpression", STRING)),
        (Message(struct(Field("topics", Array(STRING)), Field("version", INT64), Field("timestamp", INT64))),),
    ),
)
