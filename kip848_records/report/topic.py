"""What is in `__consumer_offsets`, and the health of the topic: who fills it, what is superseded, what to do.

`contents` reads the tables once. `sections` is what people read, `as_json` what programs do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.results import FAULT, NOT_APPLICABLE, PASS, UNKNOWN
from kip848_records.machine.disks import bytes_text
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.report.columns import BYTES, NUMBER, SPAN, TIME, Column, Names, bare, filled
from kip848_records.report.sections import Section, section
from kip848_records.report.sql import query
from kip848_records.text import count_text, names_text, span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.expectations.files import Setting
    from kip848_records.expectations.results import Finding, Result
    from kip848_records.queries.tables import Row, Run, Tables

_HANGING: Final = "hanging_transaction"
CHECKS: Final = (_HANGING, "compaction_alive", "commit_rate", "dead_offsets")
"""The expectations about the topic."""

_NAMED: Final = 3
_PERCENT: Final = 100
_KILO: Final = 1000
_NEAR_LIMIT: Final = 0.8
_BUSY: Final = 1
"""Commits a second for each of its live keys from which on a group is advised to commit less often."""


class TopicContents(NamedTuple):
    """What is known of the topic: rows of the report's queries, most records first.

    `results`: of the expectations `CHECKS`. `owners`: clients by partition and group, with offset commits only.
    `lost`: the partitions in which records were lost, and between which offsets. `is_counted`: false if the topic holds
    records, but the tables do not count them. `long_ms`: `max_timeout` and `grace` of the expectation
    `hanging_transaction`, together, in ms.
    """

    run: Run
    types: Sequence[Row]
    partitions: Sequence[Row]
    groups: Sequence[Row]
    topics: Sequence[Row]
    owners: Mapping[tuple[int, str], Sequence[str]]
    results: Sequence[Result]
    lost: Sequence[Row]
    is_counted: bool
    long_ms: float

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
        """The records with a later one of their key, and those of aborted transactions."""
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
    def hanging(self) -> list[Row]:
        """Those of `opened` that the expectation says are open for too long.

        Without offset commits it is not evaluated: then those that are open for longer than its limits together.
        """
        for result in self.results:
            if result.name == _HANGING and result.status not in {NOT_APPLICABLE, FAULT}:
                late = {each.partition for each in result.violations}
                return [row for row in self.opened if row.partition in late]
        return [row for row in self.opened if (row.open_ms or 0) > self.long_ms]

    @property
    def doubled(self) -> set[str]:
        """The ids of groups that have records in several partitions."""
        count = Counter(row.group_id for row in self.groups if row.group_id is not None)
        return {group_id for group_id, times in count.items() if times > 1}

    @property
    def is_topics_known(self) -> bool:
        """Whether a list of all topics is known."""
        return any(row.list_state is not None for row in self.topics)


NOT_COUNTED: Final = "the log was read more than once, or the same rows are in it twice"
"""Why the tables do not count what the topic holds."""


def contents(tables: Tables, run: Run, results: Sequence[Result], settings: Mapping[str, Setting]) -> TopicContents:
    """Return what is known of the topic of a cluster.

    `results`: of the expectations `CHECKS` about it. `settings`: of all expectations.
    """
    rows = {
        name: tables.rows(query(name), run.cluster)
        for name in (*(f"topic_{each}" for each in ("types", "partitions", "groups", "topics")), "lost_records")
    }
    hanging = settings[_HANGING].limits
    owners = defaultdict(list)
    for row in tables.rows(query("topic_owners"), run.cluster):
        owners[row.partition, row.group_id].append(row.client_id)
    return TopicContents(
        run,
        rows["topic_types"],
        rows["topic_partitions"],
        rows["topic_groups"],
        rows["topic_topics"],
        dict(owners),
        results,
        rows["lost_records"],
        bool(rows["topic_types"]) or not tables.rows(query("topic_held"), run.cluster),
        (hanging["max_timeout"] + hanging["grace"]) * _KILO,
    )


def headline(found: TopicContents) -> str:
    """Return the whole in a sentence."""
    if not found.is_counted:
        return f"not counted: {NOT_COUNTED}"
    size = "" if found.bytes is None else f", {bytes_text(found.bytes, 'bytes')} on the disk,"
    text = f"{count_text(found.records, 'record')}{size} in {count_text(len(found.partitions), 'partition')}"
    if found.records:
        text += (
            f": {_share(found.superseded, found.records)} superseded, "
            f"{_share(found.commits, found.records)} offset commits"
        )
    if found.lost:
        text += ". Counts of records are minimums: records were lost"
    troubles = [result.name for result in found.results if result.violations and result.name != _HANGING]
    troubles += ["open transactions"] if found.hanging else []
    if troubles:
        text += f". Look at: {', '.join(troubles)}"
    return f"{text}. {_checks_text(found.results)}"


def _checks_text(results: Sequence[Result]) -> str:
    counts = Counter(result.status for result in results)
    passed = counts[PASS]
    return (
        f"{count_text(passed, 'check')} {'passes' if passed == 1 else 'pass'}, {counts[UNKNOWN]} unknown, "
        f"{counts[NOT_APPLICABLE]} not applicable"
    )


def sections(found: TopicContents) -> Iterator[Section]:
    """Yield the parts of the answer, whether the topic is healthy before who fills it."""
    yield Section(headline(found), notes=list(_freed(found)) if found.types else ())
    if found.types:
        yield _health(found)
        yield from _open(found)
        yield from _by_type(found)
        yield from _by_group(found)
        yield from _by_topic(found)
        yield from _without_record(found)
        yield from _gone_topics(found)
        yield from _by_partition(found)
    yield Section("Not looked at", notes=list(_not_looked_at(found)))


def _freed(found: TopicContents) -> Iterator[str]:
    freed = _sum(found.groups, "bytes_freed")
    size = "" if not freed else f", about {bytes_text(freed, 'bytes')} of {bytes_text(found.bytes or 0, 'bytes')}"
    oldest = min((row.superseded_since_ms for row in found.types if row.superseded_since_ms is not None), default=None)
    since = "" if oldest is None else f"; the oldest record with a later one of its key is of {time_text(oldest)}"
    stops = "".join(
        f", none behind offset {row.open_from} of partition {row.partition} while the transaction there is open"
        for row in found.opened[:_NAMED]
    )
    if (more := len(found.opened) - _NAMED) > 0:
        stops += f", and likewise in {more:,} more"
    yield (
        f"superseded: {count_text(found.superseded, 'record')}{size}{since}. The cleaner can free at most these"
        f"{stops}, none in the last segment of a partition"
    )
    live, kept = (sum(getattr(row, name) for row in found.types) for name in ("live_keys", "kept_tombstones"))
    yield f"not superseded: {count_text(live, 'live key')} and {count_text(kept, 'tombstone')}"
    if found.lost:
        places = [
            f"partition {row.partition}, offsets {row.first_lost_offset} to {row.last_lost_offset}"
            for row in found.lost[:_NAMED]
        ]
        rest = f", and {len(found.lost) - _NAMED:,} more" if len(found.lost) > _NAMED else ""
        yield f"records were lost: {'; '.join(places)}{rest}. A key that counts as live may have ended there"
    if (unchanged := found.unchanged) is not None and found.commits:
        yield (
            f"{_share(unchanged, found.commits)} of the offset commits change nothing: same offset, leader epoch and "
            "metadata as the commit before"
        )


def _health(found: TopicContents) -> Section:
    rows = [(result, each, message) for result in found.results for each, message in _findings(result)]
    notes = [*(_outcome(found, result) for result in found.results), _largest(found)]
    return Section("Is it healthy", filled(_HEALTH, rows), notes)


_HEALTH: Final = (
    Column("check", lambda row: row[0].name),
    Column("result", lambda row: row[0].status),
    Column("group", lambda row: row[1].group_id),
    Column("partition", lambda row: bare("partition")(row[1]), NUMBER),
    Column("message", lambda row: row[2]),
)


def _findings(result: Result) -> Iterator[tuple[Finding, str]]:
    """Yield the violations; if there is none, the first unknown item with the number of the others."""
    for each in result.violations:
        yield each, each.message
    if not result.violations:
        for each in result.unknown[:1]:
            more = result.unknowns - 1
            yield each, f"{each.message}; and {more:,} more unknown" if more > 0 else each.message


def _outcome(found: TopicContents, result: Result) -> str:
    """Return the status of an expectation in words."""
    if result.status != NOT_APPLICABLE:
        return f"{result.name}: {result.status}" + (f", {result.passed:,} passed" if result.passed else "")
    return f"{result.name}: not applicable: {_why_not_applicable(found, result)}"


def _why_not_applicable(found: TopicContents, result: Result) -> str:
    why = result.not_applicable.get(found.run.cluster)
    if why is None:
        return "nothing of it is there"
    return why.reason if why.way_out is None else f"{why.reason}: {why.way_out}"


def _largest(found: TopicContents) -> str:
    sized = [row for row in found.partitions if row.largest_batch_bytes is not None]
    if not sized:
        return "largest batch: the source does not show batches"
    row = max(sized, key=lambda row: row.largest_batch_bytes)
    limit = found.run.max_message_bytes
    place = f"largest batch: {row.largest_batch_bytes:,} bytes, in partition {row.partition}"
    place += f" at offset {row.largest_batch_offset}"
    if limit is None:
        return f"{place}; the topic's max.message.bytes is not in a copy, its default is {_default_batch():,}"
    near = (
        ": a group that grows beyond it cannot change any more" if row.largest_batch_bytes > limit * _NEAR_LIMIT else ""
    )
    return f"{place}, {_share(row.largest_batch_bytes, limit)} of max.message.bytes, {limit:,}{near}"


def _default_batch() -> int:
    """Return Kafka's default of `max.message.bytes`."""
    return next(int(each.limits["max_bytes"].default) for each in EXPECTATIONS if each.name == "operation_size")


