"""Whether a run continues at the end of the previous run, or compaction removed records in between.

If the cleaner had reached the second of two records of one key, the first would be gone. The first of two records that
were read before is the compaction probe: while it exists, nothing after the second was removed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records.log.coverage import repeated_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from kip848_records.log.runs import PartitionRead
    from kip848_records.log.table import LogTable
    from kip848_records.sources.topic.ends import Ends
    from kip848_records.sources.topic.live_log import LiveLog

_POSITION: Final = ("partition", "offset")


def probed_partitions(
    log: LogTable, live: LiveLog, before: Mapping[int, PartitionRead], partitions: Iterable[int], ends: Ends
) -> set[int]:
    """Return the partitions whose compaction probe is still in the topic."""
    probes = _ranges({p: before[p].compaction_probe for p in partitions if p in before}, ends)
    if not probes:
        return set()
    with live.reading():
        there = live.read(probes)
        known = log.records().select(*_POSITION, "key", "timestamp")
        same = there.join(known, [*_POSITION, "key", "timestamp"], "left_semi")
        return {row.partition for row in same.select("partition").collect()}


def rewritten_partitions(
    log: LogTable, live: LiveLog, before: Mapping[int, PartitionRead], partitions: set[int], ends: Ends
) -> dict[int, str]:
    """Return those of the partitions with another record at the last offset read, with the reason as text.

    Brokers that lose the end of a partition write new records at the same offsets. If no record is left there, it was
    compacted. If a run ended after a transaction marker, the last record of the log is compared.
    """
    known = {p: (before[p].until_offset - 1, before[p].last_ms) for p in partitions if before[p].last_ms is not None}
    known |= _last_records(log, partitions - known.keys())
    asked = _ranges({partition: offset for partition, (offset, _) in known.items()}, ends)
    if not asked:
        return {}
    with live.reading():
        there = live.read(asked).select("partition", "offset", F.unix_millis("timestamp").alias("ms")).collect()
    return {
        row.partition: f"the record at {row.offset} is not the one that was read"
        for row in there
        if row.offset == known[row.partition][0] and row.ms != known[row.partition][1]
    }


def _last_records(log: LogTable, partitions: set[int]) -> dict[int, tuple[int, int | None]]:
    """Return offset and time of each partition's last record in the log."""
    if not partitions:
        return {}
    rows = log.records().where("NOT is_inferred").withColumn("ms", F.unix_millis("timestamp"))
    last = rows.groupBy("partition").agg(F.max(F.struct("offset", "ms")).alias("last")).collect()
    return {row.partition: (row.last.offset, row.last.ms) for row in last if row.partition in partitions}


def continued(read: PartitionRead, old: PartitionRead | None, *, is_probed: bool) -> PartitionRead:
    """Let a read continue at the end of the previous one if nothing was removed since; else it begins a new range."""
    if old is None:
        return read
    read = replace(read, first_offset=old.first_offset, kept_from=old.kept_from)
    reads_none = read.from_offset == read.until_offset
    if read.is_gapless or is_probed:
        return replace(
            read,
            range_from=old.range_from,
            is_gapless=read.is_gapless and old.is_gapless,
            last_ms=old.last_ms if reads_none else read.last_ms,
            first_repeated_key=old.first_repeated_key,
            compaction_probe=old.compaction_probe if is_probed or reads_none else None,
        )
    note = f"compacted since it was read up to {read.from_offset}: the changes in between are not fully known"
    return replace(read, note=note if read.note is None else f"{note}; {read.note}")


def with_repeated_keys(log: LogTable, rows: DataFrame | None, reads: list[PartitionRead]) -> list[PartitionRead]:
    """Find the first repeated key of each complete range, if unknown, and its last one: the next probe."""
    if rows is None:
        return reads
    lacking = [read for read in reads if read.first_repeated_key is None and read.range_from < read.from_offset]
    columns = (*_POSITION, "key", "key_type")
    records = rows.select(*columns)
    if lacking:
        ranges = ((F.col("partition") == read.partition) & (F.col("offset") >= read.range_from) for read in lacking)
        records = records.unionByName(log.records().where(reduce(or_, ranges)).select(*columns))
    # A live topic shows no transactions, and is one copy. A stream has a session of its own for its batches.
    records = records.selectExpr("*", "'none' AS transaction", "'' AS copy", "CAST(NULL AS bigint) AS behind")
    pairs = records.sparkSession.sql(repeated_keys("{records}"), records=records)
    found = {row.partition: row for row in pairs.collect()}
    return [
        replace(
            read,
            first_repeated_key=pair.first_repeated if read.first_repeated_key is None else read.first_repeated_key,
            compaction_probe=pair.compaction_probe,
        )
        if (pair := found.get(read.partition)) is not None
        else read
        for read in reads
    ]


def _ranges(offsets: Mapping[int, int | None], ends: Ends) -> dict[int, tuple[int, int]]:
    """Return the offset range of one record in each partition; none before the log's start, which the topic lacks."""
    starts = {partition: start for partition, (start, _) in ends.offsets.items()}
    return {p: (at, at + 1) for p, at in offsets.items() if at is not None and at >= starts[p]}
