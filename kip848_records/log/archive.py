"""Archives partitions that were truncated, or whose topic was deleted and created again.

Their offsets start again, so the rows of earlier runs cannot stay beside those of the present one. The old rows get a
cluster name of their own, to which no run adds rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from kip848_records.log.continuity import rewritten_partitions
from kip848_records.log.runs import last_reads
from kip848_records.log.table import LogTable
from kip848_records.protocol.schema import NO_UUID
from kip848_records.tables.log import LOG

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
        # Another engine may have read behind an open transaction.
        start, end = ends.offsets.get(partition, (0, -1))[0], ends.high_watermarks.get(partition, -1)
        # Brokers before 2.8 have no topic ids: after an upgrade the topic gets its first one.
        if NO_UUID not in {topic_id, ends.topic_id} and topic_id != ends.topic_id:
            found[partition] = "the topic was deleted and created again"
        elif end < read.until_offset:
            found[partition] = f"it ends at {end}, but was read up to {read.until_offset}"
        elif start > read.until_offset:
            found[partition] = f"it starts at {start}, but was read up to {read.until_offset}"
    return found | rewritten_partitions(log, live, before, before.keys() - found.keys(), ends)


def archive_partitions(log: LogTable, knowledge: Knowledge, partitions: Iterable[int]) -> LogTable:
    """Give the log's rows of these partitions another cluster's name; return that cluster's log.

    The runs are copied first, then the rows, which are removed last. If the process is interrupted in between, doing
    all of it again repairs it: Delta takes neither a second time.
    """
    reads = last_reads(knowledge.reads)
    listed = sorted(partitions)
    last = max(reads[partition].run for partition in listed)
    archive = LogTable(log.engine, f"{log.cluster} until run {last}")
    if not archive.knowledge().runs:
        archive.append_infos([replace(run, is_archived=True) for run in knowledge.runs if run.run <= last])
    archive.append(log.of_partitions(listed), last + 1)
    theirs = log.engine.relation(pa.table({"partition": pa.array(listed, pa.int32())}))
    log.engine.delete(LOG, log.cluster, theirs, ("partition",))
    return archive
