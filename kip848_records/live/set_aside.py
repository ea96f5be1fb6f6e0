"""Partitions that are no longer those read before: cut short, or of a topic that was deleted and created again.

Their offsets are given anew, so what was read of them before cannot stay beside what is read now. It is kept, under the
name of a cluster of its own, and is not read on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.live.kept_log import KeptLog, latest
from kip848_records.live.stretches import rewritten_partitions
from kip848_records.protocol.schema import NO_UUID
from kip848_records.tables.delta import ClusterTables, read_table, write_tables
from kip848_records.tables.places import delta_table
from kip848_records.tables.specs import AUDIT_RUNS, LOG, TABLES, TOPIC_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kip848_records.live.kept_log import Read
    from kip848_records.live.topic import LiveLog
    from kip848_records.sources.topic import Ends


def replaced_partitions(kept: KeptLog, live: LiveLog, before: Mapping[int, Read], ends: Ends) -> dict[int, str]:
    """Return the partitions that are not those read before, and what tells: the topic's id, their ends, or a record."""
    found = {}
    for partition, read in before.items():
        start, end = ends.offsets.get(partition, (0, -1))
        # Brokers before 2.8 give no ids: after an upgrade the topic has its first.
        if NO_UUID not in {read.topic_id, ends.topic_id} and read.topic_id != ends.topic_id:
            found[partition] = "the topic was deleted and created again"
        elif end < read.until_offset:
            found[partition] = f"it ends at {end}, and was read up to {read.until_offset}"
        elif start > read.until_offset:
            found[partition] = f"it starts at {start}, and was read up to {read.until_offset}"
    return found | rewritten_partitions(kept, live, before, before.keys() - found.keys(), ends)


def set_aside(kept: KeptLog, partitions: Mapping[int, str], progress: Callable[[str], None]) -> None:
    """Give all rows of these partitions another cluster's name; `partitions` says of each what it is no longer.

    A run that is interrupted here is finished by the next: the kept log, by which partitions are known, changes last.
    """
    reads = latest(kept.reads())
    name = f"{kept.cluster} until run {max(reads[partition].run for partition in partitions)}"
    for partition, why in sorted(partitions.items()):
        progress(f"partition {partition} is not the one read before: {why}; its history is kept as cluster {name!r}")
    for table in (TOPIC_NAME.name, AUDIT_RUNS.name):
        _copy(kept, table, name)
    for table, spec in TABLES.items():
        column = "offsets_partition" if table == "partition_handover" else "partition"
        if table != LOG.name and any(each.name == column for each in spec.columns):
            _rename(kept, table, column, list(partitions), name)
    _rename(kept, LOG.name, "partition", list(partitions), name)


def _rename(kept: KeptLog, table: str, column: str, partitions: list[int], name: str) -> None:
    delta = delta_table(kept.spark, kept.out, table)
    of_partitions = F.col(column).isin(partitions)
    if kept.read(table).where(of_partitions).isEmpty():
        return
    # If it was interrupted, and the tables were made anew since, they are there already.
    delta.delete((F.col("cluster") == name) & of_partitions)
    delta.update((F.col("cluster") == kept.cluster) & of_partitions, {"cluster": F.lit(name)})


def _copy(kept: KeptLog, table: str, name: str) -> None:
    """Copy what is not of one partition; the runs as set aside, for nobody is to be alarmed by what was then."""
    rows = kept.read(table)
    if not read_table(kept.spark, kept.out, table, name).isEmpty():
        return
    if table == AUDIT_RUNS.name:
        rows = rows.withColumn("is_set_aside", F.lit(True))  # noqa: FBT003
    write_tables(ClusterTables(kept.spark, kept.out, name), {table: rows}, done=lambda _: None)
