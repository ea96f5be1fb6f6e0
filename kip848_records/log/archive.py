"""Archives partitions that were truncated, or whose topic was deleted and created again.

Their offsets start again, so the rows of earlier runs cannot stay beside those of the present one. The old rows get a
cluster name of their own, to which no run adds rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.log.continuity import rewritten_partitions
from kip848_records.log.runs import last_reads
from kip848_records.log.table import LogTable
from kip848_records.protocol.schema import NO_UUID
from kip848_records.tables.log import LOG
from kip848_records.tables.places import delta_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.log.table import Knowledge
    from kip848_records.sources.topic.ends import Ends
    from kip848_records.sources.topic.live_log import LiveLog


def replaced_partitions(log: LogTable, knowledge: Knowledge, live: LiveLog, ends: Ends) -> dict[int, str]:
    """Return the partitions that differ from those read before, with the reason as text.

    The topic's id, the partition's ends, or another record at the same offset show it.
    """
    if not knowledge.runs:
        return {}
    topic_id, before = knowledge.runs[-1].topic_id, last_reads(knowledge.reads)
    found = {}
    for partition, read in before.items():
        start, end = ends.offsets.get(partition, (0, -1))
        # Brokers before 2.8 have no topic ids: after an upgrade the topic gets its first one.
        if NO_UUID not in {topic_id, ends.topic_id} and topic_id != ends.topic_id:
            found[partition] = "the topic was deleted and created again"
        elif end < read.until_offset:
            found[partition] = f"it ends at {end}, but was read up to {read.until_offset}"
        elif start > read.until_offset:
            found[partition] = f"it starts at {start}, but was read up to {read.until_offset}"
    return found | rewritten_partitions(log, live, before, before.keys() - found.keys(), ends)


def archive_partitions(log: LogTable, knowledge: Knowledge, partitions: Iterable[int]) -> LogTable:
    """Give the log's rows of these partitions another cluster's name, in one commit; return that cluster's log.

    The runs are copied first. If the process is interrupted in between, doing both again repairs it.
    """
    reads = last_reads(knowledge.reads)
    last = max(reads[partition].run for partition in partitions)
    archive = LogTable(log.engine, f"{log.cluster} until run {last}")
    if not archive.knowledge().runs:
        archive.append_infos([replace(run, is_archived=True) for run in knowledge.runs if run.run <= last])
    is_theirs = (F.col("cluster") == log.cluster) & F.col("partition").isin(list(partitions))
    delta_table(log.spark, log.out, LOG.name).update(is_theirs, {"cluster": F.lit(archive.cluster)})
    return archive
