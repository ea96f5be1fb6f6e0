"""How much the log shows of a group's beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records.timeline.operations import GROUP, GROUP_METADATA, holds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.quality.expectations import Audited

_HIGHEST_FIRST_EPOCH: Final = 2
"""The first epoch of a new group; 1 before Kafka 4.3."""


def beginnings(audited: Audited) -> DataFrame:
    """Tell of each group whether it was seen from its first record on.

    Returns:
        ``partition, group_id, is_whole, has_head``. ``is_whole``: no record of the group is missing, for its first
        epoch is one that groups begin with, or was taken over from a classic group. ``has_head``: of the partition no
        record is missing that compaction would have kept, or else the group is whole.
    """
    epoch_at = F.when(F.col("group_epoch").isNotNull(), F.col("offset"))
    classic_at = F.when(F.col("key_type") == GROUP_METADATA, F.col("offset"))
    heads = audited.table("partition_history").where("is_base").select("partition", "head_missing")
    groups = (
        audited.table("group_event")
        .groupBy(*GROUP)
        .agg(
            F.bool_and("is_complete").alias("is_complete"),
            F.min_by("group_epoch", epoch_at).alias("first_epoch"),
            holds(F.min(classic_at) < F.min(epoch_at)).alias("was_classic"),
        )
    )
    begins = F.coalesce(F.col("first_epoch") <= _HIGHEST_FIRST_EPOCH, F.lit(True)) | F.col("was_classic")  # noqa: FBT003
    return (
        groups.join(F.broadcast(heads), "partition", "left")
        .withColumn("is_whole", F.col("is_complete") & begins)
        .select(*GROUP, "is_whole", (holds(~F.col("head_missing")) | F.col("is_whole")).alias("has_head"))
    )
