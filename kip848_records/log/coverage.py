"""How much of each partition's history the log holds.

Compaction keeps the last value of every key, so a copy always gives the present state, unless its start is missing. The
history is complete only from some offset on: `log.extents` has the rule for one copy, `log.bases` for several.

Rows of Spark's Kafka source, live or saved, do not show transaction markers. The offset of a marker looks like a gap
that compaction made. Three facts can still be proven from such rows:

- A range is complete if every offset of it was read.
- A range is complete from its first repeated key on (`repeated_keys`), whatever gaps it has: the missing offsets behind
  it are markers. So a partition with transactions is complete from there on.
- As long as the topic still has the earlier of the last two records of one key (`compaction_probe`), the cleaner has
  removed nothing behind the later one. So the next read continues the range without a loss.

Gaps before the first repeated key cannot be proven to be markers: a marker and a compacted record each take one offset,
and Kafka does not show clients which transactions ended in a partition.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.log.bases import CopyCoverage, begins_later, choose_base, coverage_of, is_led_up_to
from kip848_records.log.extents import Extent, FileRow, Unread, extent, without_filled
from kip848_records.log.losses import IS_LOST_RECORD, LostRecord, losses
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.queries.texts import rendered
from kip848_records.replay.inputs import PartitionCoverage
from kip848_records.sources.predicates import IS_READABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kip848_records.engines.engine import Engine, Relation

    Ask = Callable[..., Sequence[Any]]
    """Answers SQL over the table `log`, in which ``:cluster`` is the cluster; the rows are named tuples."""

_LAST_OFFSET: Final = 2**63 - 1
_MOST_LOST_RECORDS: Final = 10_000
_BASES: Final = pa.schema(
    [("partition", pa.int32()), ("base", pa.string()), ("first_offset", pa.int64()), ("until_offset", pa.int64())]
)
_COMMIT_TYPES: Final = ", ".join(map(str, OFFSET_COMMIT_TYPES))

_FILES_AND_LOSSES: Final = f"""
SELECT found.partition, found.copy, found.run, collect_list(found.file) AS files, min(found.lost) AS first_lost,
    max(found.lost) AS last_lost
