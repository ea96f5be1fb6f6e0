"""Whether a run goes on where the one before ended, or compaction has removed records in between.

Had the cleaner reached the second of two records of one key, the first would be gone. So as long as the first of two
that were read before is there, the witness, nothing behind the second was removed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.sources.log import is_offset_commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from kip848_records.live.kept_log import KeptLog, Read
    from kip848_records.live.topic import LiveLog
    from kip848_records.sources.topic import Ends

_PLACE = ("partition", "offset")


def alive_partitions(
    kept: KeptLog, live: LiveLog, before: Mapping[int, Read], partitions: Iterable[int], ends: Ends
) -> set[int]:
    """Return the partitions whose witness is still there."""
    witnesses = _ranges_of({p: before[p].witness for p in partitions if p in before}, ends)
    if not witnesses:
        return set()
    with live.reading():
        there = live.read(witnesses)
        same = there.join(kept.rows().select(*_PLACE, "key", "timestamp"), [*_PLACE, "key", "timestamp"], "left_semi")
        return {row.partition for row in same.select("partition").collect()}


def rewritten_partitions(
    kept: KeptLog, live: LiveLog, before: Mapping[int, Read], partitions: set[int], ends: Ends
) -> dict[int, str]:
    """Return those of the partitions with another record where the last one stood that was read, and what tells.

    As where brokers lost the end of a partition, and wrote on. Where no record is any more, it was compacted away. Of
    a run that ended behind no record, as at a marker of a transaction, the last one that was kept counts.
    """
    known = {p: (before[p].until_offset - 1, before[p].last_ms) for p in partitions if before[p].last_ms is not None}
    known |= _last_kept(kept, partitions - known.keys())
    asked = _ranges_of({partition: offset for partition, (offset, _) in known.items()}, ends)
    if not asked:
        return {}
    with live.reading():
        there = live.read(asked).select("partition", "offset", F.unix_millis("timestamp").alias("ms")).collect()
    return {
        row.partition: f"another record stands at {row.offset} than the one that was read"
        for row in there
        if row.offset == known[row.partition][0] and row.ms != known[row.partition][1]
    }


def _last_kept(kept: KeptLog, partitions: set[int]) -> dict[int, tuple[int, int | None]]:
    """Return offset and time of each partition's last record in the kept log."""
    if not partitions:
        return {}
    rows = kept.rows().where("NOT is_inferred").withColumn("ms", F.unix_millis("timestamp"))
    last = rows.groupBy("partition").agg(F.max(F.struct("offset", "ms")).alias("last")).collect()
    return {row.partition: (row.last.offset, row.last.ms) for row in last if row.partition in partitions}


def joined(read: Read, old: Read | None, *, is_alive: bool) -> Read:
    """Let a read go on where the one before ended, if nothing was removed since; else it begins a new stretch."""
    if old is None:
        return read
    if read.is_gapless or is_alive:
        return replace(
            read,
            first_offset=old.first_offset,
            stretch_from=old.stretch_from,
            is_gapless=read.is_gapless and old.is_gapless,
            last_ms=old.last_ms if read.from_offset == read.until_offset else read.last_ms,
            first_pair=old.first_pair,
            witness=old.witness if is_alive or read.from_offset == read.until_offset else None,
            kept_from=old.kept_from,
            kept_since_ms=old.kept_since_ms,
        )
    said = f"compacted since it was read up to {read.from_offset}: what happened in between is not known in full"
    return replace(
        read,
        first_offset=old.first_offset,
        note=said if read.note is None else f"{said}; {read.note}",
        kept_from=old.kept_from,
        kept_since_ms=old.kept_since_ms,
    )


def with_pairs(kept: KeptLog, rows: DataFrame | None, reads: list[Read]) -> list[Read]:
    """Find each stretch's first pair, where none was known, and its last one."""
    if rows is None:
        return reads
    lacking = [read for read in reads if read.first_pair is None and read.stretch_from < read.from_offset]
    records = rows.select(*_PLACE, "key", "transaction")
    if lacking:
        of_each = ((F.col("partition") == read.partition) & (F.col("offset") >= read.stretch_from) for read in lacking)
        of_stretch = reduce(or_, of_each)
        records = records.unionByName(kept.rows().where(of_stretch).select(*_PLACE, "key", "transaction"))
    of_key = Window.partitionBy("partition", "key").orderBy("offset")
    pairs = (
        records.where(F.col("key").isNotNull() & ~is_offset_commit())
        .withColumn("earlier", F.lag("offset").over(of_key))
        .where("earlier IS NOT NULL")
        .groupBy("partition")
        .agg(F.min("offset").alias("first_pair"), F.max_by("earlier", "offset").alias("witness"))
    )
    found = {row.partition: row for row in pairs.collect()}
    return [
        replace(
            read,
            first_pair=found[read.partition].first_pair if read.first_pair is None else read.first_pair,
            witness=found[read.partition].witness,
        )
        if read.partition in found
        else read
        for read in reads
    ]


def _ranges_of(offsets: Mapping[int, int | None], ends: Ends) -> dict[int, tuple[int, int]]:
    """Return what to read for one record of each partition; nobody can ask for what lies before the log's start."""
    starts = {partition: start for partition, (start, _) in ends.offsets.items()}
    return {p: (at, at + 1) for p, at in offsets.items() if at is not None and at >= starts[p]}