def _open(found: TopicContents) -> Iterator[Section]:
    notes = ["Nothing from the first of their records on can be cleaned, and readers with read_committed stop there"]
    if late := found.hanging:
        notes.append(
            f"partition {names_text([str(row.partition) for row in late], _NAMED)}: open for longer than "
            f"max_timeout + grace, {span_text(int(found.long_ms))}: probably hanging. See kafka-transactions.sh "
            "find-hanging, before you abort it"
        )
    yield from section("Transactions without a marker", _OPEN, found.opened, *notes)


_PARTITION: Final = Column("partition", bare("partition"), NUMBER)
_OPEN: Final = (
    _PARTITION,
    Column("transactions", bare("open_transactions"), NUMBER),
    Column("producers", lambda row: Names(map(str, row.open_producers or ()))),
    Column("groups", lambda row: Names(row.open_groups or ())),
    Column("from offset", bare("open_from"), NUMBER),
    Column("open for", "open_ms", SPAN),
    Column("offsets behind", lambda row: str(row.last_offset - row.open_from + 1), NUMBER),
)
_BYTES: Final = Column("bytes", "bytes", BYTES)
_LIVE: Final = Column("live keys", "live_keys", NUMBER)
_SUPERSEDED: Final = Column("superseded", "superseded", NUMBER)
_TOMBSTONES: Final = Column("tombstones kept", "kept_tombstones", NUMBER)


