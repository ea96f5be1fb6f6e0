"""Groups that had settled at some time: they are told on from there, and not from their first record on.

What the tables said of them by then stays, and what came since takes the place of what they said of that
(`timeline.snapshots`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.live.kept_log import latest
from kip848_records.replay import last_of_keys
from kip848_records.sources.log import key_of_types
from kip848_records.timeline.losses import damaged_records
from kip848_records.timeline.operations import EVENT_TYPES, GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from kip848_records.live.kept_log import KeptLog, Read

EPOCHS: Final = "consumer_group_metadata"
"""The record table of group epochs."""

_IS_LATER_EPOCH: Final = (
    "incarnation > told_from.incarnation "
    "OR (incarnation = told_from.incarnation AND group_epoch > coalesce(told_from.assignment_epoch, -1))"
)
IS_SINCE: Final[Mapping[str, str]] = {
    "rebalance_lag": _IS_LATER_EPOCH,
    "epoch_timeline": _IS_LATER_EPOCH,
    "partition_handover": "acquired_offset >= told_from.until",
    # The state in which a group had settled may have lasted for longer.
    "group_state_timeline": "from_offset >= told_from.from_offset",
    "group_state": "true",
    "group_event": "offset >= told_from.until",
}
"""Which rows of each timeline tell what came since a group had settled (``told_from``: `present.SETTLED`)."""


def groups_to_tell_on(
    kept: KeptLog,
    reads: list[Read],
    finished: int,
    written: DataFrame,
    epochs: DataFrame | None,
) -> DataFrame:
    """Return the groups of which the tables need only be told what came since they had settled for the last time.

    Not those whose epochs go back or jump in a way that says something of what came before.

    Args:
        kept: what was read, and the tables as the run `finished` left them.
        reads: what all runs read.
        finished: the number of a run.
        written: ``partition, group_id, first_offset`` of the groups with new records, which is the first of them.
        epochs: the new records of the table `EPOCHS`; None if there are none.

    Returns:
        ``partition, group_id``, and what `present.SETTLED` names.
    """
    is_alone = F.count("*").over(Window.partitionBy("group_id")) == 1
    settled = (
        kept.read("group_state")
        .withColumn("is_alone", is_alone)
        .where("settled IS NOT NULL AND is_alone")
        .join(_places(written), "group_id", "left")
        .where("places IS NULL OR (places = 1 AND place = partition)")
        # Else it may go on with the operation with which the group had settled.
        .where("places IS NULL OR offset >= settled.until OR first_offset > settled.until")
        .withColumnRenamed("settled", "told_from")
    )
    if epochs is not None:
        goes_on = kept.spark.createDataFrame([(p,) for p in _added_to(reads, finished)], "partition int")
        settled = settled.join(_out_of_order(epochs, settled, goes_on), [*GROUP], "left_anti")
    return settled.select(*GROUP, "told_from.*")


def undamaged(settled: DataFrame, quarantine: DataFrame) -> DataFrame:
    """Leave out the groups of partitions with records of groups in quarantine: these say something of the past."""
    damaged = damaged_records(quarantine).select("partition").distinct()
    return settled.join(F.broadcast(damaged), "partition", "left_anti")


def snapshots(kept: KeptLog, settled: DataFrame) -> DataFrame:
    """Return, as log rows, the last record of each key that was live when these groups had settled."""
    rows = kept.rows().where(key_of_types(EVENT_TYPES)).join(settled.select(*GROUP, "until"), [*GROUP])
    return last_of_keys(rows.where("offset < until").drop("until")).where("value IS NOT NULL")


def _places(written: DataFrame) -> DataFrame:
    """Return in how many partitions each group wrote something: in several by mistake, or as partitions were added."""
    return written.groupBy("group_id").agg(
        F.count("*").alias("places"), F.min("partition").alias("place"), F.min("first_offset").alias("first_offset")
    )


def _added_to(reads: list[Read], finished: int) -> set[int]:
    """Return the partitions whose last stretch goes on since the run `finished`."""
    before = latest([read for read in reads if read.run <= finished])
    return {
        read.partition
        for read in reads
        if read.run > finished and read.partition in before
        if read.stretch_from == before[read.partition].stretch_from
    }


def _out_of_order(epochs: DataFrame, settled: DataFrame, going_on: DataFrame) -> DataFrame:
    """Return the groups with a new epoch that does not follow on the one before.

    One that is lower does not, as where a group was deleted, and its deletion compacted away. A jump says that history
    has a hole (`censoring.histories`): that counts in the partitions whose last stretch goes on (``partition``).
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    of_life = Window.partitionBy(*GROUP, "life").orderBy("offset")
    last = F.when(F.col("life") == 0, F.col("last_epoch"))
    return (
        epochs.select(*GROUP, "offset", "epoch", "is_tombstone")
        .join(settled.select(*GROUP, F.col("group_epoch").alias("last_epoch")), [*GROUP])
        .join(F.broadcast(going_on.withColumn("goes_on", F.lit(True))), "partition", "left")  # noqa: FBT003
        .withColumn("life", F.count_if("is_tombstone").over(in_order))
        .where("NOT is_tombstone")
        .withColumn("before", F.coalesce(F.lag("epoch").over(of_life), last))
        .where("epoch < before OR (goes_on AND epoch > before + 1)")
        .select(*GROUP)
        .distinct()
    )
