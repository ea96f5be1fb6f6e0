"""One row per interval in which a group was in one state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.censoring import history
from kip848_records.timeline.durations import literal, ms_between
from kip848_records.timeline.operations import GROUP, INCARNATION, LOSSES, LOST, holds
from kip848_records.timeline.states import DEAD, UNKNOWN

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, WindowSpec


def group_state_timeline(judged: DataFrame, captured_at: datetime | None) -> DataFrame:
    """Tell how long each group, consumer or classic, was in each state: "not converged since" comes from here.

    A state is judged at the end of an operation and lasts to the end of the one that changes it. A deleted group has
    no state; no interval goes on from one incarnation, or from one protocol, to the next.

    Args:
        judged: the rows of `judged_groups`.
        captured_at: when the log was copied: how old what is still open is counts to it.

    Returns:
        One row per interval: ``partition, group_id, incarnation, group_type, state`` (Empty, Assigning,
        Reconciling, Stable, or unknown: the log does not tell), ``from_at, from_offset`` (of the operation's last
        record), ``to_at`` (null: still), ``duration_ms``, ``history`` and ``clock_skew`` (the duration is negative).
        Of a state that lasted up to a record that was lost nobody saw the end: ``history`` says so, and ``to_at`` is
        as long as it lasted at least.
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    run = F.struct("incarnation", "group_type", "state")
    return (
        judged.where("ends_operation")
        .withColumns(
            {
                "starts": ~run.eqNullSafe(F.lag(run).over(in_order)),
                "begin": seen_begin(in_order),
            }
        )
        .where("starts")
        .withColumns(
            {
                "from_at": F.col("timestamp"),
                "from_offset": F.col("offset"),
                "to_at": F.lead("timestamp").over(in_order),
                "seen_to_end": F.when(F.lead("offset").over(in_order).isNull(), F.col("seen_at_end")).otherwise(
                    F.lead("seen_from").over(in_order)
                ),
                "has_end": ~F.lead("key_type", default=LOST).over(in_order).isin(*LOSSES),
            }
        )
        .where(F.col("state") != DEAD)
        .select(
            *INCARNATION,
            *("group_type", "state", "from_at", "from_offset", "to_at"),
            history(is_seen=holds(F.col("begin") >= F.col("seen_to_end")), has_end=F.col("has_end")).alias("history"),
        )
        .transform(with_durations, captured_at)
    )


def seen_begin(in_order: WindowSpec) -> Column:
    """Return the offset from which on a state that begins with a row was seen.

    After one that the log does not tell, for want of records that may have been compacted away, it may have begun
    before: -1, which no `seen_from` reaches back to.
    """
    is_untold = (F.lag("state").over(in_order) == UNKNOWN) & F.lag("seen_from").over(in_order).isNull()
    return F.when(holds(is_untold), -1).otherwise(F.col("offset"))


def with_durations(intervals: DataFrame, captured_at: datetime | None) -> DataFrame:
    """Tell how long intervals lasted, those without an end (``to_at``) up to `captured_at`: the last two columns."""
    duration = ms_between("from_at", F.coalesce("to_at", literal(captured_at)))
    return intervals.withColumn("duration_ms", duration).withColumn("clock_skew", holds(F.col("duration_ms") < 0))
