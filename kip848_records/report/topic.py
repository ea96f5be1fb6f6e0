"""What is in `__consumer_offsets`, and the health of the topic: who fills it, what a cleaning would free, what to do.

`contents` reads the tables once. `sections` is what people read, `as_json` what programs do.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.report.sections import Section
from kip848_records.report.sql import query
from kip848_records.text import count_text, names_text, span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.expectations.results import Result
    from kip848_records.queries.tables import Row, Run, Tables

CHECKS: Final = ("compaction_alive", "commit_rate", "dead_offsets")
"""The expectations about the topic."""

_NAMED: Final = 3
_PERCENT: Final = 100
_KILO: Final = 1000
_DEFAULT_BATCH: Final = 1_048_588
_NEAR_LIMIT: Final = 0.8
LONG_MS: Final = 20 * 60 * 1000
"""Kafka's default of `transaction.max.timeout.ms`, and five minutes: after that its coordinator has aborted it."""


class TopicContents(NamedTuple):
    """What is known of the topic: rows of the report's queries, most records first.

    `results`: of the expectations `CHECKS`. `owners`: clients by partition and group, with offset commits only.
    """

    run: Run
    types: Sequence[Row]
    partitions: Sequence[Row]
    groups: Sequence[Row]
    topics: Sequence[Row]
    owners: Mapping[tuple[int, str], Sequence[str]]
    results: Sequence[Result]

    @property
    def records(self) -> int:
        """All records, but those without a type."""
        return sum(row.records for row in self.types)

    @property
    def bytes(self) -> int | None:
        """Their bytes on the disk; None if the source does not show them."""
        return _sum(self.types, "bytes")

    @property
    def superseded(self) -> int:
        """The records that a cleaning would remove."""
        return sum(row.superseded for row in self.types)

    @property
    def commits(self) -> int:
        """The offset commits among them, with tombstones."""
        return sum(row.records for row in self.types if row.key_type in OFFSET_COMMIT_TYPES)

    @property
    def unchanged(self) -> int | None:
        """The commits that change nothing; None if this is not known of all."""
        return _sum([row for row in self.types if row.key_type in OFFSET_COMMIT_TYPES], "unchanged")

    @property
    def opened(self) -> list[Row]:
        """The partitions with a transaction without a marker, the oldest first."""
        found = [row for row in self.partitions if row.open_transactions]
        return sorted(found, key=lambda row: (-(row.open_ms or 0), row.partition))

    @property
    def is_topics_known(self) -> bool:
        """Whether a list of all topics is known."""
        return any(row.is_gone is not None for row in self.topics)


def contents(tables: Tables, run: Run, results: Sequence[Result]) -> TopicContents:
    """Return what is known of the topic of a cluster. `results`: of the expectations `CHECKS` about it."""
    rows = {
        name: tables.rows(query(f"topic_{name}"), run.cluster) for name in ("types", "partitions", "groups", "topics")
    }
    owners = defaultdict(list)
    for row in tables.rows(query("topic_owners"), run.cluster):
        owners[row.partition, row.group_id].append(row.client_id)
    return TopicContents(run, rows["types"], rows["partitions"], rows["groups"], rows["topics"], dict(owners), results)


def headline(found: TopicContents) -> str:
    """Return the whole in a sentence."""
    size = "" if found.bytes is None else f", {_size(found.bytes)} on the disk,"
    text = f"{count_text(found.records, 'record')}{size} in {count_text(len(found.partitions), 'partition')}"
    text += (
        f": {_share(found.superseded, found.records)} superseded, {_share(found.commits, found.records)} offset commits"
    )
    bad = [row for row in found.opened if (row.open_ms or 0) > LONG_MS]
    troubles = [result.name for result in found.results if result.violations] + (["open transactions"] if bad else [])
    return f"{text}. " + (f"Look at: {', '.join(troubles)}" if troubles else "No trouble is seen")


def sections(found: TopicContents) -> Iterator[Section]:
    """Yield the parts of the answer, whether the topic is healthy before who fills it."""
    yield Section(headline(found), notes=tuple(_freed(found)))
    if found.types:
        yield _health(found)
        yield from _open(found)
        yield _by_type(found)
        yield _by_group(found)
        yield from _by_topic(found)
        yield from _gone(found)
        yield _by_partition(found)
    yield Section("Not looked at", notes=tuple(_not_looked_at(found)))


def _freed(found: TopicContents) -> Iterator[str]:
    freed = _sum(found.groups, "bytes_freed")
    size = "" if not freed else f", about {_size(freed)} of {_size(found.bytes or 0)}"
    oldest = min((row.superseded_since_ms for row in found.types if row.superseded_since_ms is not None), default=None)
    since = "" if oldest is None else f"; the oldest record with a later one of its key is of {time_text(oldest)}"
    yield f"a cleaning would free {count_text(found.superseded, 'record')}{size}{since}"
    live, kept = (sum(getattr(row, name) for row in found.types) for name in ("live_keys", "kept_tombstones"))
    yield (
        f"{count_text(live, 'live key')} and {count_text(kept, 'tombstone')} would be left; the cleaner never comes to "
        "the last segment of a partition"
    )
    if (unchanged := found.unchanged) is not None and found.commits:
        yield (
            f"{_share(unchanged, found.commits)} of the offset commits change nothing: same offset, leader epoch and "
            "metadata as the commit before"
        )


