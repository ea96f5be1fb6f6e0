"""Groups that had settled when the run before ended: they are told on from there, and not from their first record on.

What the tables said of them then stays, and what is new goes beside it (`timeline.snapshots`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.live.kept_log import latest
from kip848_records.timeline.losses import damaged_records
from kip848_records.timeline.operations import GROUP
from kip848_records.timeline.snapshots import SNAPSHOT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.live.kept_log import KeptLog, Read

EPOCHS: Final = "consumer_group_metadata"
"""The record table of group epochs."""


def groups_to_tell_on(
    kept: KeptLog, reads: list[Read], finished: int, written: DataFrame, epochs: DataFrame | None
) -> DataFrame:
    """Return the groups, of those that have new records, of which the tables need only be told what comes next.

    Not those whose epochs go back or jump in a way that says something of what came before.

    Args:
        kept: what was read, and the tables as the run `finished` left them.
        reads: what all runs read.
        finished: the number of a run.
        written: ``partition, group_id, first_offset`` of the groups with new records, which is the first of them.
        epochs: the new records of the table `EPOCHS`; None if there are none.

    Returns:
        ``partition, group_id``, and what `snapshots.SNAPSHOT` names, see `timeline.group_events`.
    """
    before = latest([read for read in reads if read.run <= finished])
    added_to = {
        read.partition
        for read in reads
        if read.run > finished and read.partition in before
        if read.stretch_from == before[read.partition].stretch_from
    }
    rows = [(partition, read.until_offset, partition in added_to) for partition, read in before.items()]
    partitions = kept.spark.createDataFrame(rows, "partition int, until bigint, goes_on boolean")
    begins = (
        kept.read("group_state_timeline")
        .where("to_at IS NULL")
        .select(*GROUP, "from_offset", "from_at", F.col("history").alias("of_state"))
    )
    is_alone = F.count("*").over(Window.partitionBy("group_id")) == 1
    settled = (
        kept.read("group_state")
        .withColumn("is_alone", is_alone)
        .where("is_settled AND is_alone")
        .join(_in_one_partition(written), [*GROUP])
        # Else it may go on with the last operation.
        .where(F.col("first_offset") > F.col("offset") + 1)
        .join(begins, [*GROUP])
        # A state that may have begun before is not seen from its begin, though all records are (`seen_begin`).
        .where("of_state = 'right_censored' OR seen_from IS NULL OR from_offset < seen_from")
        .join(F.broadcast(partitions), "partition")
    )
    if epochs is not None:
        settled = settled.join(_out_of_order(epochs, settled), [*GROUP], "left_anti")
    return settled.select(*GROUP, *SNAPSHOT)


def undamaged(settled: DataFrame, quarantine: DataFrame) -> DataFrame:
    """Leave out the groups of partitions with records of groups in quarantine: these say something of the past."""
    damaged = damaged_records(quarantine).select("partition").distinct()
    return settled.join(F.broadcast(damaged), "partition", "left_anti")


def snapshots(kept: KeptLog, settled: DataFrame) -> DataFrame:
    """Return, as log rows, the last record of each live key of settled groups, as the run before left them."""
    live = kept.read("latest_state").join(settled, [*GROUP], "left_semi").select("partition", "offset")
    return kept.rows().join(live, ["partition", "offset"], "left_semi")


def _in_one_partition(written: DataFrame) -> DataFrame:
    """Leave out groups that are in several partitions, by mistake or as partitions were added."""
    places = written.groupBy("group_id").agg(
        F.count("*").alias("partitions"), *(F.min(name).alias(name) for name in ("partition", "first_offset"))
    )
    return places.where("partitions = 1").drop("partitions")


def _out_of_order(epochs: DataFrame, settled: DataFrame) -> DataFrame:
    """Return the groups with a new epoch that does not follow on the one before.

    One that is lower does not, as where a group was deleted, and its deletion compacted away. A jump says that history
    has a hole (`censoring.histories`): that counts where the partition's last stretch goes on.
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    of_life = Window.partitionBy(*GROUP, "life").orderBy("offset")
    last = F.when(F.col("life") == 0, F.col("last_epoch"))
    return (
        epochs.select(*GROUP, "offset", "epoch", "is_tombstone")
        .join(settled.select(*GROUP, F.col("group_epoch").alias("last_epoch"), "goes_on"), [*GROUP])
        .withColumn("life", F.count_if("is_tombstone").over(in_order))
        .where("NOT is_tombstone")
        .withColumn("before", F.coalesce(F.lag("epoch").over(of_life), last))
        .where("epoch < before OR (goes_on AND epoch > before + 1)")
        .select(*GROUP)
        .distinct()
    )
