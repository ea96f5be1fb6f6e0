"""The records of consumer groups before Kafka 3.8: version 0 of their records had other meanings.

`kafka-3.7`: the early access releases 3.6 and 3.7. `kip-848`: the proposal's record section, as in Kafka 3.5.
`kip-848-draft`: the proposal before that, with the whole target assignment in one record and group configurations.

Fields of later releases are present with the versions `none`, so that a table has one type for all dialects.
"""

from kip848_records.protocol.messages.common import GROUP_ID, GROUP_MEMBER, PARTITION_METADATA, RACKS, TOPIC_PARTITIONS
from kip848_records.protocol.messages.consumer import OWNED_PARTITIONS
from kip848_records.protocol.messages.record import Record
from kip848_records.protocol.schema import BYTES, INT8, INT16, INT32, STRING, UUID, Array, Field, Message, struct

ASSIGNORS = Array(
    struct(
        Field("name", STRING),
        Field("minimumVersion", INT16),
        Field("maximumVersion", INT16),
        Field("reason", INT8),
        Field("version", INT16),
        Field("metadata", BYTES),
    )
)
MEMBER_IDENTITY = (
    Field("instanceId", STRING, nullable="0+"),
    Field("rackId", STRING, nullable="0+"),
    Field("clientId", STRING),
    Field("clientHost", STRING),
    Field("subscribedTopicNames", Array(STRING)),
    Field("subscribedTopicRegex", STRING, nullable="0+"),
)
ASSIGNOR_METADATA = (Field("metadataVersion", INT16), Field("metadataBytes", BYTES))
"""The data that a client-side assignor passes to the members."""

ASSIGNMENT_MEMBER = Record(
    7,
    "ConsumerGroupTargetAssignmentMember",
    GROUP_MEMBER,
    (Message(struct(Field("error", INT8), Field("topicPartitions", TOPIC_PARTITIONS), *ASSIGNOR_METADATA)),),
)

KAFKA_3_7_RECORDS = (
    Record(
        4,
        "ConsumerGroupPartitionMetadata",
        GROUP_ID,
        (Message(struct(Field("epoch", INT32), Field("topics", PARTITION_METADATA))),),
    ),
    Record(
        5,
        "ConsumerGroupMemberMetadata",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    *MEMBER_IDENTITY,
                    Field("rebalanceTimeoutMs", INT32),
                    Field("serverAssignor", STRING, nullable="0+"),
                    Field("assignors", ASSIGNORS),
                )
            ),
        ),
    ),
    ASSIGNMENT_MEMBER,
    Record(
        8,
        "ConsumerGroupCurrentMemberAssignment",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("memberEpoch", INT32),
                    Field("previousMemberEpoch", INT32),
                    Field("targetMemberEpoch", INT32),
                    Field("assignedPartitions", OWNED_PARTITIONS),
                    Field("partitionsPendingRevocation", OWNED_PARTITIONS),
                    Field("partitionsPendingAssignment", TOPIC_PARTITIONS),
                    Field("error", INT8),
                    *ASSIGNOR_METADATA,
                )
            ),
        ),
    ),
)

_TOPIC_SIZES = Array(
    struct(
        Field("topicId", UUID),
        Field("topicName", STRING, "none"),
        Field("numPartitions", INT32),
        Field("partitionMetadata", RACKS, "none"),
    )
)
_GROUP_AND_MEMBERS = (
    Record(
        4,
        "ConsumerGroupPartitionMetadata",
        GROUP_ID,
        (Message(struct(Field("epoch", INT32), Field("topics", _TOPIC_SIZES))),),
    ),
    Record(
        5,
        "ConsumerGroupMemberMetadata",
        GROUP_MEMBER,
        (Message(struct(Field("groupEpoch", INT32), *MEMBER_IDENTITY, Field("assignors", ASSIGNORS))),),
    ),
)
_CURRENT_ASSIGNMENT_VALUE = Message(
    struct(
        Field("memberEpoch", INT32),
        Field("error", INT8),
        Field("topicPartitions", TOPIC_PARTITIONS),
        *ASSIGNOR_METADATA,
    )
)


def _current_assignment(key_type: int) -> Record:
    return Record(key_type, "ConsumerGroupCurrentMemberAssignment", GROUP_MEMBER, (_CURRENT_ASSIGNMENT_VALUE,))


KIP_848_RECORDS = (*_GROUP_AND_MEMBERS, ASSIGNMENT_MEMBER, _current_assignment(8))

GROUP_CONFIGURATION = Record(
    8,
    "GroupConfiguration",
    GROUP_ID,
    (Message(struct(Field("configurations", Array(struct(Field("name", STRING), Field("value", STRING)))))),),
)
"""Its key ends after the group id, which distinguishes it from a current assignment of the same key type."""

KIP_848_DRAFT_RECORDS = (
    *_GROUP_AND_MEMBERS,
    Record(
        6,
        "ConsumerGroupTargetAssignment",
        GROUP_ID,
        (
            Message(
                struct(
                    Field("assignmentEpoch", INT32),
                    Field(
                        "members",
                        Array(
                            struct(
                                Field("memberId", STRING),
                                Field("error", INT8),
                                Field("topicPartitions", TOPIC_PARTITIONS),
                                Field("version", INT16),
                                Field("metadata", BYTES),
                            )
                        ),
                    ),
                )
            ),
        ),
    ),
    _current_assignment(7),
    GROUP_CONFIGURATION,
    _current_assignment(8),
)
