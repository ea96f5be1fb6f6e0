"""The table `consumption_stop`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLUSTER,
    GROUP,
    GROUP_ID,
    GROUP_TYPE,
    HISTORY,
    INT,
    OFFSETS_PARTITION,
    STRING,
    TIMESTAMP,
    TOPIC_PARTITION,
    Column,
    TableSpec,
)

STOPPED_PARTITION: Final = TableSpec(
    "stopped_partition",
    "Not a table: every partition that a rebalance stopped. `consumption_stop` compares them with offset commits",
    ("cluster", "group_id", "incarnation", "topic_id", "topic", "partition", "offset"),
    (
        *GROUP,
        GROUP_TYPE,
        OFFSETS_PARTITION,
        Column("epoch", INT, "Member epoch of the new owner; classic: generation"),
        Column("topic_id", STRING, "Topic id; null: classic groups name topics"),
        Column("topic", STRING, "Topic name; null where the id is known"),
        Column("partition", INT, "Partition of the topic", required=True),
        Column("kind", STRING, "As in `consumption_stop`", required=True),
        Column("offset", BIGINT, "Offset of the round that assigned it, or of the record that released it"),
        Column("rebalance_offset", BIGINT, "began_offset of its rebalance; -1: not seen", required=True),
        Column("is_one_round", BOOLEAN, "Whether the rebalance has one generation or epoch", required=True),
        HISTORY,
    ),
)

CONSUMPTION_STOP: Final = TableSpec(
    "consumption_stop",
    "Estimate, only with --offset-commits: for how long a rebalance stopped the consumption of a partition, by the "
    "progress of its offset commits. Consumer and classic groups",
    ("cluster", "group_id", "incarnation", "topic", "partition", "offset"),
    (
        *GROUP,
        GROUP_TYPE,
        OFFSETS_PARTITION,
        Column("epoch", INT, "Member epoch of the new owner; classic: generation"),
        Column("topic", STRING, "Topic name; the topic id if no name is known", required=True),
        Column("partition", INT, "Partition of the topic", required=True),
        Column(
            "kind",
            STRING,
            "moved: it got another owner; kept: its owner kept it in an eager group, where all members stop; revoked: "
            "the rebalance left it to no member",
            required=True,
        ),
        Column("offset", BIGINT, "Offset of the record that assigned it; revoked: that took it away", required=True),
        Column("rebalance_offset", BIGINT, "began_offset of its row in rebalance; null: not seen"),
        Column("last_progress_at", TIMESTAMP, "Last commit of a higher offset before, or the first commit (UTC)"),
        Column(
            "first_progress_at",
            TIMESTAMP,
            "First commit behind of a higher offset than the committed one (UTC); null: none by the end, or by its "
            "removal",
        ),
        Column(
            "usual_ms",
            BIGINT,
            "As in commit_progress, of the stay that the rebalance interrupted: median time between advances, in ms; "
            "null: fewer than three, or it had no owner when the rebalance began",
        ),
        Column("idle_before_ms", BIGINT, "Time without progress up to the last commit before, in ms", required=True),
        Column(
            "stop_min_ms",
            BIGINT,
            "Estimated lower bound of the stop, in ms: stop_max_ms minus twice usual_ms. Null: usual_ms is null, or "
            "the rebalance has several rounds",
        ),
        Column(
            "stop_max_ms",
            BIGINT,
            "Estimated upper bound of the stop, in ms: from last_progress_at to first_progress_at. A consumer that "
            "commits rarely seems to stop for long",
        ),
        Column(
            "is_idle",
            BOOLEAN,
            "Whether nothing shows that it was consumed before: usual_ms is null, or idle_before_ms is above twice it. "
            "Leave these rows out of percentiles",
            required=True,
        ),
        HISTORY,
    ),
    ended_at="first_progress_at",
)

FOUND_STOP: Final = TableSpec(
    "found_stop",
    "Not a table: what commits show of a stop, before anybody looked at the rebalance and at the usual time",
    ("cluster", "group_id", "topic", "partition", "offset"),
    (
        CLUSTER,
        GROUP_ID,
        OFFSETS_PARTITION,
        *TOPIC_PARTITION,
        Column("offset", BIGINT, "As in `consumption_stop`", required=True),
        Column("committed_offset", BIGINT, "Committed offset at the stop", required=True),
        Column("member_id", STRING, "Owner when the rebalance began; null: none"),
        Column("acquired_offset", BIGINT, "Since when, as in commit_progress; null: none"),
        Column("last_progress_at", TIMESTAMP, "As in `consumption_stop`", required=True),
        Column("last_progress_offset", BIGINT, "Offset of its record in __consumer_offsets", required=True),
        Column("first_progress_at", TIMESTAMP, "As in `consumption_stop`"),
        Column("idle_before_ms", BIGINT, "As in `consumption_stop`", required=True),
        Column("is_complete", BOOLEAN, "Whether no record is missing from the last to the first progress"),
    ),
)
