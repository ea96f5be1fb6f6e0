"""The table `commit_jump`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kip848_records.specs.columns import BIGINT, BOOLEAN, GROUP, STRING, TIMESTAMP, Column, TableSpec
from kip848_records.specs.commit_progress import COMMITTED_PARTITION

COMMIT_JUMP: Final = TableSpec(
    "commit_jump",
    "Only with --offset-commits: every break in the committed offsets of a partition, where the log is complete",
    ("cluster", "group_id", "incarnation", "topic", "partition", "offset"),
    (
        *GROUP,
        *COMMITTED_PARTITION,
        Column("offset", BIGINT, "Offset of the commit or tombstone in __consumer_offsets", required=True),
        Column("jumped_at", TIMESTAMP, "When it took effect: a transactional commit does at its marker (UTC)"),
        Column(
            "kind",
            STRING,
            "back: a lower offset was committed; ahead: a higher one while the group had no members; lost: the "
            "committed offset was removed; restart_after_loss: the first commit after that; recreated: the topic was "
            "created anew; first_commit: a partition's first commit in a group that had committed others of the topic",
            required=True,
        ),
        Column(
            "context",
            STRING,
            "Who committed: same_owner; owner_change: the first commit of a new owner; first_owner: the first one of "
            "the first owner; previous_owner: after it gave the partition up; no_members: a tool or a client without a "
            "member id; simple, unowned, unknown: as owner in commit_progress",
            required=True,
        ),
        Column("before_offset", BIGINT, "Committed offset before; null: none"),
        Column("after_offset", BIGINT, "Committed offset; null: removed"),
        Column("amount", BIGINT, "Difference between both, in offsets; null: nothing can be said (recreated, lost)"),
        Column("member_id", STRING, "The owner; null: none"),
        Column("previous_member_id", STRING, "The owner before; null: none"),
        Column("is_transactional", BOOLEAN, "Whether the commit was part of a transaction", required=True),
        Column("recovered_at", TIMESTAMP, "First commit of before_offset or more behind it (UTC); null: not yet"),
        Column(
            "cause",
            STRING,
            "Why it was lost, a presumption: group_expired, group_deleted (the group was removed with it), "
            "topic_deleted, expired, deleted (a tool removed it); null for other kinds",
        ),
        Column("age_ms", BIGINT, "Lost: the age of the removed commit, in ms"),
    ),
    ended_at="jumped_at",
)

FOUND_JUMP: Final = replace(
    COMMIT_JUMP,
    name="found_jump",
    comment="Not a table: jumps before anybody looked at other groups, and at what else was removed",
    columns=(
        *COMMIT_JUMP.columns,
        Column("has_members", BOOLEAN, "Whether the group had members", required=True),
        Column("empty_since", TIMESTAMP, "Since when the group was Empty; null: it was not"),
        Column("after_removal", BIGINT, "Offset of the tombstone just before; null: there was a committed offset"),
    ),
)
