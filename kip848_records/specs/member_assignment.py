"""The table `member_assignment`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    GROUP,
    GROUP_TYPE,
    INT,
    INTS,
    MEMBER_ID,
    PARTITION,
    STRING,
    Column,
    TableSpec,
)
from kip848_records.specs.completion import with_topics

MEMBER_ASSIGNMENT: Final = TableSpec(
    "member_assignment",
    "What each present member has at the end of the log, and what it is to have: one row a member and topic, "
    "subtopology or connector. A member that has nothing and gets nothing has no row, and neither has a group in state "
    "unknown after a loss",
    ("cluster", "group_id", "partition", "member_id", "topic_id", "topic", "subtopology_id", "connector", "role"),
    (
        *GROUP,
        GROUP_TYPE,
        PARTITION,
        MEMBER_ID,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64); null: classic groups name topics"),
        Column("topic", STRING, "Topic name; the topic id if no name is known; null: tasks and connectors"),
        Column("subtopology_id", STRING, "Streams: the tasks' subtopology"),
        Column("connector", STRING, "Connect: name of the connector"),
        Column("role", STRING, "Streams: active, standby or warmup. Connect: connector or task"),
        Column(
            "present",
            INTS,
            "Partitions or tasks that it has, those that it is asked to revoke included; Connect: what it runs, -1 for "
            "the connector itself. A static member that is away has none at work",
            required=True,
        ),
        Column("target", INTS, "Those in its target assignment; null: it has no target, as in classic groups"),
        Column("pending", INTS, "Those of present that it is asked to revoke", required=True),
        Column("present_units", INT, "Number of present", required=True),
        Column("target_units", INT, "Number of target; null as target"),
        Column("pending_units", INT, "Number of pending", required=True),
    ),
    complete=with_topics,
)