def _shared(found: TopicContents) -> tuple[Column, ...]:
    """Return the columns of how many records there are of something."""
    share = Column("share", lambda row: _share(row.records, found.records), NUMBER)
    return Column("records", "records", NUMBER), share, _BYTES


def _by_type(found: TopicContents) -> Iterator[Section]:
    columns = (
        Column("record", lambda row: _type_name(row.key_type)),
        Column("type", bare("key_type"), NUMBER),
        *(*_shared(found), _LIVE, _SUPERSEDED, _TOMBSTONES),
    )
    yield from section("By type", columns, found.types)


def _by_group(found: TopicContents) -> Iterator[Section]:
    columns = (
        _group(found),
        *_shared(found),
        Column("commits", "commits", NUMBER),
        Column("commits/s", lambda row: None if row.per_second is None else f"{row.per_second:,.1f}", NUMBER),
        Column("unchanged", lambda row: _share(row.unchanged, row.commits), NUMBER),
        *(_LIVE, _SUPERSEDED),
        Column("client", lambda row: names_text(found.owners.get((row.partition, row.group_id), ()), 1)),
    )
    notes = list(_advice(found))
    if found.owners:
        notes.append("client: the presumed one, as it owns the partitions; a commit does not name who made it")
    yield from section("Who fills it", columns, found.groups, *notes)


def _group(found: TopicContents) -> Column:
    doubled = found.doubled
    return Column("group", lambda row: _group_name(row, doubled))


def _group_name(row: Row, doubled: set[str]) -> str:
    """Return the id of a group, with the partition if the same id is in several."""
    name = row.group_id or ""
    return f"{name} (partition {row.partition})" if row.group_id in doubled else name


def _advice(found: TopicContents) -> Iterator[str]:
    doubled = found.doubled
    idle = sorted((row for row in found.groups if row.unchanged), key=lambda row: -row.unchanged)[:1]
    for row in idle:
        if row.unchanged * 2 > row.commits and row.unchanged * 10 > found.commits:
            yield (
                f"{_group_name(row, doubled)}: {_share(row.unchanged, row.commits)} of its commits change nothing. "
                "Raise auto.commit.interval.ms, or commit only after progress"
            )
    busy = [row for row in found.groups if row.commits * 2 > found.commits and _is_busy(row)]
    for row in busy:
        yield (
            f"{_group_name(row, doubled)} made {_share(row.commits, found.commits)} of all offset commits, "
            f"{row.per_second / row.committed_keys:,.1f} a second for each live key: commit by time or by batch, not "
            "for each message"
        )
    top = found.types[0]
    if not busy and top.records * 2 > found.records:
        yield f"{_type_name(top.key_type)} fills it: {_share(top.records, found.records)} of all records"


