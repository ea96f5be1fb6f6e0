"""Streams groups of KIP-1071: record types 17 to 23; type 18 is in no release."""

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages.common import ASSIGNMENT_METADATA_VALUE, GROUP_ID, GROUP_MEMBER
from kip848_records.protocol.messages.record import Record
from kip848_records.protocol.schema import INT8, INT16, INT32, INT64, STRING, UINT16, Array, Field, Message, struct

TASKS = Array(struct(Field("subtopologyId", STRING), Field("partitions", Array(INT32))))
OWNED_TASKS = Array(
    struct(
        Field("subtopologyId", STRING),
        Field("partitions", Array(INT32)),
        Field("assignmentEpochs", Array(INT32), nullable="0+", tag=0, default=[]),
    )
)
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

STREAMS_RECORDS = (
    Record(
        KeyType.STREAMS_GROUP_METADATA,
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
        KeyType.STREAMS_GROUP_MEMBER_METADATA,
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
    Record(
        KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA,
        "StreamsGroupTargetAssignmentMetadata",
        GROUP_ID,
        (ASSIGNMENT_METADATA_VALUE,),
    ),
    Record(
        KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
        "StreamsGroupTargetAssignmentMember",
        GROUP_MEMBER,
        (Message(struct(Field("activeTasks", TASKS), Field("standbyTasks", TASKS), Field("warmupTasks", TASKS))),),
    ),
    Record(
        KeyType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
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
        KeyType.STREAMS_GROUP_TOPOLOGY,
        "StreamsGroupTopology",
        GROUP_ID,
        (Message(struct(Field("epoch", INT32), Field("subtopologies", STREAMS_SUBTOPOLOGIES))),),
    ),
)
