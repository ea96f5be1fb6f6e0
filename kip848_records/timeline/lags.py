"""One row per assignment and member: when the member had reconciled it, and what it waited for until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from kip848_records.timeline.censoring import history
from kip848_records.timeline.durations import literal, ms_between
from kip848_records.timeline.operations import (
    INCARNATION,
    MEMBER_KEY,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    holds,
)
from kip848_records.timeline.windows import NONE, NULL, arrow, lists_by_row, of_rows, struct

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

    from kip848_records.timeline.settlements import Settlements
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Ints

RECONCILED: Final = "reconciled"
LEFT: Final = "left"
OPEN: Final = "open"
UNKNOWN: Final = "unknown"

_OF_STATE: Final = "timestamp: timestamp, state: int, revoked_ms: bigint, waited_ms: bigint"
_IDENTITY: Final = ("instance_id", "client_id", "client_host", "rebalance_timeout_ms")
SETTLEMENT: Final = (
    "group_epoch int, target_at timestamp, operation bigint, next_operation bigint, "
    "bump struct<timestamp: timestamp, is_seen: boolean>, "
    f"met struct<{_OF_STATE}>, settled_by struct<{_OF_STATE}, operation: bigint, until_operation: bigint, "
    "until_timestamp: timestamp, is_reconciled: boolean, is_last_known: boolean>, seen_blocking array<string>, "
    "instance_id string, client_id string, client_host string, rebalance_timeout_ms int"
)
"""An assignment that a member met (`assignments.Written`): in which state, what settled it, and who was in the way.

`bump.is_seen`: no record is missing from the bump to what settled it, or to the end.

Of a state of the member (`members.States`) its time, type 8 and what it had spent until then (`settlements.Progress`).
`settled_by`: the state that settled it, or else the member's last; `is_last_known`: nobody can tell what came of the
member after it. The identity is that of the member's last type 5.
"""


def rebalance_lag(events: DataFrame, topics: DataFrame, captured_at: datetime | None) -> DataFrame:
    """Tell how long each member took to reconcile each target assignment that it met.

    A member meets an assignment if it is there at the end of the operation that wrote it. It has reconciled with the
    end of the first operation, from that one on, at which it is STABLE at this epoch or a later one.

    Args:
        events: the rows of `group_events`.
        topics: ``topic_id, topic``, each id once.
        captured_at: when the log was copied: how old what is still open is counts to it.

    Returns:
        One row per (group_id, incarnation, group_epoch, member_id), with ``partition``; ``target_at``,
        ``reconciled_at``; ``status`` (left, reconciled, open, or unknown: its records before Kafka 3.8 have no state,
        or some are missing that compaction would have kept); ``superseded``: a later assignment was written before
        the row's end; ``first_bumped_at``, of the oldest bump that the assignment answers; ``lag_ms`` from there;
        ``revoke_ms, wait_ms``: time in UNREVOKED_PARTITIONS and UNRELEASED_PARTITIONS since ``target_at``;
        ``blocked_by``, array of member ids; ``awaited``, array of structs ``topic_id, topic, partition, owner,
        released_at``;
        ``instance_id, client_id, client_host, rebalance_timeout_ms`` of the member's last type 5; ``history``;
        ``clock_skew``: one of the times is negative.
    """
    is_open = F.col("status") == OPEN
    blocked_by = F.when(is_open, _blocking_at_end()).otherwise(F.col("seen_blocking"))
    return (
        _with_awaited(events, topics)
        .select(*MEMBER_KEY, "awaited_at_end", "awaited", F.inline("settlements"))
        .transform(_with_end, captured_at)
        .transform(_with_lags)
        .select(
            *INCARNATION,
            *("group_epoch", "member_id", "target_at", "reconciled_at", "status", "superseded"),
            F.col("bump.timestamp").alias("first_bumped_at"),
            *("lag_ms", "revoke_ms", "wait_ms"),
            blocked_by.alias("blocked_by"),
            F.when(is_open, F.col("awaited")).alias("awaited"),
            *_IDENTITY,
            history(is_seen=holds(F.col("bump.is_seen")), has_end=F.col("status").isin(RECONCILED, LEFT)).alias(
                "history"
            ),
            holds(F.least("lag_ms", "revoke_ms", "wait_ms") < 0).alias("clock_skew"),
        )
    )


def _blocking_at_end() -> Column:
    owners = F.transform("awaited_at_end", lambda each: each["owner"])
    return F.array_sort(F.array_distinct(F.filter(owners, lambda owner: owner != F.col("member_id"))))


def _with_awaited(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Add ``awaited``, what members wait for at the end with the names of topics: only rows of those are shuffled."""
    is_waiting = holds(F.size("awaited_at_end") > 0)
    waiting = events.where(is_waiting)
    named = waiting.join(_named(waiting, topics), [*MEMBER_KEY], "left")
    return named.unionByName(events.where(~is_waiting), allowMissingColumns=True)