def _health(found: TopicContents) -> Section:
    rows = [
        (result.name, result.status, each.group_id or "", each.partition, each.message)
        for result in found.results
        for each in (*result.violations, *(() if result.violations else result.unknown[:1]))
    ]
    notes = [
        f"{result.name}: {result.status}" + (f", {result.passed:,} passed" if result.passed else "")
        for result in found.results
    ]
    notes.append(_largest(found))
    columns = ("check", "result", "group", "partition", "message")
    return Section("Is it healthy", columns, rows, ("partition",), tuple(filter(None, notes)))


def _largest(found: TopicContents) -> str:
    sized = [row for row in found.partitions if row.largest_batch_bytes is not None]
    if not sized:
        return "largest batch: the source does not show batches"
    row = max(sized, key=lambda row: row.largest_batch_bytes)
    limit = found.run.max_message_bytes
    place = f"largest batch: {row.largest_batch_bytes:,} bytes, in partition {row.partition}"
    place += f" at offset {row.largest_batch_offset}"
    if limit is None:
        return f"{place}; the topic's max.message.bytes is not in a copy, its default is {_DEFAULT_BATCH:,}"
    near = (
        ": a group that grows beyond it cannot change any more" if row.largest_batch_bytes > limit * _NEAR_LIMIT else ""
    )
    return f"{place}, {_share(row.largest_batch_bytes, limit)} of max.message.bytes, {limit:,}{near}"


def _open(found: TopicContents) -> Iterator[Section]:
    rows = [
        (
            row.partition,
            row.open_transactions,
            names_text([str(each) for each in row.open_producers or ()], _NAMED),
            names_text(row.open_groups or (), _NAMED),
            row.open_from,
            span_text(row.open_ms),
            row.last_offset - row.open_from + 1,
        )
        for row in found.opened
    ]
    if rows:
        late = any((row.open_ms or 0) > LONG_MS for row in found.opened)
        notes = [
            "Nothing from the first of their records on can be cleaned, and readers with read_committed stop there"
        ]
        if late:
            notes.append(
                "open for longer than transaction.max.timeout.ms (15 min by default): its coordinator has lost it. See "
                "kafka-transactions.sh find-hanging, then abort it"
            )
        columns = ("partition", "transactions", "producers", "groups", "from offset", "open for", "offsets behind")
        right = ("partition", "transactions", "from offset", "open for", "offsets behind")
        yield Section("Transactions without a marker", columns, rows, right, tuple(notes))


def _by_type(found: TopicContents) -> Section:
    rows = [
        (
            _type_name(row.key_type),
            row.key_type,
            f"{row.records:,}",
            _share(row.records, found.records),
            _size(row.bytes),
            f"{row.live_keys:,}",
            f"{row.superseded:,}",
            f"{row.kept_tombstones:,}",
        )
        for row in found.types
    ]
    columns = ("record", "type", "records", "share", "bytes", "live keys", "superseded", "tombstones kept")
    return Section("By type", columns, rows, columns[1:])


def _by_group(found: TopicContents) -> Section:
    rows = [
        (
            row.group_id or "",
            f"{row.records:,}",
            _share(row.records, found.records),
            _size(row.bytes),
            f"{row.commits:,}",
            "" if row.per_second is None else f"{row.per_second:,.1f}",
            "" if row.unchanged is None else _share(row.unchanged, row.commits),
            f"{row.live_keys:,}",
            f"{row.superseded:,}",
            names_text(found.owners.get((row.partition, row.group_id), ()), 1),
        )
        for row in found.groups
    ]
    columns = (
        "group",
        "records",
        "share",
        "bytes",
        "commits",
        "commits/s",
        "unchanged",
        "live keys",
        "superseded",
        "client",
    )
    kept = columns if found.owners else columns[:-1]
    notes = list(_advice(found))
    if found.owners:
        notes.append("client: the presumed one, as it owns the partitions; a commit does not name who made it")
    return Section("Who fills it", kept, [row[: len(kept)] for row in rows], columns[1:-1], tuple(notes))


def _advice(found: TopicContents) -> Iterator[str]:
    idle = sorted((row for row in found.groups if row.unchanged), key=lambda row: -row.unchanged)[:1]
    for row in idle:
        if row.unchanged * 2 > row.commits and row.unchanged * 10 > found.commits:
            yield (
                f"{row.group_id}: {_share(row.unchanged, row.commits)} of its commits change nothing. Raise "
                "auto.commit.interval.ms, or commit only after progress"
            )
    for row in found.groups[:1]:
        if row.group_id is not None and row.records * 2 > found.records and len(found.groups) > 1:
            yield (
                f"{row.group_id} wrote {_share(row.records, found.records)} of all records: commit by time or by "
                "batch, not for each message"
            )


