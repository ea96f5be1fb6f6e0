"""Of which groups the timelines may say something else after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.live.kept_log import history_by, latest
from kip848_records.sources.log import group_id
from kip848_records.timeline import partition_losses

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.derive import Known
    from kip848_records.live.kept_log import KeptLog, Read


def touched_groups(
    kept: KeptLog, reads: list[Read], finished: int, known: Known, renamed_topics: DataFrame | None
) -> DataFrame:
    """Return the groups of which the timelines may say something else than after the run `finished`.

    Those with new records, those with something open, which is older now, those of partitions of whose history
    something else is known, and those with topics that have another name now.

    Args:
        kept: what was read, and the tables as the run `finished` left them.
        reads: what all runs read.
        finished: the number of a run.
        known: what is known now.
        renamed_topics: ``topic_id`` of the topics whose names the tables do not have; None if there are none.

    Returns:
        ``group_id``, each once.
    """
    log = kept.rows()
    partitions = _changed_partitions(kept, reads, finished, known)
    touched = [kept.read(name).where("status = 'open'") for name in ("epoch_timeline", "rebalance_lag")]
    if renamed_topics is not None:
        handovers = kept.read("partition_handover")
        touched.append(handovers.join(F.broadcast(renamed_topics), "topic_id", "left_semi"))
    groups = log.where((F.col("run") > finished) | F.col("partition").isin(partitions)).select("group_id")
    for rows in touched:
        groups = groups.union(rows.select("group_id"))
    return groups.where("group_id IS NOT NULL").distinct()


def of_groups(quarantine: DataFrame, groups: DataFrame) -> DataFrame:
    """Return the rows in quarantine of these groups (``group_id``), and those of which nobody can tell the group."""
    marked = groups.withColumn("touched", F.lit(True))  # noqa: FBT003
    rows = quarantine.withColumn("group_id", group_id()).join(marked, "group_id", "left")
    return rows.where("group_id IS NULL OR touched").drop("group_id", "touched")


def _changed_partitions(kept: KeptLog, reads: list[Read], finished: int, known: Known) -> list[int]:
    """Return the partitions of whose history, or of whose losses, something else is known now."""
    before = latest([read for read in reads if read.run <= finished])
    changed = {
        partition
        for partition, read in latest(reads).items()
        if (old := before.get(partition)) is None
        or (read.complete_from, read.head_missing) != (old.complete_from, old.head_missing)
    }
    if (quarantine := known.quarantine) is not None:
        ends = [(partition, read.until_offset) for partition, read in before.items()]
        seen_up_to = F.broadcast(kept.spark.createDataFrame(ends, "partition int, until bigint"))
        seen = quarantine.join(seen_up_to, "partition").where("offset < until").drop("until")
        old_losses = partition_losses(seen, history_by(kept.spark, list(before.values())))
        losses = partition_losses(quarantine, known.history)
        changed |= {row.partition for row in losses.exceptAll(old_losses).collect()}
    return sorted(changed)
