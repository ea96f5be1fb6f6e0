"""One row per assignment and member: when the member had reconciled it, and what it waited for until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records.timeline.assignments import assignments
from kip848_records.timeline.blockers import awaited_at_end, owners_of_awaited, seen_blocking
from kip848_records.timeline.censoring import history
from kip848_records.timeline.durations import literal, ms_between
from kip848_records.timeline.operations import (
    INCARNATION,
    MEMBER_KEY,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    holds,
)
from kip848_records.timeline.settlements import settlements

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

RECONCILED: Final = "reconciled"
LEFT: Final = "left"
OPEN: Final = "open"
UNKNOWN: Final = "unknown"


def rebalance_lag(events: DataFrame, members: DataFrame, topics: DataFrame, captured_at: datetime | None) -> DataFrame:
    """Tell how long each member took to reconcile each target assignment that it met.

    A member meets an assignment if it is there at the end of the operation that wrote it. It has reconciled with the
    end of the first operation, from that one on, at which it is STABLE at this epoch or a later one.

    Args:
        events: the rows of `group_events`.
        members: the rows of `member_states`.
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
    written = assignments(events)
    owners = owners_of_awaited(members, written)
    is_open = F.col("status") == OPEN
    no_member = F.array().cast("array<string>")
    blocked_by = F.coalesce(F.when(is_open, F.col("blocking_at_end")).otherwise(F.col("seen_blocking")), no_member)
    return (
        settlements(members)
        .join(written, [*INCARNATION, "assignment"])
        .transform(_with_end, captured_at)
        .transform(_with_lags)
        .join(seen_blocking(owners), [*MEMBER_KEY, "assignment"], "left")
        .join(awaited_at_end(owners, topics), [*MEMBER_KEY], "left")
        .select(
            *INCARNATION,
            *("group_epoch", "member_id", "target_at", "reconciled_at", "status", "superseded"),
            F.col("bump.timestamp").alias("first_bumped_at"),
            *("lag_ms", "revoke_ms", "wait_ms"),
            blocked_by.alias("blocked_by"),
            F.when(is_open, F.col("awaited")).alias("awaited"),
            "settled_by.identity.*",
            history(
                begin_is_complete=holds(F.col("bump.is_complete")), has_end=F.col("status").isin(RECONCILED, LEFT)
            ).alias("history"),
            holds(F.least("lag_ms", "revoke_ms", "wait_ms") < 0).alias("clock_skew"),
        )
    )


def _with_end(rows: DataFrame, captured_at: datetime | None) -> DataFrame:
    """Add status, superseded, reconciled_at, and end_at: a member may have been STABLE before it met an assignment."""
    by, until = F.col("settled_by"), F.col("settled_by.until")
    is_reconciled = by["is_reconciled"]
    is_late = by["operation"] > F.col("operation")
    status = (
        F.when(is_reconciled, RECONCILED)
        .when(until["operation"].isNotNull(), LEFT)
        .when(by["is_last_known"], UNKNOWN)
        .otherwise(OPEN)
    )
    reconciled_at = F.when(is_reconciled, F.when(is_late, by["timestamp"]).otherwise(F.col("target_at")))
    # Null while open, for then every later assignment supersedes.
    last_operation = F.when(is_reconciled, F.greatest(by["operation"], F.col("operation"))).otherwise(
        until["operation"]
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
                F.coalesce(reconciled_at, until["timestamp"], literal(captured_at))
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