def _named(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Return ``MEMBER_KEY, awaited``: what members wait for at the end, by the names of topics where they are known."""
    topic = F.coalesce("topic", "topic_id").alias("topic")
    awaited = F.struct("topic_id", topic, F.col("number").alias("partition"), "owner", "released_at")
    return (
        events.select(*MEMBER_KEY, F.inline("awaited_at_end"))
        .join(topics.select("topic_id", "topic"), "topic_id", "left")
        .groupBy(*MEMBER_KEY)
        .agg(F.array_sort(F.collect_list(awaited)).alias("awaited"))
    )


def _with_end(rows: DataFrame, captured_at: datetime | None) -> DataFrame:
    """Add status, superseded, reconciled_at, and end_at: a member may have been STABLE before it met an assignment."""
    by = F.col("settled_by")
    is_reconciled = by["is_reconciled"]
    is_late = by["operation"] > F.col("operation")
    status = (
        F.when(is_reconciled, RECONCILED)
        .when(by["until_operation"].isNotNull(), LEFT)
        .when(by["is_last_known"], UNKNOWN)
        .otherwise(OPEN)
    )
    reconciled_at = F.when(is_reconciled, F.when(is_late, by["timestamp"]).otherwise(F.col("target_at")))
    # Null while open, for then every later assignment supersedes.
    last_operation = F.when(is_reconciled, F.greatest(by["operation"], F.col("operation"))).otherwise(
        by["until_operation"]
    )
    superseded = F.when(last_operation.isNull(), F.col("next_operation").isNotNull()).otherwise(
        holds(F.col("next_operation") <= last_operation)
    )
    return rows.withColumns(
        {
            "status": status,
            "superseded": superseded,
            "reconciled_at": reconciled_at,
            "end_at": F.when(status == UNKNOWN, F.greatest(by["timestamp"], "target_at")).otherwise(
                F.coalesce(reconciled_at, by["until_timestamp"], literal(captured_at))
            ),
        }
    )


def _with_lags(rows: DataFrame) -> DataFrame:
    lag = ms_between("bump.timestamp", "end_at")
    return rows.withColumns(
        {
            "lag_ms": F.when(F.col("status").isin(RECONCILED, OPEN), lag),
            "revoke_ms": _ms_in(UNREVOKED_PARTITIONS, "revoked_ms"),
            "wait_ms": _ms_in(UNRELEASED_PARTITIONS, "waited_ms"),
        }
    )


def _ms_in(state: int, spent: str) -> Column:
    """Return the time a member was in a state between two moments: what it had been by the one less by the other."""

    def spent_by(row: Column, moment: str) -> Column:
        in_row = F.when(holds(row["state"] == state), ms_between(row["timestamp"], moment)).otherwise(0)
        return row[spent] + in_row

    return spent_by(F.col("settled_by"), "end_at") - spent_by(F.col("met"), "target_at")


def settled_lags(story: Story, settled: Settlements, seen_blocking: pa.ListArray) -> pa.ListArray:
    """Return for each event the assignments that its member had settled, or left, by it (`SETTLEMENT`)."""
    events, operations, history = story.events, story.operations, story.history
    states, progress, written = story.states, story.progress, story.written
    by = settled.settled_by
    place = written.place(states.incarnation[by], settled.assignment)
    row, bump = written.row[place], written.bump[place]
    ends_headless = operations.of_incarnation.any(history.is_headless)
    member_epoch = of_rows(events.ints("member_epoch"), states.current[by])
    is_stateless = (member_epoch != NULL) & (states.member_state[by] == NULL)
    timestamp = events.ints("timestamp")
    until = np.where(progress.until[by] == NONE, operations.last_of_group[row], progress.until[by])
    end = np.where(settled.is_reconciled, np.maximum(states.row[by], row), until)
    of_last = {
        "operation": pa.array(states.operation[by]),
        "until_operation": arrow(progress.until_operation[by], pa.int64()),
        "until_timestamp": arrow(progress.until_timestamp[by], events.times),
        "is_reconciled": pa.array(settled.is_reconciled),
        "is_last_known": pa.array(is_stateless | ends_headless[states.row[by]]),
    }
    of_bump = {
        "timestamp": arrow(of_rows(timestamp, bump), events.times),
        "is_seen": pa.array(history.saw(bump, end)),
    }
    identity = states.identity[by]
    columns = {
        "group_epoch": arrow(events.ints("assignment_epoch")[row], pa.int32()),
        "target_at": arrow(timestamp[row], events.times),
        "operation": pa.array(operations.operation[row]),
        "next_operation": arrow(written.next_operation[place], pa.int64()),
        "bump": struct(of_bump, bump == NONE),
        "met": struct(_of_state(story, settled.met)),
        "settled_by": struct(_of_state(story, by) | of_last),
        "seen_blocking": seen_blocking,
        **{name: events.taken(name, identity) for name in _IDENTITY},
    }
    return lists_by_row(struct(columns), states.row[by], len(events))


def _of_state(story: Story, state: Ints) -> dict[str, pa.Array]:
    events, states, progress = story.events, story.states, story.progress
    return {
        "timestamp": arrow(states.timestamp[state], events.times),
        "state": arrow(states.member_state[state], pa.int32()),
        "revoked_ms": pa.array(progress.revoked_ms[state]),
        "waited_ms": pa.array(progress.waited_ms[state]),
    }
