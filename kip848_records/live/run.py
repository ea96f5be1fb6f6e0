"""One run over a live topic: what it reads, and what that tells of the log since the run before."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import Observation
from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.decode.dialects import AUTO, DISPUTED_TYPES, choose_dialect
from kip848_records.errors import InputError
from kip848_records.live.deletions import with_deletions
from kip848_records.live.kept_log import KeptLog, Read, as_log_rows, latest
from kip848_records.live.stretches import alive_partitions, joined, with_pairs
from kip848_records.protocol.messages import KAFKA, OFFSET_COMMIT_TYPES
from kip848_records.sources.log import group_id, key_of_types, newest_ms, without_offset_commits
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from kip848_records.landing import Scratch
    from kip848_records.live.topic import LiveLog
    from kip848_records.sources.topic import Ends

_SPARK_READERS: Final = ("spark-kafka-source-", "spark-kafka-relation-")
"""How the groups are called that Spark's own readers leave behind: a new one each time, and nobody's."""

CLOCKS_DIFFER_BY_MS: Final = 10 * 60 * 1000
"""How far the clock of a broker may run ahead of that of the user, generously."""
_PLACE: Final = ("partition", "offset")


@dataclass(frozen=True)
class Wanted:
    """What a run is to be: how its records are to be decoded, and the user's time of the copy."""

    dialect: str
    offset_commits: bool
    captured_ms: int | None
    allow_empty: bool


@dataclass(frozen=True)
class Reading:
    """What a run goes by: what was read before, the topic, where it ends now, what the run is to be, and its number.

    Read once: should another run come in between, both have one number, and Delta takes only the first.
    """

    kept: KeptLog
    live: LiveLog
    ends: Ends
    wanted: Wanted
    before: Mapping[int, Read]
    number: int

    @classmethod
    def of(cls, kept: KeptLog, reads: list[Read], live: LiveLog, ends: Ends, wanted: Wanted) -> Reading:
        """Return what the next run goes by; `reads` is all that was read before."""
        return cls(kept, live, ends, wanted, latest(reads), kept.next_run(reads))


@dataclass(frozen=True)
class Run:
    """What a run read.

    `reads`: of each partition. `offset_commits`: those that were only counted, by type. `left_out`: records of groups
    of Spark's readers. `first_run`: the number of the run, or of the first, if a stream made several of it. `so_far`:
    what all runs read, up to this one.
    """

    reads: list[Read]
    offset_commits: Mapping[int | None, int]
    left_out: int
    first_run: int
    so_far: list[Read]


@dataclass(frozen=True)
class Landing:
    """What was copied of a topic's rows, and what passed by.

    `rows`: those to keep, None where there was nothing to read. `seen`: how many rows there were of each partition.
    `last_ms`: the time of the one at the last offset, of the partitions that have one there. `newest_ms`: the highest
    timestamp. `offset_commits`: those that are not among the rows, by type. `left_out`: records of groups of Spark's
    readers.
    """

    rows: DataFrame | None = None
    seen: Mapping[int, int] = field(default_factory=dict)
    last_ms: Mapping[int, int] = field(default_factory=dict)
    newest_ms: int | None = None
    offset_commits: Mapping[int | None, int] = field(default_factory=dict)
    left_out: int = 0


def read_on(reading: Reading, folder: Scratch) -> Run:
    """Read what is new in each partition, and append it to the kept log in one commit.

    Raises InputError where rows must be there and none came: Spark leaves out internal topics unless told otherwise.
    """
    live = reading.live
    ranges = new_ranges(reading.before, reading.ends)
    filled = {partition: places for partition, places in ranges.items() if places[0] < places[1]}
    landing = Landing()
    if filled:
        with live.reading():
            landing = land(live.read(filled), filled, folder, offset_commits=reading.wanted.offset_commits)
    return keep(reading, landing, folder)


def new_ranges(before: Mapping[int, Read], ends: Ends) -> dict[int, tuple[int, int]]:
    """Return from where to where each partition is new: from where the run before ended, else from its start."""
    return {
        partition: (before[partition].until_offset if partition in before else start, end)
        for partition, (start, end) in ends.offsets.items()
    }


