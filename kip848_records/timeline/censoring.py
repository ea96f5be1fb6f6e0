"""How much of what a group did the log shows: of each event, and of an interval between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import GROUP, GROUP_EPOCH, INCARNATION, LOST, holds

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OBSERVED: Final = "observed"
LEFT_CENSORED: Final = "left_censored"
RIGHT_CENSORED: Final = "right_censored"
CENSORED: Final = "censored"


def with_history(events: DataFrame, history: DataFrame | None, losses: DataFrame | None = None) -> DataFrame:
    """Add to each event what is known to be there from it on.

    Group epochs step by one, so one that does not follow the one before proves that records are missing, whatever the
    partition's history says: of that group nothing before it is complete.

    Args:
        events: the rows of `with_operations`.
        history: ``partition, complete_from bigint, head_missing boolean``, one row per partition, as
            `history.known_history` tells it. Without it, or where it is null, no history counts as complete.
        losses: the rows of `losses.partition_losses`.

    Returns:
        The events with ``is_complete``: no record of the group is missing at this offset or after it; ``is_headless``:
        records of this incarnation, from before this one, are missing that compaction would have kept;
        ``is_unscathed``: no record from here on was lost; ``is_whole``: no record of the incarnation is missing.
    """
    if history is None:
        known = {"is_complete": False, "is_headless": False, "is_unscathed": True, "is_whole": False}
        return events.withColumns({name: F.lit(value) for name, value in known.items()})
    before = Window.partitionBy(*INCARNATION).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    epoch_before = F.last("group_epoch", ignorenulls=True).over(before)
    is_jump = ~F.col("group_epoch").isin(epoch_before, epoch_before + 1)
    last_jump = F.max(F.when(F.col("jumps"), F.col("offset"))).over(Window.partitionBy(*GROUP))
    offset = F.col("offset")
    is_complete = holds((offset >= F.col("complete_from")) & (offset >= F.coalesce("last_jump", "complete_from")))
    return (
        events.withColumn("jumps", is_jump)
        .withColumn("last_jump", last_jump)
        .join(F.broadcast(history), "partition", "left")
        .transform(_with_losses, losses)
        .withColumn("is_headless", (holds(F.col("head_missing")) & (F.col("incarnation") == 0)) | _is_behind_loss())
        .withColumn("is_unscathed", offset > F.col("last_loss"))
        .withColumn("is_complete", is_complete & ~F.col("is_headless") & F.col("is_unscathed"))
        .withColumn("is_whole", F.min("is_complete").over(Window.partitionBy(*INCARNATION)))
        .drop(
            "jumps",
            "last_jump",
            "complete_from",
            "head_missing",
            "first_loss",
            "last_loss",
            "deleted_at",
            "last_offset",
        )
    )


def _with_losses(events: DataFrame, losses: DataFrame | None) -> DataFrame:
    """Add the offsets of the group's first and last loss, -1 for none, and of the deletion before this incarnation."""
    of_group = Window.partitionBy(*GROUP)
    before = of_group.orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    deletion = F.when((F.col("key_type") == GROUP_EPOCH) & F.col("is_tombstone"), F.col("offset"))
    lost = F.when(F.col("key_type") == LOST, F.col("offset"))
    none = F.lit(-1).cast("bigint")
    if losses is None:
        marked = events.withColumns({"first_loss": none, "last_loss": none})
    else:
        marked = events.join(F.broadcast(losses), "partition", "left")
    return marked.withColumns(
        {
            "deleted_at": F.coalesce(F.last(deletion, ignorenulls=True).over(before), none),
            "first_loss": F.coalesce(F.least("first_loss", F.min(lost).over(of_group)), none),
            "last_loss": F.coalesce(F.greatest("last_loss", F.max(lost).over(of_group)), none),
        }
    )


def _is_behind_loss() -> Column:
    """Of several losses the first and the last count: between them a state may be called unknown that is known."""
    return (F.col("last_loss") > F.col("deleted_at")) & (F.col("offset") >= F.col("first_loss"))


def history(*, begin_is_complete: Column, has_end: Column) -> Column:
    """Return what is known of an interval: observed, left_censored, right_censored, or censored (both)."""
    return (
        F.when(begin_is_complete & has_end, OBSERVED)
        .when(begin_is_complete, RIGHT_CENSORED)
        .when(has_end, LEFT_CENSORED)
        .otherwise(CENSORED)
    )