FROM (
    SELECT
        log.partition, explode(log.copies) AS copy, log.run, log.file,
        CASE WHEN {IS_LOST_RECORD} THEN log.offset END AS lost
    FROM log
    WHERE log.cluster = :cluster AND log.partition IS NOT NULL AND (log.file IS NOT NULL OR {IS_LOST_RECORD})
) AS found
GROUP BY found.partition, found.copy, found.run
"""  # noqa: S608 - constants
_LOST_RECORDS: Final = f"""
SELECT log.partition, log.offset, log.copies FROM log
WHERE log.cluster = :cluster AND {IS_LOST_RECORD} LIMIT {_MOST_LOST_RECORDS + 1}
"""  # noqa: S608 - constants
_READABLE: Final = f"""
SELECT bounds.partition, bounds.copy, bounds.behind, records.offset, records.key, records.key_type, records.transaction
FROM (
    SELECT log.partition, explode(log.copies) AS copy, log.offset, log.key, log.key_type, log.transaction
    FROM log
    WHERE log.cluster = :cluster AND {IS_READABLE} AND log.key IS NOT NULL
) AS records
JOIN ({{bounds}}) AS bounds ON records.partition = bounds.partition AND records.copy = bounds.copy
WHERE records.offset < bounds.before
"""  # noqa: S608 - constants


@dataclass(frozen=True)
class LogCoverage:
    """How much of each partition the log holds.

    `copies`: what each copy holds of each partition. `partitions`: the coverage of each partition, as a replay takes
    it. `stale`: ``partition, offset`` of the records that neither a replay nor the latest state may count
    (`log.bases`); None if there are none.
    """

    copies: Sequence[CopyCoverage]
    partitions: Mapping[int, PartitionCoverage]
    stale: Relation | None


def read_coverage(engine: Engine, ask: Ask, log: Relation) -> LogCoverage:
    """Return what the log holds of each partition.

    Args:
        engine: reads `log`.
        ask: answers SQL over the table `log` (`LogTable.ask`).
        log: the same rows (`specs.log_columns.LOG_COLUMNS`), each (partition, offset) once
            (`sources.read.merged_rows`). It may lack offset commits. A dump does not show whether rows were filtered
            out, or whether it was saved at several times. The reader takes it for one whole copy.
    """
    extents, lost = _extents(ask)
    found: dict[int, list[Extent]] = defaultdict(list)
    for each in _with_repeated_keys(ask, extents):
        found[each.partition].append(each)
    by_partition = {partition: without_filled(_with_records(copies)) for partition, copies in found.items()}
    bases = {partition: choose_base(copies) for partition, copies in by_partition.items()}
    lacking = _lacking_records(engine, log, by_partition, bases)
    copies = [
        copy
        for partition, theirs in sorted(by_partition.items())
        for copy in coverage_of(theirs, bases[partition], lacks_records=partition in lacking)
    ]
    if lost and any(len(theirs) > 1 for theirs in by_partition.values()):
        lost = _lost_records(ask) or lost
    partitions = {
        base.partition: _partition_coverage(base, by_partition[base.partition], bases[base.partition], lost)
        for base in copies
        if base.is_base
    }
    copies = [_with_losses(copy, partitions[copy.partition]) if copy.is_base else copy for copy in copies]
    return LogCoverage(copies, partitions, _stale(engine, log, by_partition, copies))


def read_losses(ask: Ask, first_repeated: Mapping[tuple[int, int], int | None]) -> dict[int, list[int]]:
    """Return by partition of a live topic, in order, the first and last offsets of what any group may have lost.

    What a run fetched is one copy of its range: its unreadable batches, and what is missing behind the first repeated
    key, are lost as they are in a copy of the broker's files. Rows of Spark's Kafka source show neither.

    Args:
        ask: answers SQL over the table `log` (`LogTable.ask`).
        first_repeated: by partition and run, the offset of the first repeated key since the cleaner was there.
    """
    found: dict[int, list[int]] = defaultdict(list)
    for row, part in _files_and_losses(ask):
        repeated = first_repeated.get((row.partition, row.run))
        fetched = part if part is None or repeated is None else part.with_repeated(repeated)
        for first, behind, _ in () if fetched is None else fetched.unread:
            found[row.partition] += [first, first if behind is None else behind - 1]
        found[row.partition] += [at for at in (row.first_lost, row.last_lost) if at is not None]
    return {partition: sorted(lost) for partition, lost in found.items() if lost}


def repeated_keys(records: str) -> str:
    """Return SQL for the first record of each log that repeats an earlier key, and one that shows later compaction.

    Args:
        records: a relation of readable records in SQL: ``partition, copy, offset, key, key_type, transaction, behind``.
            Partition and copy identify a log. A repeated key counts from the offset ``behind`` on; null: every one.

    Returns:
        ``partition, copy, first_repeated, compaction_probe``. ``first_repeated``: the offset of the first record that
        repeats a key; the cleaner has removed nothing from there on. ``compaction_probe``: the offset of the earlier
        record of the last such pair; as long as the topic has it, the cleaner has not been there since. Records of
        transactions are skipped, because the cleaner treats them differently. So are offset commits: the Kafka source
        does not show which of them were written in a transaction.
    """
    return f"""
SELECT pairs.partition, pairs.copy, min(pairs.offset) AS first_repeated,
    max_by(pairs.earlier, pairs.offset) AS compaction_probe
