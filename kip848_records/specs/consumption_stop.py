"""The table `consumption_stop`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    GROUP,
    GROUP_TYPE,
    HISTORY,
    INT,
    OFFSETS_PARTITION,
    STRING,
    TIMESTAMP,
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
        Column(
            "round_before",
            BIGINT,
            "Offset of the first record of the generation or epoch before the rebalance; -1: not seen",
            required=True,
        ),
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
        Column("last_progress_at", TIMESTAMP, "First commit of the highest offset before (UTC)"),
        Column("first_progress_at", TIMESTAMP, "First commit of a higher offset behind (UTC); null: none by the end"),
        Column(
            "usual_ms",
            BIGINT,
            "Median time between commits that moved on, in the generation or epoch before the rebalance, in ms; null: "
            "fewer than three",
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
