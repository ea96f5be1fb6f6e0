"""How much of what a group did the log shows: of each event, and of an interval between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import GROUP, INCARNATION, holds

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OBSERVED: Final = "observed"
LEFT_CENSORED: Final = "left_censored"
RIGHT_CENSORED: Final = "right_censored"
CENSORED: Final = "censored"


def with_history(events: DataFrame, history: DataFrame | None) -> DataFrame:
    """Add to each event what is known to be there from it on.

    Group epochs step by one, so one that does not follow the one before proves that records are missing, whatever the
    partition's history says: of that group nothing before it is complete.

    Args:
        events: the rows of `with_operations`.
        history: ``cluster, partition, complete_from bigint, head_missing boolean``, one row per partition, as
            `history.known_history` tells it. Without it, or where it is null, no history counts as complete.

    Returns:
        The events with ``is_complete``: no record of the group is missing at this offset or after it; ``is_headless``:
        what came before this group's first deletion is missing altogether; ``is_whole``: no record of the incarnation
        is missing.
    """
    if history is None:
        return events.withColumns({name: F.expr("false") for name in ("is_complete", "is_headless", "is_whole")})
    before = Window.partitionBy(*INCARNATION).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    epoch_before = F.last("group_epoch", ignorenulls=True).over(before)
    is_jump = ~F.col("group_epoch").isin(epoch_before, epoch_before + 1)
    last_jump = F.max(F.when(F.col("jumps"), F.col("offset"))).over(Window.partitionBy(*GROUP))
    offset = F.col("offset")
    is_complete = holds((offset >= F.col("complete_from")) & (offset >= F.coalesce("last_jump", "complete_from")))
    return (
        events.withColumn("jumps", is_jump)
        .withColumn("last_jump", last_jump)
        .join(F.broadcast(history), ["cluster", "partition"], "left")
        .withColumn("is_headless", holds(F.col("head_missing")) & (F.col("incarnation") == 0))
        .withColumn("is_complete", is_complete & ~F.col("is_headless"))
        .withColumn("is_whole", F.min("is_complete").over(Window.partitionBy(*INCARNATION)))
        .drop("jumps", "last_jump", "complete_from", "head_missing")
    )


def history(*, begin_is_complete: Column, has_end: Column) -> Column:
    """Return what is known of an interval: observed, left_censored, right_censored, or censored (both)."""
    return (
        F.when(begin_is_complete & has_end, OBSERVED)
        .when(begin_is_complete, RIGHT_CENSORED)
        .when(has_end, LEFT_CENSORED)
        .otherwise(CENSORED)
    )
