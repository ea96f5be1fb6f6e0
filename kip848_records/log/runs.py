"""The facts about each run, and the range that it read of each partition of a live topic."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.inputs import ChangedLimit, PartitionCoverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ONE_OF: Final = re.compile(r"one partition of (\d+)")


class EndOffset(NamedTuple):
    """Where a partition of a topic of the groups ended at a time, ms since 1970; a field that is not known is None.

    `start_offset`: where its log began. `earlier_offset`, `earlier_ms`: where it ended when the run before asked.
    """

    topic: str
    partition: int
    start_offset: int | None
    end_offset: int
    asked_ms: int
    earlier_offset: int | None = None
    earlier_ms: int | None = None


@dataclass(frozen=True)
class RunInfo:
    """The facts about a run.

    `captured_ms`: when the log was copied, as the user named it, or when the run read the topic; None for a copy of
    which no time was named: the newest time in the log stands for it. `dialect` may be `auto` for a copy: then its
    records decide. `names`: (topic id, topic, source) that are in no record. `limits`: those of the diagnosis that are
    not the defaults. `kept_since_ms`: retention removed rows that had ended before. `is_pruning`: the run only did
    that, without a read. `record_tables`: decoded records get their own tables. `topic_content`: what is in
    the topic was counted by key. `offsets_retention_ms`: how long brokers keep an offset after its last commit; None:
    not known. `end_offsets`: where topics ended before the run read the log. `max_message_bytes`: the limit of a batch
    of the topic; None: not known.
    """

    run: int
    is_copy: bool
    sources: tuple[str, ...]
    version: str
    dialect: str
    offset_commits: bool
    read_ms: int
    captured_ms: int | None = None
    topic_id: str | None = None
    kept_since_ms: int | None = None
    is_pruning: bool = False
    is_archived: bool = False
    record_tables: bool = False
    topic_content: bool = False
    max_message_bytes: int | None = None
    names: tuple[tuple[str, str, str], ...] = ()
    limits: tuple[ChangedLimit, ...] = ()
    offsets_retention_ms: int | None = None
    end_offsets: tuple[EndOffset, ...] = ()

    @classmethod
    def of(cls, run: int, known: Mapping[str, Any]) -> RunInfo:
        """Return the run of a row of the log, by its column `run_info`."""
        names = tuple((each["topic_id"], each["topic"], each["source"]) for each in known.get("names") or ())
        limits = tuple(ChangedLimit(**each) for each in known.get("limits") or ())
        ends = tuple(EndOffset(**each) for each in known.get("end_offsets") or ())
        listed = {"sources": tuple(known["sources"]), "names": names, "limits": limits, "end_offsets": ends}
        return cls(run=run, **{**known, **listed})


@dataclass(frozen=True)
class PartitionRead:
    """The range that a run read of a partition of a live topic, and the facts about the partition since its first run.

    The run read all records from ``from_offset`` to before ``until_offset``. ``last_ms`` is the time of the record just
    before that, if there was one: the next run checks by it that it continues there. ``note`` describes unusual events.
    The partition's first run began at ``first_offset``.

    From ``range_from`` on compaction removed nothing between two runs. ``is_gapless``: no offset was missing there.
    ``first_repeated_key``: the second of the first two records of one key there. ``compaction_probe``: the first of the
    last two. While it exists, nothing after the second was cleaned.

    Before ``kept_from`` retention kept only the present state. ``is_tombstone_gap``: tombstones may have been removed,
    unseen, since the previous run.

    ``captured_ms``: up to then all that happened in the partition is known, in ms since 1970; None: no record was read
    yet. Not ``is_read_to_end``: later records are behind an open transaction, or were not read.

    ``undecided_from``: the log has records from there on of a transaction that was open, and a later part was read by
    an engine that sees no markers: whether it ended is not known. None: the log has the markers of all that it has.
    """

    run: int
    partition: int
    from_offset: int = 0
    until_offset: int = 0
    last_ms: int | None = None
    note: str | None = None
    first_offset: int = 0
    range_from: int = 0
    is_gapless: bool = True
    first_repeated_key: int | None = None
    compaction_probe: int | None = None
    kept_from: int = 0
    is_tombstone_gap: bool = False
    captured_ms: int | None = None
    is_read_to_end: bool = True
    undecided_from: int | None = None

    @classmethod
    def of(cls, run: int, partition: int, known: Mapping[str, Any]) -> PartitionRead:
        """Return the read in a row of the log, by its column `read`."""
        return cls(run=run, partition=partition, **known)

    @property
    def complete_from(self) -> int | None:
        """The offset from which on no record is missing; None if that cannot be proven."""
        known = self.range_from if self.is_gapless else self.first_repeated_key
        return None if known is None else max(known, self.kept_from)

    @property
    def log_start_missing(self) -> bool:
        """Whether the start of the log was gone before its first read."""
        return self.first_offset > 0


def facts(of: RunInfo | PartitionRead) -> dict[str, Any]:
    """Return the facts as the columns `run_info` and `read` of the log have them."""
    known = {field.name: getattr(of, field.name) for field in fields(of) if field.name not in {"run", "partition"}}
    if isinstance(of, RunInfo):
        names = ("topic_id", "topic", "source")
        known |= {"sources": list(of.sources), "names": [dict(zip(names, each, strict=True)) for each in of.names]}
        known |= {name: [each._asdict() for each in getattr(of, name)] for name in ("limits", "end_offsets")}
    return known


def last_reads(reads: Sequence[PartitionRead]) -> Mapping[int, PartitionRead]:
    """Return the last read of each partition; `reads` are in the order of runs."""
    return {read.partition: read for read in reads}


def first_repeated_keys(reads: Sequence[PartitionRead]) -> dict[tuple[int, int], int | None]:
    """Return by partition and run the first repeated key of the range that the read is in, as its last read knows it.

    `reads` are in the order of runs.
    """
    last_of_each = {(read.partition, read.range_from): read.first_repeated_key for read in reads}
    return {(read.partition, read.run): last_of_each[read.partition, read.range_from] for read in reads}


def coverage_of_reads(
    reads: Sequence[PartitionRead], losses: Mapping[int, Sequence[int]]
) -> dict[int, PartitionCoverage]:
    """Return the coverage of each partition of a live topic.

    `losses`: in order, first and last offsets of the partition's lost records that may belong to any group.
    """
    by_partition: dict[int, list[PartitionRead]] = {}
    for each in reads:
        by_partition.setdefault(each.partition, []).append(each)
    return {
        partition: PartitionCoverage(
            complete_ranges=_complete_ranges(theirs, losses.get(partition, ())),
            log_start_missing=theirs[-1].log_start_missing,
            last_offset=theirs[-1].until_offset - 1,
            tombstone_gaps=tuple(read.from_offset for read in theirs if read.is_tombstone_gap),
            first_loss=next(iter(losses.get(partition, ())), None),
            last_loss=next(reversed(losses.get(partition, ())), None),
            captured_at=theirs[-1].captured_ms,
            is_read_to_end=theirs[-1].is_read_to_end,
        )
        for partition, theirs in by_partition.items()
    }


def _complete_ranges(reads: Sequence[PartitionRead], lost: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the complete ranges of a partition: the last read within each has the most facts.

    A range in which records were lost is complete behind the last of them, as a copy of files is.
    """
    last_of_each = {read.range_from: read for read in reads}.values()
    kept_from = reads[-1].kept_from
    ranges = (
        (max(read.complete_from, kept_from), read.until_offset)
        for read in last_of_each
        if read.complete_from is not None
    )
    behind_losses = ((max([first, *(at + 1 for at in lost if at < until)]), until) for first, until in ranges)
    return tuple((first, until) for first, until in behind_losses if first < until)


def one_partition_of(partitions: int) -> str:
    """Return the note of `PartitionRead` that of so many partitions only this one was read."""
    return f"one partition of {partitions}"


def partitions_beside_one(notes: Iterable[str | None]) -> int | None:
    """Return the number in `one_partition_of` if one of the notes has that; None: all partitions were read."""
    found = (_ONE_OF.search(note or "") for note in notes)
    return next((int(each[1]) for each in found if each is not None), None)
