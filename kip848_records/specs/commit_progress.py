"""The table `commit_progress`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    GROUP,
    HISTORY,
    OFFSETS_PARTITION,
    REBALANCE_TIMEOUT,
    STRING,
    TIMESTAMP,
    TOPIC_PARTITION,
    Column,
    TableSpec,
)

OFFSETS_RETENTION_MS: Final = 7 * 24 * 60 * 60 * 1000
"""Kafka's default of `offsets.retention.minutes`: an older commit may have expired."""

COMMITTED_PARTITION: Final = (
    Column("group_type", STRING, "consumer, classic or streams; simple: a group of offset commits only"),
    OFFSETS_PARTITION,
    *TOPIC_PARTITION,
)

WHO_IS_AHEAD: Final = (
    Column(
        "behind_since",
        TIMESTAMP,
        "First commit of a higher offset by an owner in another group; null: none, or this one moved in the last ten "
        "seconds before the capture (UTC)",
    ),
    Column("ahead_by", BIGINT, "By how many offsets the furthest of them is ahead"),
    Column("ahead_group", STRING, "The group of that one"),
)

COMMIT_PROGRESS: Final = TableSpec(
    "commit_progress",
    "Only with --offset-commits: how the committed offset of a partition moved while one member owned it without a "
    "break (a stay). What was committed without an owner has rows of its own. Facts, no verdicts",
    ("cluster", "group_id", "incarnation", "topic", "partition", "owner", "member_id", "acquired_offset"),
    (
        *GROUP,
        *COMMITTED_PARTITION,
        Column("topic_id", STRING, "Topic id in the last commit; null: no commit has one (Kafka before 4.3)"),
        Column(
            "owner",
            STRING,
            "member; no_members: the group was Empty, so a tool or a client without a member id committed; simple: the "
            "group id had no members in this incarnation; unowned: members committed what none of them owned; unknown: "
            "the log does not show whether the group had members",
            required=True,
        ),
        Column("member_id", STRING, "The owner; null: the row is no member's"),
        Column("instance_id", STRING, "Its group.instance.id when it acquired the partition"),
        Column("client_id", STRING, "Its client.id when it acquired the partition"),
        REBALANCE_TIMEOUT,
        Column(
            "min_silence_ms",
            BIGINT,
            "For how long the offset must not move, in ms, before the partition may stand still: the limit "
            "min_silence_seconds of diagnosis.not_consumed; null: not set",
        ),
        Column("acquired_at", TIMESTAMP, "When the member acquired it (UTC)"),
        Column("acquired_offset", BIGINT, "Offset of the last record of that operation; null: the row is no member's"),
        Column("released_at", TIMESTAMP, "When the member gave it up, or left (UTC); null: not yet"),
        Column("released_offset", BIGINT, "Offset of the last record of that operation; null: not yet"),
        Column("start_offset", BIGINT, "Committed offset when it was acquired; null: none, or not known"),
        Column("start_age_ms", BIGINT, "Age of that commit at the acquisition, in ms"),
        Column("first_commit_at", TIMESTAMP, "First commit that took effect, late ones included (UTC)"),
        Column("first_offset", BIGINT, "Its committed offset"),
        Column("last_commit_at", TIMESTAMP, "Last commit that took effect, late ones included (UTC)"),
        Column("last_offset", BIGINT, "Its committed offset"),
        Column("min_offset", BIGINT, "Lowest committed offset"),
        Column("max_offset", BIGINT, "Highest committed offset"),
        Column("commits", BIGINT, "Commits that took effect", required=True),
        Column("unchanged", BIGINT, "Those that committed the same offset again", required=True),
        Column("backs", BIGINT, "Those that committed a lower offset", required=True),
        Column("late_commits", BIGINT, "Those that came after released_at", required=True),
        Column("removed", BIGINT, "Tombstones that removed a committed offset", required=True),
        Column("advances", BIGINT, "Commits of a higher offset than the one before", required=True),
        Column(
            "advanced",
            BIGINT,
            "Sum of these steps, in offsets. Not messages: compaction and control records leave gaps",
            required=True,
        ),
        Column("last_advance_at", TIMESTAMP, "Last commit of a higher offset (UTC)"),
        Column(
            "longest_gap_ms",
            BIGINT,
            "Longest time from the acquisition or an advance to the next advance, to the release, or to the capture, "
            "in ms",
        ),
        Column(
            "longest_step_ms",
            BIGINT,
            "Longest time from the acquisition or an advance to the next advance, in ms: only what ended with one",
        ),
        Column("usual_ms", BIGINT, "Median time between advances, in ms; null: fewer than three"),
        Column(
            "member_rhythm_ms",
            BIGINT,
            "Median time between the member's commits of any partition, in ms; commits within 50 ms count as one. "
            "Null: fewer than two steps",
        ),
        Column("member_last_commit_at", TIMESTAMP, "The member's last commit of any partition that took effect (UTC)"),
        Column(
            "quiet_ms",
            BIGINT,
            "From the member's last commit of any partition to the release, in ms; null: not released, or no commit",
        ),
        Column("recent_advanced", BIGINT, "Offsets by which the last 20 advances moved, without the first of them"),
        Column("recent_ms", BIGINT, "Time from the first to the last of them, in ms"),
        *WHO_IS_AHEAD,
        HISTORY,
    ),
    ended_at="released_at",
)

FOUND_PROGRESS: Final = replace(
    COMMIT_PROGRESS,
    name="found_progress",
    comment="Not a table: progress before anybody looked at other groups",
    columns=tuple(each for each in COMMIT_PROGRESS.columns if each not in WHO_IS_AHEAD),
)
