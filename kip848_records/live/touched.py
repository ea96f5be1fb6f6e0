"""Of which groups the timelines may say something else after a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from kip848_records.live.kept_log import histories_by
from kip848_records.sources.log import group_id
from kip848_records.timeline import partition_losses
from kip848_records.timeline.present import SETTLED

if TYPE_CHECKING:
    from kip848_records.derive import Known
    from kip848_records.landing import Scratch
    from kip848_records.live.kept_log import KeptLog, Read
    from kip848_records.timeline import PartitionHistory


@dataclass(frozen=True)
class Touched:
    """Groups of which the timelines may say something else than before.

    `anew`: ``group_id`` of those that are told from their first record on. `settled`: those that are told on
    (`settled.groups_to_tell_on`); None if there are none.
    """

    anew: DataFrame
    settled: DataFrame | None

    @classmethod
    def of(cls, groups: DataFrame, anew: DataFrame | None, settled: DataFrame | None, folder: Scratch) -> Touched:
        """Return these groups, and those to be told anew, of all of which some had settled.

        Each has ``group_id``. What is returned is kept in `folder`.
        """
        if anew is not None:
            anew = folder.keep(anew, "anew")
            groups = groups.union(anew)
        if settled is not None:
            settled = settled if anew is None else settled.join(anew, "group_id", "left_anti")
            settled = folder.keep_any(settled.join(groups, "group_id", "left_semi"), "settled")
        rest = groups if settled is None else groups.join(settled, "group_id", "left_anti")
        return cls(folder.keep(rest.distinct(), "touched"), settled)

    def told_from(self) -> DataFrame:
        """Return ``group_id`` of each, and ``told_from``, where it had settled: null for anew.

        That is its partition, and what `present.SETTLED` names. In another partition it may have been, and deleted.
        """
        kind = StructType([StructField("partition", IntegerType()), *SETTLED.fields])
        anew = self.anew.select("group_id", F.lit(None).cast(kind).alias("told_from"))
        if self.settled is None:
            return anew
        return anew.union(self.settled.select("group_id", F.struct(*kind.names).alias("told_from")))


def open_groups(kept: KeptLog) -> DataFrame:
    """Return ``group_id`` of what is open, and older now, whatever was written: a group as often as it has some."""
    epochs, lags = (kept.read(name).where("status = 'open'") for name in ("epoch_timeline", "rebalance_lag"))
    return epochs.select("group_id").union(lags.select("group_id"))


def groups_told_anew(
    kept: KeptLog, reads: list[Read], finished: int, known: Known, renamed_topics: DataFrame | None
) -> DataFrame | None:
    """Return the groups of which the timelines may say something else than before of what was there before.

    Those of whose history something else is known, and those with topics that have another name now.

    Args:
        kept: what was read, and the tables as the run `finished` left them.
        reads: what all runs read.
        finished: the number of a run.
        known: what is known now.
        renamed_topics: ``topic_id`` of the topics whose names the tables do not have; None if there are none.

    Returns:
        ``group_id``, each once; None if there surely are none.
    """
    groups = []
    if renamed_topics is not None:
        handovers = kept.read("partition_handover")
        groups.append(handovers.join(F.broadcast(renamed_topics), "topic_id", "left_semi"))
    if changed := _changed_partitions(reads, finished, known):
        is_changed = ((F.col("partition") == partition) & (F.col("offset") >= at) for partition, at in changed.items())
        groups.append(kept.rows().where("group_id IS NOT NULL").where(reduce(or_, is_changed)))
    return reduce(DataFrame.union, [rows.select("group_id") for rows in groups]).distinct() if groups else None


def of_groups(quarantine: DataFrame, groups: DataFrame) -> DataFrame:
    """Return the rows in quarantine of these groups (``group_id``), and those of which nobody can tell the group."""
    marked = groups.withColumn("touched", F.lit(True))  # noqa: FBT003
    rows = quarantine.withColumn("group_id", group_id()).join(marked, "group_id", "left")
    return rows.where("group_id IS NULL OR touched").drop("group_id", "touched")


def _changed_partitions(reads: list[Read], finished: int, known: Known) -> dict[int, int]:
    """Return the partitions of whose history, or losses, something else is known than before, and from where on."""
    before = histories_by([read for read in reads if read.run <= finished])
    changed = {}
    for partition, old in before.items():
        if (first := _first_change(old, known.history[partition])) is not None:
            changed[partition] = first
    if (quarantine := known.quarantine) is not None:
        ends = [(partition, old.last_offset) for partition, old in before.items()]
        seen_up_to = F.broadcast(quarantine.sparkSession.createDataFrame(ends, "partition int, last bigint"))
        seen = quarantine.join(seen_up_to, "partition").where("offset <= last").drop("last")
        losses = partition_losses(quarantine, known.history)
        changed |= {row.partition: 0 for row in losses.exceptAll(partition_losses(seen, before)).collect()}
    return changed


def _first_change(old: PartitionHistory, now: PartitionHistory) -> int | None:
    """Return the first offset before the old end that is in a stretch of one of the two alone; None if there is none.

    What a stretch has grown by since is new.
    """
    until = (-1 if old.last_offset is None else old.last_offset) + 1
    told = ({(first, min(end, until)) for first, end in each.stretches if first < until} for each in (old, now))
    return min((first for first, _ in set.symmetric_difference(*told)), default=None)
