"""Whether a run continues at the end of the previous run, or compaction removed records in between.

If the cleaner had reached the second of two records of one key, the first would be gone. The first of two records that
were read before is the compaction probe: while it exists, nothing after the second was removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.log.coverage import repeated_keys
from kip848_records.sources.predicates import IS_READABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.log.runs import PartitionRead
    from kip848_records.log.table import LogTable
    from kip848_records.sources.topic.ends import Ends
    from kip848_records.sources.topic.live_log import LiveLog

_SAME: Final = """
SELECT DISTINCT there.partition FROM {there} AS there
JOIN {known} AS known ON there.partition = known.partition AND there.offset = known.offset
    AND there.key = known.key AND there.timestamp = known.timestamp
"""
_TIMES: Final = f"""
SELECT there.partition, there.offset, unix_millis(there.timestamp) AS ms FROM {{there}} AS there WHERE {IS_READABLE}
"""  # noqa: S608 - a constant
_LAST: Final = """
SELECT last.partition, last.offset, unix_millis(last.timestamp) AS ms
FROM (
    SELECT log.*, row_number() OVER (PARTITION BY log.partition ORDER BY log.offset DESC) AS nth
    FROM {log} AS log WHERE NOT log.is_inferred AND log.control IS NULL AND log.offset IS NOT NULL
) AS last
WHERE last.nth = 1
"""
# A live topic is one copy. Offset commits, the only records in transactions, do not count.
_RECORDS: Final = f"""
SELECT rows.partition, rows.offset, rows.key, rows.key_type, 'none' AS transaction, '' AS copy,
    CAST(NULL AS bigint) AS behind
FROM {{rows}} AS rows WHERE {IS_READABLE}
UNION ALL
SELECT log.partition, log.offset, log.key, log.key_type, 'none', '', CAST(NULL AS bigint)
FROM {{log}} AS log JOIN {{ranges}} AS ranges ON log.partition = ranges.place
WHERE log.offset >= ranges.range_from AND {IS_READABLE}
"""  # noqa: S608 - a constant
_RANGES: Final = pa.schema([("place", pa.int32()), ("range_from", pa.int64())])


def probed_partitions(
    log: LogTable, live: LiveLog, before: Mapping[int, PartitionRead], partitions: Iterable[int], ends: Ends
) -> set[int]:
    """Return the partitions whose compaction probe is still in the topic."""
    probes = _ranges({p: before[p].compaction_probe for p in partitions if p in before}, ends)
    if not probes:
        return set()
    with live.reading():
        same = log.engine.sql(_SAME, there=live.read(probes), known=log.records())
        return {row.partition for row in log.engine.collect(same)}


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
        there = log.engine.collect(log.engine.sql(_TIMES, there=live.read(asked)))
    return {
        row.partition: f"the record at {row.offset} is not the one that was read"
        for row in there
        if row.offset == known[row.partition][0] and row.ms != known[row.partition][1]
    }


def _last_records(log: LogTable, partitions: set[int]) -> dict[int, tuple[int, int | None]]:
    """Return offset and time of each partition's last record in the log."""
    if not partitions:
        return {}
    last = log.engine.collect(log.engine.sql(_LAST, log=log.records()))
    return {row.partition: (row.offset, row.ms) for row in last if row.partition in partitions}


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


def with_repeated_keys(
    log: LogTable, rows: Relation | None, reads: list[PartitionRead], first_repeated: Mapping[int, int]
) -> list[PartitionRead]:
    """Find the first repeated key of each complete range, if unknown, and its last one: the next probe.

    `first_repeated`: by partition, the offset of a repeated key that the reader of the rows found among all records.
    """
    if rows is None:
        return reads
    engine = log.engine
    lacking = [read for read in reads if read.first_repeated_key is None and read.range_from < read.from_offset]
    pairs = _pairs(engine, engine.sql(_RECORDS, rows=rows, log=log.records(), ranges=_of_ranges(engine, lacking)))
    return [_with_pair(read, pairs.get(read.partition), first_repeated.get(read.partition)) for read in reads]


def _of_ranges(engine: Engine, reads: Sequence[PartitionRead]) -> Relation:
    ranges = [{"place": read.partition, "range_from": read.range_from} for read in reads]
    return engine.relation(pa.Table.from_pylist(ranges, _RANGES))


def _pairs(engine: Engine, records: Relation) -> dict[int, tuple[int, int]]:
    """Return by partition the first record that repeats a key, and the first one of the last such pair."""
    found = engine.collect(engine.sql(repeated_keys("{records}"), records=records))
    return {row.partition: (row.first_repeated, row.compaction_probe) for row in found}


def _with_pair(read: PartitionRead, pair: tuple[int, int] | None, other: int | None) -> PartitionRead:
    first, probe = pair or (other, read.compaction_probe)
    if read.first_repeated_key is None and first is not None:
        read = replace(read, first_repeated_key=first if other is None else min(first, other))
    return replace(read, compaction_probe=probe)


def _ranges(offsets: Mapping[int, int | None], ends: Ends) -> dict[int, tuple[int, int]]:
    """Return the offset range of one record in each partition; none where the engine cannot read it.

    The topic lacks records before the log's start. Spark does not read behind an open transaction.
    """
    return {p: (at, at + 1) for p, at in offsets.items() if at is not None and at in range(*ends.offsets[p])}