def _is_busy(row: Row) -> bool:
    """Whether a group commits each of its live keys more often than once a second."""
    return bool(row.per_second and row.committed_keys and row.per_second > _BUSY * row.committed_keys)


def _by_topic(found: TopicContents) -> Iterator[Section]:
    columns = (
        Column("topic", "topic"),
        Column("commits", "records", NUMBER),
        Column("share", lambda row: _share(row.records, found.commits), NUMBER),
        _BYTES,
        Column("unchanged", lambda row: _share(row.unchanged, row.records), NUMBER),
        _LIVE,
        Column("groups", "groups", NUMBER),
    )
    yield from section("Topics of the commits", columns, found.topics)


_GONE: Final = {
    "deleted": "the group was deleted, its offsets stayed",
}
_NOT_GONE: Final = {
    "expired": "no group record, and its last commit is older than offsets are kept: probably expired",
    "moved": "records of its id are in another partition too: the group may live there",
    "pending": "no group record, but a transaction with its offsets is open",
    "simple": "no group record: as of a client that assigns partitions itself, or of one that is gone",
    "unknown": "no group record is there, but records were lost",
}


def _without_record(found: TopicContents) -> Iterator[Section]:
    """Yield the groups without a record: only of those that the log shows to be gone how their offsets are removed."""
    columns = (
        _group(found),
        Column("offsets", "committed_keys", NUMBER),
        Column("last commit", "committed_ms", TIME),
        Column("age", "age_ms", SPAN),
        Column("what the log says", lambda row: (_GONE | _NOT_GONE)[row.status]),
    )
    for title, statuses, note in (
        (
            "Committed offsets of groups that are gone",
            _GONE,
            "kafka-consumer-groups.sh --delete --group GROUP removes the offsets of a group that is gone",
        ),
        (
            "Groups without a group record: the log does not say that they are gone",
            _NOT_GONE,
            "They may commit now: ask who owns them before you remove anything",
        ),
    ):
        groups = [row for row in found.groups if row.committed_keys]
        rows = [row for status in statuses for row in groups if row.status == status]
        yield from section(title, columns, rows, note)


def _gone_topics(found: TopicContents) -> Iterator[Section]:
    yield from section(
        "Committed offsets of topics that are gone",
        (Column("topic", "topic"), Column("offsets", "live_keys", NUMBER), Column("groups", "groups", NUMBER)),
        [row for row in found.topics if row.list_state == "gone" and row.live_keys],
        "kafka-consumer-groups.sh --delete-offsets --group GROUP --topic TOPIC removes them",
    )


def _by_partition(found: TopicContents) -> Iterator[Section]:
    columns = (
        _PARTITION,
        *(*_shared(found), _LIVE),
        Column("superseded", lambda row: _share(row.superseded, row.records), NUMBER),
        _TOMBSTONES,
        Column("cleaning", "cleaning"),
        Column("largest batch", "largest_batch_bytes", NUMBER),
    )
    yield from section("By partition", columns, found.partitions)


def _not_looked_at(found: TopicContents) -> Iterator[str]:
    if not found.is_counted:
        yield f"what is in the topic: {NOT_COUNTED}"
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
    is_counted = found.is_counted
    return {
        "cluster": found.run.cluster,
        "captured_at": found.run.captured_at,
        "not_counted": None if is_counted else NOT_COUNTED,
        "are_minimums": bool(found.lost) if is_counted else None,
        "lost": [row._asdict() for row in found.lost],
        "records": found.records if is_counted else None,
        "bytes": found.bytes,
        "superseded": found.superseded if is_counted else None,
        "bytes_freed": _sum(found.groups, "bytes_freed"),
        "commits": found.commits if is_counted else None,
        "unchanged": found.unchanged,
        "max_message_bytes": found.run.max_message_bytes,
        "checks": [
            {
                "check": result.name,
                "status": result.status,
                "passed": result.passed,
                "unknown": result.unknowns,
                "not_applicable": _why_not_applicable(found, result) if result.status == NOT_APPLICABLE else None,
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


def _share(part: int | None, whole: int) -> str:
    if part is None or not whole:
        return ""
    share = part / whole * _PERCENT
    return f"{share:.0f} %" if share >= 1 or not part else "< 1 %"
