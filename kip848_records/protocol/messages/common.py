"""Keys and structures that records of several kinds of groups share."""

from kip848_records.protocol.schema import INT32, INT64, STRING, UUID, Array, Field, Message, struct

GROUP_ID = struct(Field("groupId", STRING))
GROUP_MEMBER = struct(Field("groupId", STRING), Field("memberId", STRING))

TOPIC_PARTITIONS = Array(struct(Field("topicId", UUID), Field("partitions", Array(INT32))))
RACKS = Array(struct(Field("partition", INT32), Field("racks", Array(STRING))))
PARTITION_METADATA = Array(
    struct(
        Field("topicId", UUID),
        Field("topicName", STRING),
        Field("numPartitions", INT32),
        Field("partitionMetadata", RACKS),
    )
)

ASSIGNMENT_METADATA_VALUE = Message(
    struct(Field("assignmentEpoch", INT32), Field("assignmentTimestamp", INT64, tag=0, default=0)),
)
ASSIGNMENT_MEMBER_VALUE = Message(struct(Field("topicPartitions", TOPIC_PARTITIONS)))
PARTITION_METADATA_VALUE = Message(struct(Field("topics", PARTITION_METADATA)))