FROM (
    SELECT records.*, lag(records.offset)
        OVER (PARTITION BY records.partition, records.copy, records.key ORDER BY records.offset) AS earlier
    FROM {records} AS records
    WHERE records.key IS NOT NULL AND records.transaction = 'none' AND records.key_type NOT IN ({_COMMIT_TYPES})
) AS pairs
WHERE pairs.earlier IS NOT NULL AND coalesce(pairs.offset >= pairs.behind, true)
GROUP BY pairs.partition, pairs.copy
"""  # noqa: S608 - no text of a user


def _files_and_losses(ask: Ask) -> Iterator[tuple[Any, Extent | None]]:
    """Yield the rows of `_FILES_AND_LOSSES`, each with the extent of its files; None if they do not show one."""
    for row in ask(_FILES_AND_LOSSES):
        files = [_file_row(each) for each in row.files or ()]
        yield row, extent(row.partition, row.copy, files) if files else None


def _extents(ask: Ask) -> tuple[list[Extent], list[LostRecord]]:
    """Return what each copy holds of each partition, and the first and last of its records lost to any group."""
    extents: list[Extent] = []
    losses_of_copies: list[LostRecord] = []
    for row, part in _files_and_losses(ask):
        found = part
        if row.first_lost is not None:
            copies = frozenset([row.copy])
            losses_of_copies += [LostRecord(row.partition, at, copies) for at in (row.first_lost, row.last_lost)]
            found = part and part.with_lost_record(row.last_lost)
        extents += [found] if found else []
    return extents, losses_of_copies


def _with_records(copies: Sequence[Extent]) -> Sequence[Extent]:
    """Return the copies of a partition that are not empty; one, if all are."""
    return [each for each in copies if each.first_offset <= each.last_offset] or copies[:1]


def _file_row(file: Mapping[str, Any]) -> FileRow:
    known = {name: file[name] for name in FileRow._fields}
    return FileRow(**{**known, "unread": [Unread(**part) for part in known["unread"]]})


def _with_repeated_keys(ask: Ask, extents: Sequence[Extent]) -> list[Extent]:
    """Add the first repeated key among records of groups, for copies that need one; files already have others."""
    needed = [
        each
        for each in extents
        if each.needs_repeated_key and (each.first_repeated is None or each.first_repeated > each.repeats_from)
    ]
    if not needed:
        return list(extents)
    bounds = " UNION ALL ".join(
        f"SELECT {each.partition} AS partition, :copy{number} AS copy, {each.repeats_from} AS behind, "
        f"{_LAST_OFFSET if each.first_repeated is None else each.first_repeated} AS before"
        for number, each in enumerate(needed)
    )
    copies = {f"copy{number}": each.copy for number, each in enumerate(needed)}
    pairs = ask(repeated_keys(f"({_READABLE.format(bounds=bounds)})"), **copies)
    found = {(row.partition, row.copy): row.first_repeated for row in pairs}
    return [
        each.with_repeated(offset) if (offset := found.get((each.partition, each.copy))) is not None else each
        for each in extents
    ]


def _lacking_records(
    engine: Engine, log: Relation, extents: Mapping[int, Sequence[Extent]], bases: Mapping[int, Extent]
) -> set[int]:
    """Return the partitions whose base lacks records that other copies have behind its start.

    The query covers only partitions whose base starts behind other copies (`bases.coverage_of`).
    """
    asked = [
        (base.partition, base.copy, base.first_offset, base.complete_from)
        for partition, base in bases.items()
        if begins_later(base, extents[partition]) and is_led_up_to(base, extents[partition])
    ]
    if not asked:
        return set()
    missing = _missing_in_bases(engine, log, asked)
    rows = engine.collect(engine.sql("SELECT DISTINCT missing.partition FROM {missing} AS missing", missing=missing))
    return {row.partition for row in rows}


def _stale(
    engine: Engine, log: Relation, extents: Mapping[int, Sequence[Extent]], copies: Sequence[CopyCoverage]
) -> Relation | None:
    """Return ``partition, offset`` of the records from before the base's history that only other copies hold."""
    asked = [
        (base.partition, base.copy, base.stale_from, base.complete_from)
        for base in copies
        if base.stale_from is not None
        and any(
            each.copy != base.copy and each.first_offset < base.complete_from and each.last_offset >= base.stale_from
            for each in extents[base.partition]
        )
    ]
    return _missing_in_bases(engine, log, asked) if asked else None


def _missing_in_bases(engine: Engine, log: Relation, asked: Sequence[tuple[int, str, int | None, int]]) -> Relation:
    """Return ``partition, offset`` of the records that bases lack.

    `asked` has partition, base, first offset, and the offset behind the last.
    """
    bases = pa.Table.from_pylist([dict(zip(_BASES.names, each, strict=True)) for each in asked], _BASES)
    text = rendered("log/sql/missing_in_bases.sql", is_readable=IS_READABLE)
    return engine.sql(text, log=log, bases=engine.relation(bases))


def _lost_records(ask: Ask) -> list[LostRecord] | None:
    """Return every record in error that may be of any group; None if there are too many to look at each."""
    found = ask(_LOST_RECORDS)
    if len(found) > _MOST_LOST_RECORDS:
        return None
    of_offset: dict[tuple[int, int], set[str]] = defaultdict(set)
    for row in found:
        of_offset[row.partition, row.offset].update(row.copies)
    return [LostRecord(*at, frozenset(copies)) for at, copies in of_offset.items()]


def _with_losses(base: CopyCoverage, known: PartitionCoverage) -> CopyCoverage:
    return base._replace(first_lost_offset=known.first_loss, last_lost_offset=known.last_loss)


def _partition_coverage(
    coverage: CopyCoverage, extents: Sequence[Extent], base: Extent, lost: Sequence[LostRecord]
) -> PartitionCoverage:
    end = max(each.last_offset for each in extents) + 1
    lost_here = losses(extents, base, [each for each in lost if each.partition == base.partition])
    return PartitionCoverage(
        complete_ranges=((base.complete_from, end),) if base.complete_from < end else (),
        log_start_missing=bool(coverage.log_start_missing),
        last_offset=end - 1,
        first_loss=min((first for first, _ in lost_here), default=None),
        last_loss=max((last for _, last in lost_here), default=None),
    )
