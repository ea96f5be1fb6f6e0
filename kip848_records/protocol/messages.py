"""Every record that a group coordinator writes to `__consumer_offsets`, as data.

Source: the message definitions in Kafka's group-coordinator and clients jars, releases 3.8.1 to 4.4.0. `RECORDS` is the
one place that knows a record type; the decoder, the encoder and the tables derive from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

from kip848_records.protocol.schema import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UINT16,
    UUID,
    Array,
    Field,
    Layout,
    Message,
    Struct,
    struct,
)


@cache
def _key_layout(key: Struct) -> Layout:
    return Layout(key, 0, flexible=False)


@dataclass(frozen=True)
class Record:
    """One record type.

    `values` holds the layouts that releases gave to the value, newest first. More than one means that a layout changed
    without a new version number: the newest that consumes every byte of a value is the one that wrote it.
    """

    key_type: int
    name: str
    key: Struct
    values: tuple[Message, ...]

    @cached_property
    def table(self) -> str:
        """The record's name in snake_case, the name of its table."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()

    @cached_property
    def key_layout(self) -> Layout:
        """The key's layout: never flexible, and without a version (the type stands where that would be).

        Records with equal keys share it.
        """
        return _key_layout(self.key)

    def value_layouts(self, version: int) -> list[Layout]:
        """Return the layouts that a value of `version` may have, newest first; none if the version is unknown."""
        return [layout for message in self.values if (layout := message.at(version))]


GROUP_ID = struct(Field("groupId", STRING))
GROUP_MEMBER = struct(Field("groupId", STRING), Field("memberId", STRING))
OFFSET_KEY = struct(Field("group", STRING), Field("topic", STRING), Field("partition", INT32))

