"""The table `task_handover`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HAS_CHANGELOGS,
    HISTORY,
    INT,
    PARTITION,
    STRING,
    TIMESTAMP,
    WANTED,
    Column,
    TableSpec,
)

TASK_HANDOVER: Final = TableSpec(
    "task_handover",
    "Every change of the owner of an active task of a streams group, or of a connector or task of a Connect cluster, "
    "and every gap without an owner",
    (
        *("cluster", "group_id", "incarnation", "group_type", "subtopology_id", "connector", "task"),
        *("acquired_offset", "released_offset"),
    ),
    (
        *GROUP,
        GROUP_TYPE,
        PARTITION,
        Column("subtopology_id", STRING, "Streams: the task's subtopology"),
        Column("connector", STRING, "Connect: name of the connector"),
        Column(
            "task",
            INT,
            "Streams: partition of the subtopology. Connect: task number, -1 for the connector itself",
            required=True,
        ),
        Column("acquired_offset", BIGINT, "Offset of the new owner's record; null: it has no new owner"),
        Column("from_member", STRING, "Member id of the previous owner; null: the first owner seen"),
        Column(
            "reason",
            STRING,
            "Connect: revoked, worker_left, direct (from one worker to another), unassigned; null: streams",
        ),
        Column("released_at", TIMESTAMP, "When the previous owner released it (UTC); null for a first acquisition"),
        Column("released_offset", BIGINT, "Offset of the record that released it"),
        Column("to_member", STRING, "Member id of the new owner; null: none by the end of the gap or the log"),
        Column("acquired_at", TIMESTAMP, "When the new owner acquired it (UTC)"),
        Column(
            "unowned_ms",
            BIGINT,
            "From released_at to acquired_at, or to the end of the gap or the capture, in ms. A lower bound: the log "
            "shows neither how long a member was dead before its session expired, nor how long state was restored. "
            "Null for a first acquisition",
        ),
        Column("unowned_max_ms", BIGINT, "Connect: an upper bound, in ms; null if the log does not show one"),
        *WANTED,
        Column(
            "was_warm",
            BOOLEAN,
            "Streams: whether a member of the new owner's process had the task, in any role, when the assignment was "
            "written. False: not seen warm. Null: unknown, or no new owner",
        ),
        HAS_CHANGELOGS,
        Column("epoch", INT, "Member epoch of the new owner; Connect: generation"),
        Column(
            "status",
            STRING,
            "acquired; removed: in no target any more, or the group became Empty or was deleted; open: a gap at the "
            "end of the log; unknown: a gap behind which records were lost, or an assignment of Connect does not parse",
            required=True,
        ),
        Column("ended_at", TIMESTAMP, "When it was acquired, or the gap ended otherwise (UTC); null while open"),
        Column("expected_at", TIMESTAMP, "Connect: when the leader assigns it again at the latest (UTC)"),
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at="CASE WHEN status NOT IN ('open', 'unknown') THEN ended_at END",
)