def _by_topic(found: TopicContents) -> Iterator[Section]:
    rows = [
        (
            row.topic,
            f"{row.records:,}",
            _share(row.records, found.commits),
            _size(row.bytes),
            "" if row.unchanged is None else _share(row.unchanged, row.records),
            f"{row.live_keys:,}",
            f"{row.groups:,}",
        )
        for row in found.topics
    ]
    if rows:
        columns = ("topic", "commits", "share", "bytes", "unchanged", "live keys", "groups")
        yield Section("Topics of the commits", columns, rows, columns[1:])


_STATUS: Final = {
    "deleted": "the group was deleted, its offsets stayed",
    "expired": "the group has no record, and its last commit is older than offsets are kept",
    "simple": "the group has no record: a client that assigns partitions itself, or one that is gone",
    "unknown": "no record of the group is there, but records were lost",
}


def _gone(found: TopicContents) -> Iterator[Section]:
    rows = [
        (
            row.group_id,
            f"{row.committed_keys:,}",
            time_text(row.committed_ms),
            span_text(row.age_ms),
            _STATUS[row.status],
        )
        for status in _STATUS
        for row in found.groups
        if row.status == status and row.committed_keys
    ]
    if rows:
        columns = ("group", "offsets", "last commit", "age", "what the log says")
        note = "kafka-consumer-groups.sh --delete --group GROUP removes the offsets of a group that is gone"
        yield Section("Committed offsets of groups without a record", columns, rows, ("offsets", "age"), (note,))
    gone = [
        (row.topic, f"{row.live_keys:,}", f"{row.groups:,}") for row in found.topics if row.is_gone and row.live_keys
    ]
    if gone:
        note = "kafka-consumer-groups.sh --delete-offsets --group GROUP --topic TOPIC removes them"
        yield Section(
            "Committed offsets of topics that are gone",
            ("topic", "offsets", "groups"),
            gone,
            ("offsets", "groups"),
            (note,),
        )


def _by_partition(found: TopicContents) -> Section:
    rows = [
        (
            row.partition,
            f"{row.records:,}",
            _share(row.records, found.records),
            _size(row.bytes),
            f"{row.live_keys:,}",
            _share(row.superseded, row.records),
            f"{row.kept_tombstones:,}",
            row.cleaning,
            "" if row.largest_batch_bytes is None else f"{row.largest_batch_bytes:,}",
        )
        for row in found.partitions
    ]
    columns = (
        "partition",
        "records",
        "share",
        "bytes",
        "live keys",
        "superseded",
        "tombstones kept",
        "cleaning",
        "largest batch",
    )
    return Section("By partition", columns, rows, (*columns[:-2], columns[-1]))


def _not_looked_at(found: TopicContents) -> Iterator[str]:
    if not found.types:
        yield "the tables do not have what is in the topic: it was read more than once, or holds rows twice"
        return
    if not found.is_topics_known:
        yield "whether topics of the commits are gone: pass --topics, or read the live topic"
    if found.bytes is None:
        yield "bytes, batches, and where the cleaner has been: rows of the Kafka source do not show them"
    if not found.run.offset_commits:
        yield "which client commits: pass --offset-commits"
    if found.bytes is None:
        yield "transactions without a marker: the source does not show markers"


def as_json(found: TopicContents) -> dict[str, Any]:
    """Return all of it for programs: rows as objects, times as `datetime` or in ms."""
    return {
        "cluster": found.run.cluster,
        "captured_at": found.run.captured_at,
        "records": found.records,
        "bytes": found.bytes,
        "superseded": found.superseded,
        "bytes_freed": _sum(found.groups, "bytes_freed"),
        "commits": found.commits,
        "unchanged": found.unchanged,
        "max_message_bytes": found.run.max_message_bytes,
        "checks": [
            {
                "check": result.name,
                "status": result.status,
                "passed": result.passed,
                "findings": [
                    {
                        "verdict": verdict,
                        "group_id": each.group_id,
                        "partition": each.partition,
                        "message": each.message,
                    }
                    for verdict, several in (("violation", result.violations), ("unknown", result.unknown))
                    for each in several
                ],
            }
            for result in found.results
        ],
        "types": [{"record": _type_name(row.key_type), **row._asdict()} for row in found.types],
        "groups": [
            {**row._asdict(), "presumed_clients": found.owners.get((row.partition, row.group_id))}
            for row in found.groups
        ],
        "topics": [row._asdict() for row in found.topics],
        "partitions": [row._asdict() for row in found.partitions],
        "not_looked_at": list(_not_looked_at(found)),
    }


def _type_name(key_type: int) -> str:
    return RECORDS[key_type].name if key_type in RECORDS else "unknown"


def _sum(rows: Sequence[Row], name: str) -> int | None:
    """Return a sum; None if one of the numbers is not known, or there is none."""
    numbers = [getattr(row, name) for row in rows]
    return None if not numbers or None in numbers else sum(numbers)


def _share(part: int, whole: int) -> str:
    if not whole:
        return ""
    share = part / whole * _PERCENT
    return f"{share:.0f} %" if share >= 1 or not part else "< 1 %"


def _size(size: int | None) -> str:
    if size is None:
        return ""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < _KILO or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= _KILO
    return ""