TOPIC_PARTITIONS = Array(struct(Field("topicId", UUID), Field("partitions", Array(INT32))))
OWNED_PARTITIONS = Array(
    struct(
        Field("topicId", UUID),
        Field("partitions", Array(INT32)),
        Field("assignmentEpochs", Array(INT32), nullable="0+", tag=0, default=[]),
    )
)
TASKS = Array(struct(Field("subtopologyId", STRING), Field("partitions", Array(INT32))))
OWNED_TASKS = Array(
    struct(
        Field("subtopologyId", STRING),
        Field("partitions", Array(INT32)),
        Field("assignmentEpochs", Array(INT32), nullable="0+", tag=0, default=[]),
    )
)
PARTITION_METADATA = Array(
    struct(
        Field("topicId", UUID),
        Field("topicName", STRING),
        Field("numPartitions", INT32),
        Field(
            "partitionMetadata",
            Array(struct(Field("partition", INT32), Field("racks", Array(STRING)))),
        ),
    )
)
SHARE_TOPIC_PARTITIONS = Array(
    struct(Field("topicId", UUID), Field("topicName", STRING), Field("partitions", Array(INT32)))
)
SHARE_TOPICS = Array(struct(Field("topicId", UUID), Field("topicName", STRING)))
KEY_VALUES = Array(struct(Field("key", STRING), Field("value", STRING)))
STREAMS_TOPICS = Array(
    struct(
        Field("name", STRING),
        Field("partitions", INT32),
        Field("replicationFactor", INT16),
        Field("topicConfigs", KEY_VALUES),
    )
)
STREAMS_SUBTOPOLOGIES = Array(
    struct(
        Field("subtopologyId", STRING),
        Field("sourceTopics", Array(STRING)),
        Field("sourceTopicRegex", Array(STRING)),
        Field("stateChangelogTopics", STREAMS_TOPICS),
        Field("repartitionSinkTopics", Array(STRING)),
        Field("repartitionSourceTopics", STREAMS_TOPICS),
        Field(
            "copartitionGroups",
            Array(
                struct(
                    Field("sourceTopics", Array(INT16)),
                    Field("sourceTopicRegex", Array(INT16)),
                    Field("repartitionSourceTopics", Array(INT16)),
                )
            ),
        ),
    )
)
CLASSIC_MEMBER_METADATA = struct(
    Field("sessionTimeoutMs", INT32),
    Field("supportedProtocols", Array(struct(Field("name", STRING), Field("metadata", BYTES)))),
)

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The `protocolType` of classic groups whose members speak the embedded consumer protocol."""

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
"""`GroupMetadata.members[].assignment`, likewise (ConsumerProtocolAssignment)."""

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
ASSIGNMENT_METADATA_VALUE = Message(
    struct(Field("assignmentEpoch", INT32), Field("assignmentTimestamp", INT64, tag=0, default=0)),
)
ASSIGNMENT_MEMBER_VALUE = Message(struct(Field("topicPartitions", TOPIC_PARTITIONS)))
PARTITION_METADATA_VALUE = Message(struct(Field("topics", PARTITION_METADATA)))
SHARE_STATE_FIELDS = (
    Field("initializedTopics", SHARE_TOPIC_PARTITIONS),
    Field("deletingTopics", SHARE_TOPICS),
)
SHARE_STATE_4_0_VALUE = Message(struct(*SHARE_STATE_FIELDS))

_RECORDS = (
    Record(0, "OffsetCommit", OFFSET_KEY, (OFFSET_COMMIT_VALUE,)),
    Record(1, "OffsetCommit", OFFSET_KEY, (OFFSET_COMMIT_VALUE,)),
    Record(2, "GroupMetadata", struct(Field("group", STRING)), (GROUP_METADATA_VALUE,)),
    Record(
        3,
        "ConsumerGroupMetadata",
        GROUP_ID,
        (Message(struct(Field("epoch", INT32), Field("metadataHash", INT64, tag=0, default=0))),),
    ),
    Record(4, "ConsumerGroupPartitionMetadata", GROUP_ID, (PARTITION_METADATA_VALUE,)),
    Record(
        5,
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
    Record(6, "ConsumerGroupTargetAssignmentMetadata", GROUP_ID, (ASSIGNMENT_METADATA_VALUE,)),
    Record(7, "ConsumerGroupTargetAssignmentMember", GROUP_MEMBER, (ASSIGNMENT_MEMBER_VALUE,)),
    Record(
        8,
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
    # 3.9 wrote type 9 with the layout that 4.0 moved to type 15.
    Record(9, "ShareGroupPartitionMetadata", GROUP_ID, (PARTITION_METADATA_VALUE, SHARE_STATE_4_0_VALUE)),
    Record(
        10,
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
        11,
        "ShareGroupMetadata",
        GROUP_ID,
        (
            Message(struct(Field("epoch", INT32), Field("metadataHash", INT64))),
            Message(struct(Field("epoch", INT32))),
        ),
    ),
    Record(12, "ShareGroupTargetAssignmentMetadata", GROUP_ID, (ASSIGNMENT_METADATA_VALUE,)),
    Record(13, "ShareGroupTargetAssignmentMember", GROUP_MEMBER, (ASSIGNMENT_MEMBER_VALUE,)),
    Record(
        14,
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
        15,
        "ShareGroupStatePartitionMetadata",
        GROUP_ID,
        (
            Message(struct(Field("initializingTopics", SHARE_TOPIC_PARTITIONS), *SHARE_STATE_FIELDS)),
            SHARE_STATE_4_0_VALUE,
        ),
    ),
    Record(
        16,
        "ConsumerGroupRegularExpression",
        struct(Field("groupId", STRING), Field("regularExpression", STRING)),
        (Message(struct(Field("topics", Array(STRING)), Field("version", INT64), Field("timestamp", INT64))),),
    ),
    Record(
        17,
        "StreamsGroupMetadata",
        GROUP_ID,
        (
            Message(
                struct(
                    Field("epoch", INT32),
                    Field("metadataHash", INT64),
                    Field("validatedTopologyEpoch", INT32, tag=0, default=-1),
                    Field("lastAssignmentConfigs", KEY_VALUES, nullable="0+", tag=1, default=[]),
                    Field("storedDescriptionTopologyEpoch", INT32, tag=2, default=-1),
                    Field("failedDescriptionTopologyEpoch", INT32, tag=3, default=-1),
                )
            ),
        ),
    ),
    Record(
        19,
        "StreamsGroupMemberMetadata",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("instanceId", STRING, nullable="0+"),
                    Field("rackId", STRING, nullable="0+"),
                    Field("clientId", STRING),
                    Field("clientHost", STRING),
                    Field("rebalanceTimeoutMs", INT32),
                    Field("topologyEpoch", INT32),
                    Field("processId", STRING),
                    Field("userEndpoint", struct(Field("host", STRING), Field("port", UINT16)), nullable="0+"),
                    Field("clientTags", KEY_VALUES),
                )
            ),
        ),
    ),
    Record(20, "StreamsGroupTargetAssignmentMetadata", GROUP_ID, (ASSIGNMENT_METADATA_VALUE,)),
    Record(
        21,
        "StreamsGroupTargetAssignmentMember",
        GROUP_MEMBER,
        (Message(struct(Field("activeTasks", TASKS), Field("standbyTasks", TASKS), Field("warmupTasks", TASKS))),),
    ),
    Record(
        22,
        "StreamsGroupCurrentMemberAssignment",
        GROUP_MEMBER,
        (
            Message(
                struct(
                    Field("memberEpoch", INT32),
                    Field("previousMemberEpoch", INT32),
                    Field("state", INT8),
                    Field("activeTasks", OWNED_TASKS),
                    Field("standbyTasks", OWNED_TASKS),
                    Field("warmupTasks", OWNED_TASKS),
                    Field("activeTasksPendingRevocation", OWNED_TASKS),
                    Field("standbyTasksPendingRevocation", OWNED_TASKS),
                    Field("warmupTasksPendingRevocation", OWNED_TASKS),
                )
            ),
        ),
    ),
    Record(
        23,
        "StreamsGroupTopology",
        GROUP_ID,
        (Message(struct(Field("epoch", INT32), Field("subtopologies", STREAMS_SUBTOPOLOGIES))),),
    ),
)

RECORDS = {record.key_type: record for record in _RECORDS}
"""Record types by key type, as Kafka 3.8 and later write them. Type 18 is in no release."""

OFFSET_COMMIT_TYPES = (0, 1)

CONSUMER_MEMBER_STATES = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS", 127: "UNKNOWN"}
"""`ConsumerGroupCurrentMemberAssignment.state` in words (MemberState in the coordinator)."""