def keep(reading: Reading, landing: Landing, folder: Scratch) -> Run:
    """Append what was landed, of all that is new up to `ends`, to the kept log in one commit.

    Raises InputError where nothing came though it must, or it was not copied at the time that the user says.
    """
    kept, live, ends, wanted = reading.kept, reading.live, reading.ends, reading.wanted
    before = reading.before
    ranges = new_ranges(before, ends)
    rows = landing.rows
    # Later on there may be nothing new but markers of transactions, or what has been compacted away.
    if not sum(landing.seen.values()) and not before and not wanted.allow_empty:
        raise InputError.no_rows(live.name, None)
    check_captured(wanted.captured_ms, landing.newest_ms)
    common = Read(
        run=reading.number,
        source=live.name,
        topic_id=ends.topic_id,
        version=__version__,
        dialect=_dialect(wanted, kept, before, rows),
        offset_commits=wanted.offset_commits,
        read_ms=ends.at_ms,
        captured_ms=wanted.captured_ms or _newest([landing.newest_ms, *(read.captured_ms for read in before.values())]),
        kept_since_ms=next((read.kept_since_ms for read in before.values()), None),
    )
    fresh = [
        replace(
            common,
            partition=partition,
            from_offset=first,
            until_offset=until,
            note=_note(ends, partition, is_added=bool(before) and partition not in before),
            last_ms=landing.last_ms.get(partition),
            first_offset=first,
            stretch_from=first,
            is_gapless=landing.seen.get(partition, 0) == until - first,
        )
        for partition, (first, until) in ranges.items()
    ]
    # After the rows were read: what is there now was there all the time.
    alive = alive_partitions(kept, live, before, [p for p, (first, until) in ranges.items() if first < until], ends)
    reads = [joined(read, before.get(read.partition), is_alive=read.partition in alive) for read in fresh]
    reads = with_pairs(kept, rows, reads)
    reads, rows = with_deletions(reading, reads, rows, folder)
    so_far = kept.append(rows, reads)
    return Run(reads, landing.offset_commits, landing.left_out, reading.number, so_far)


def _note(ends: Ends, partition: int, *, is_added: bool) -> str | None:
    behind = ends.high_watermarks[partition] - ends.offsets[partition][1]
    said = ["added since the run before"] if is_added else []
    said += [f"{behind:,} offsets behind an open transaction are left for a later run"] if behind > 0 else []
    return "; ".join(said) or None


def _dialect(wanted: Wanted, kept: KeptLog, before: Mapping[int, Read], rows: DataFrame | None) -> str:
    """Return the dialect of the runs before, or the one that was asked for, or that the first rows tell that can."""
    if before and (wanted.dialect != AUTO or not kept.rows().where(key_of_types(DISPUTED_TYPES)).isEmpty()):
        return next(iter(before.values())).dialect
    if wanted.dialect != AUTO:
        return wanted.dialect
    return KAFKA.name if rows is None else choose_dialect(as_log_rows(rows)).name


def check_captured(captured_ms: int | None, newest_ms: int | None) -> None:
    """Raise InputError for a time at which the log cannot have been copied: something in it is newer by far."""
    if captured_ms is not None and newest_ms is not None and captured_ms < newest_ms - CLOCKS_DIFFER_BY_MS:
        raise InputError.captured_before_its_end(utc(captured_ms), utc(newest_ms))


def check_captured_by(captured_ms: int | None, now_ms: int) -> None:
    """Raise InputError for a time that is yet to come: no topic can have been read then."""
    if captured_ms is not None and captured_ms > now_ms + CLOCKS_DIFFER_BY_MS:
        raise InputError.captured_in_future(utc(captured_ms), utc(now_ms))


def _newest(times: Iterable[int | None]) -> int | None:
    return max((ms for ms in times if ms is not None), default=None)


def land(rows: DataFrame, ranges: Mapping[int, tuple[int, int]], folder: Scratch, *, offset_commits: bool) -> Landing:
    """Copy the rows that count, in one pass; what is left out is counted. `ranges`: which rows of each partition."""
    is_of_reader = reduce(or_, (group_id().startswith(prefix) for prefix in _SPARK_READERS))
    is_readers = F.coalesce(is_of_reader, F.lit(False))  # noqa: FBT003
    untils = F.array(*(F.lit(ranges.get(partition, (0, 0))[1]) for partition in range(max(ranges) + 1)))
    is_last = F.col("offset") == F.get(untils, F.col("partition")) - 1
    last = F.struct("partition", F.unix_millis("timestamp").alias("ms"))
    counts = {f"type_{commit}": F.count_if(key_of_types([commit]) & ~is_readers) for commit in OFFSET_COMMIT_TYPES}
    counts |= {
        # With a bin for each partition it counts exactly. As many counters would cost a row more than all else here.
        "seen": F.to_json(F.histogram_numeric("partition", F.lit(max(2, len(ranges))))),
        "last": F.to_json(F.collect_list(F.when(is_last, last))),
        "newest_ms": newest_ms(),
        "left_out": F.count_if(is_readers),
    }
    seen = Observation("topic")
    passing = rows.observe(seen, *(count.alias(name) for name, count in counts.items()))
    wanted = passing if offset_commits else without_offset_commits(passing)
    columns = (*_PLACE, "timestamp", "timestampType", "key", "value", "transaction", "error")
    inferred = F.lit(False).alias("is_inferred")  # noqa: FBT003
    kept = wanted.filter(~is_readers).select(*columns, group_id().alias("group_id"), inferred)
    landed = folder.keep(kept.sortWithinPartitions("group_id", "offset"), "rows")
    found = seen.get
    passed = {} if offset_commits else {commit: found[f"type_{commit}"] for commit in OFFSET_COMMIT_TYPES}
    seen_of: Counter[int] = Counter()
    for each in json.loads(found["seen"] or "[]"):  # of each task there may be a bin of its own
        seen_of[round(each["x"])] += round(each["y"])
    return Landing(
        landed,
        seen_of,
        {each["partition"]: each["ms"] for each in json.loads(found["last"])},
        found["newest_ms"],
        {commit: count for commit, count in passed.items() if count},
        found["left_out"],
    )
