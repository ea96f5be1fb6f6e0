"""The table `rebalance`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HISTORY,
    INT,
    PARTITION,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
    list_of,
    struct_of,
)

BLOCKERS: Final = list_of(
    struct_of(
        member_id=STRING,
        client_id=STRING,
        client_host=STRING,
        instance_id=STRING,
        late_ms=BIGINT,
        blocked_ms=BIGINT,
        held_up=INT,
        revoke_ms=BIGINT,
        away_ms=BIGINT,
        last_state=STRING,
        late_now=BOOLEAN,
        waiting_now=INT,
    )
)

REBALANCE: Final = TableSpec(
    "rebalance",
    "Every rebalance: the epochs of a group that ended with one operation (it became Stable or Empty, or was deleted), "
    "or that are open together at the end; in classic groups, a generation and its follow-ups",
    ("cluster", "group_id", "incarnation", "group_type", "began_offset"),
    (
        *GROUP,
        GROUP_TYPE,
        PARTITION,
        Column(
            "began_at", TIMESTAMP, "When its first epoch was bumped; classic: when its first join phase ended (UTC)"
        ),
        Column("began_offset", BIGINT, "Offset of the record of that epoch or generation", required=True),
        Column("first_epoch", INT, "Its first epoch; classic: its first generation"),
        Column("last_epoch", INT, "Its last epoch or generation"),
        Column("epochs", INT, "Number of its epochs or generations", required=True),
        Column("causes", STRINGS, "Distinct causes of its epochs, in their order"),
        Column("trigger_member_ids", STRINGS, "Distinct members that caused them, in their order"),
        Column("ended_at", TIMESTAMP, "When it ended (UTC); null while it is open"),
        Column("ended_offset", BIGINT, "Offset of the last record of the operation that ended it"),
        Column(
            "outcome",
            STRING,
            "converged, emptied, deleted, downgraded, upgraded, open; unknown: as in epoch_timeline.status; null: it "
            "ended before the history is complete",
        ),
        Column(
            "duration_ms",
            BIGINT,
            "From began_at to ended_at, or to the capture while open, or to the last record before one that was lost, "
            "in ms; at least, if censored or duration_is_minimum. Null for a classic group that became Empty",
        ),
        Column("started_empty", BOOLEAN, "Whether the group had no members before the first bump"),
        Column("members_before", INT, "Members before the first bump"),
        Column("members", INT, "Members at the end, or before the operation that emptied or deleted the group"),
        Column("members_waited", INT, "Members that were ever in UNRELEASED_PARTITIONS during it; null: classic"),
        Column("partitions_moved", INT, "Partitions that its assignments gave to another owner; null: unknown"),
        Column(
            "unowned_ms",
            BIGINT,
            "The part of wanted gaps within the rebalance, in partition-milliseconds. A gap is the whole time without "
            "an owner; it is wanted if some member's target has the partition when it is released, or at the end of "
            "the gap or of the rebalance. A gap may outlast the rebalance: from Kafka 4.3 on, a converged member may "
            "own less than its target. Without an earlier owner, the gap begins when a target has the partition. "
            "Share groups: initialized, subscribed partitions without a member. Classic: a lower bound, sync_ms of "
            "each partition that stopped",
        ),
        Column("longest_unowned_ms", BIGINT, "The longest part of one gap, in ms"),
        Column("assigning_ms", BIGINT, "Time in which the group waited for an assignment, not for a member"),
        Column("late_ms", BIGINT, "Time in which at least one member was late"),
        Column(
            "not_ready_ms",
            BIGINT,
            "Time in which a streams group waited for a topic of its topology, with every member at its target. "
            "assigning_ms, late_ms and not_ready_ms add up to duration_ms",
        ),
        Column(
            "blockers",
            BLOCKERS,
            "The 20 members that blocked it most: late_ms, time late; blocked_ms, time in which they held a partition "
            "that another member awaited; held_up, how many members waited for it at any time, those that left "
            "included; last_state, their last state while blocking. While it is open, those that block it at the end "
            "of the log come first: late_now, whether it could take its next step; waiting_now, how many members wait "
            "for it",
        ),
        Column("blockers_count", INT, "Number of members that blocked it; null: classic"),
        HISTORY,
        CLOCK_SKEW,
        Column(
            "leader_changed", BOOLEAN, "Whether another broker led the partition at its end; null: the source lacks it"
        ),
        Column("rounds", INT, "Classic: its rounds, with those that were given up; null: unknown, or not classic"),
        Column(
            "duration_is_minimum",
            BOOLEAN,
            "Whether the rebalance began before began_at: the log does not show the join phase of a classic group",
            required=True,
        ),
        Column(
            "delay_ms", BIGINT, "Connect: the longest time for which its leader waited for workers that left, in ms"
        ),
        Column("expected_at", TIMESTAMP, "Connect: until when the leader waits, by the latest delay (UTC)"),
        Column("revoked", INT, "Connect: connectors and tasks that the leader asked workers to give up"),
        Column(
            "partitions_stopped",
            INT,
            "Classic: partitions that no member could consume for a time: in an eager group every one with an owner "
            "before, else those moved, and those of static members that expired and are back. Null: unknown, or not "
            "classic",
        ),
        Column(
            "is_measured",
            BOOLEAN,
            "Whether it counts among the slowest rebalances, and in percentiles: it converged, the group had members "
            "before, both ends were observed and no clock went back. Classic: never, its duration is a minimum",
            required=True,
        ),
    ),
    # A rebalance without an outcome ended before the history is complete.
    ended_at="CASE WHEN coalesce(outcome, '') NOT IN ('open', 'unknown') THEN coalesce(ended_at, began_at) END",
)
