"""Offset commits, which every kind of group writes, and classic groups: record types 0 to 2."""

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages.record import Record
from kip848_records.protocol.schema import BYTES, INT32, INT64, NO_UUID, STRING, UUID, Array, Field, Message, struct

OFFSET_KEY = struct(Field("group", STRING), Field("topic", STRING), Field("partition", INT32))

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The `protocolType` of classic groups whose members speak the embedded consumer protocol."""
CONNECT_PROTOCOL_TYPE = "connect"
"""The `protocolType` of the groups of Connect workers."""
SCHEMA_REGISTRY_PROTOCOL_TYPE = "sr"
"""The `protocolType` of the groups of Schema Registry instances."""

_TOPIC_PARTITIONS_BY_NAME = Array(struct(Field("topic", STRING), Field("partitions", Array(INT32))))

CONSUMER_PROTOCOL_SUBSCRIPTION = Message(
    struct(
        Field("topics", Array(STRING)),
        Field("userData", BYTES, nullable="0+"),
        Field("ownedPartitions", _TOPIC_PARTITIONS_BY_NAME, "1+"),
        Field("generationId", INT32, "2+"),
        Field("rackId", STRING, "3+", nullable="3+"),
    ),
    versions="0-3",
    flexible="none",
)
"""`GroupMetadata.members[].subscription`, after its int16 version (ConsumerProtocolSubscription in kafka-clients)."""

CONSUMER_PROTOCOL_ASSIGNMENT = Message(
    struct(Field("assignedPartitions", _TOPIC_PARTITIONS_BY_NAME), Field("userData", BYTES, nullable="0+")),
    versions="0-3",
    flexible="none",
)
"""`GroupMetadata.members[].assignment`, after its int16 version (ConsumerProtocolAssignment in kafka-clients)."""

OFFSET_COMMIT_VALUE = Message(
    struct(
        Field("offset", INT64),
        Field("leaderEpoch", INT32, "3+"),
        Field("metadata", STRING),
        Field("commitTimestamp", INT64),
        Field("expireTimestamp", INT64, "1"),
        Field("topicId", UUID, "4+", tag=0, default=NO_UUID),
    ),
    versions="0-4",
    flexible="4+",
)
GROUP_METADATA_VALUE = Message(
    struct(
        Field("protocolType", STRING),
        Field("generation", INT32),
        Field("protocol", STRING, nullable="0+"),
        Field("leader", STRING, nullable="0+"),
        Field("currentStateTimestamp", INT64, "2+"),
        Field(
            "members",
            Array(
                struct(
                    Field("memberId", STRING),
                    Field("groupInstanceId", STRING, "3+", nullable="3+"),
                    Field("clientId", STRING),
                    Field("clientHost", STRING),
                    Field("rebalanceTimeout", INT32, "1+"),
                    Field("sessionTimeout", INT32),
                    Field("subscription", BYTES, embeds=CONSUMER_PROTOCOL_SUBSCRIPTION),
                    Field("assignment", BYTES, embeds=CONSUMER_PROTOCOL_ASSIGNMENT),
                )
            ),
        ),
    ),
    versions="0-4",
    flexible="4+",
)

CLASSIC_RECORDS = (
    Record(KeyType.LEGACY_OFFSET_COMMIT, "OffsetCommit", OFFSET_KEY, (OFFSET_COMMIT_VALUE,)),
    Record(KeyType.OFFSET_COMMIT, "OffsetCommit", OFFSET_KEY, (OFFSET_COMMIT_VALUE,)),
    Record(KeyType.GROUP_METADATA, "GroupMetadata", struct(Field("group", STRING)), (GROUP_METADATA_VALUE,)),
)

OFFSET_COMMIT_TYPES = (KeyType.LEGACY_OFFSET_COMMIT, KeyType.OFFSET_COMMIT)
