"""The summary of an audit, in thirty lines for a terminal: first the stuck groups and their blockers."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.config import load_settings
from kip848_records.expectations.captures import capture_limits
from kip848_records.kinds import KINDS
from kip848_records.protocol.messages import AUTO, KAFKA
from kip848_records.protocol.messages.classic import OFFSET_COMMIT_TYPES
from kip848_records.report.changes import changes_since_last_run, is_overdue
from kip848_records.report.cleaning import not_cleaned
from kip848_records.report.consumption import groups_set_while_empty
from kip848_records.report.diagnosis import changed_text
from kip848_records.report.headline import group_counts, others_text, since_text, stuck_text
from kip848_records.report.sql import query
from kip848_records.report.summary_groups import (
    Stuck,
    client_list,
    columns,
    failing_groups,
    failing_list,
    stuck_groups,
    stuck_list,
)
from kip848_records.report.terminal import wrapped_lines
from kip848_records.report.transactions import long_transactions
from kip848_records.report.words import limits_text
from kip848_records.tables.location import location_arguments
from kip848_records.text import WIDTH, count_text, printable, ranges_text, span_text
from kip848_records.times import utc_text
from kip848_records.wording import causes_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from kip848_records.log.runs import PartitionRead
    from kip848_records.pipeline.options import Audit
    from kip848_records.queries.tables import Tables

HEIGHT: Final = 30
_STUCK_SHOWN: Final = 10
_FAILING_SHOWN: Final = 8
_FAILING_BESIDE_STUCK: Final = 3
_SLOWEST: Final = 3
_NOTES_SHOWN: Final = 2
_NOT_WELL: Final = ("stuck", "failing", "away", "unknown")
_MILLION: Final = 1_000_000


def summary(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    """Yield the parts of the summary, in order: 30 lines of 80 columns, wider only if an id needs it."""
    cluster = audit.options.cluster
    counts = group_counts(tables, cluster)
    stuck = stuck_groups(tables, cluster)
    failing = failing_groups(tables, cluster)
    uncleaned = not_cleaned(tables, cluster)
    undated = sum(each.row.limited_ms is None for each in stuck)
    above = [
        *_headline(audit, counts, _overdue(stuck), undated, is_cleaned=not uncleaned),
        *_losses(tables, cluster),
        *_of_many(tables, cluster),
        *long_transactions(tables, cluster),
        *uncleaned,
        *groups_set_while_empty(tables, cluster),
        *_notes(audit),
        *map(Text, limits_text(capture_limits(tables, cluster))),
        *_dialect(tables, audit),
        *changed_text(audit.options.limits),
        *_not_upgradable(tables, cluster),
        *client_list(stuck),
    ]
    below = [*failing_list(failing, _FAILING_BESIDE_STUCK if stuck else _FAILING_SHOWN)]
    end = [Text(), *_since_last_run(tables, audit), *_data(tables, audit)]
    end += _next(tables, audit, [each.row.group_id for each in stuck] or list(failing))
    slowest = list(slowest_finished(tables, cluster))
    room = HEIGHT - len(above) - len(below) - len(end)
    # Two lines more than groups: a blank one and the titles. What is wrong now comes before what was slow.
    if stuck and failing and room - len(slowest) < 2 + len(stuck[:_STUCK_SHOWN]):
        slowest = []
    yield from above
    yield from stuck_list(stuck, min(_STUCK_SHOWN, len(stuck)), room - len(slowest))
    yield from [*below, *slowest, *end]


def _overdue(stuck: Sequence[Stuck]) -> int:
    """Return how many groups have been stuck for longer than the default limits of `kip848 check` allow."""
    settings = load_settings()
    rows = [each.row for each in stuck]
    return sum(is_overdue(row.group_id, row.limited_by, row.limited_ms, settings) for row in rows)


def _headline(
    audit: Audit, counts: Counter[str], overdue: int, undated: int, *, is_cleaned: bool
) -> Iterator[RenderableType]:
    """Nearly every capture has a group in the middle of a healthy rebalance: this alone is not critical.

    `undated`: how many stuck groups may be overdue, for it is not known since when they are stuck.
    """
    verdict, style = ("OK", "bold green") if counts.total() else ("NOTHING TO JUDGE", "bold yellow")
    if overdue:
        verdict, style = "CRITICAL", "bold red"
    elif audit.quarantined or not is_cleaned or any(counts[health] for health in _NOT_WELL):
        verdict, style = "WARNING", "bold yellow"
    captured = utc_text(audit.captured_at) if audit.captured_at else "an unknown time"
    headline = Text(verdict, style=style)
    headline.append(f"  {stuck_text(counts)}", style="default")
    if counts["stuck"]:
        headline.append(f", {', '.join(_for_how_long(counts['stuck'], overdue, undated))}", style="default")
    where = f"{printable(audit.options.cluster)}, captured {captured}"
    is_one_line = len(headline) + len(where) + 3 <= WIDTH
    yield headline.append(f"   {where}", style="default") if is_one_line else headline
    if not is_one_line:
        yield Text(where)
    if others := others_text(counts):
        yield Text(" · ".join(others))


def _for_how_long(stuck: int, overdue: int, undated: int) -> Iterator[str]:
    """Yield how many stuck groups are stuck for too long, and of how many that is not known."""
    if overdue or not undated:
        yield f"{'all' if overdue == stuck else f'{overdue:,}' if overdue else 'none'} for too long"
    if undated:
        yield f"{'all' if undated == stuck else f'{undated:,}'} for an unknown time"


def _dialect(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    """Name a dialect other than Kafka's own, and suggest another one if records do not decode."""
    if audit.dialect != KAFKA.name:
        yield Text(f"Read in the dialect {audit.dialect}")
    # For a copy the table holds this audit's rows only; for a live topic also those of earlier runs.
    if audit.options.dialect != AUTO and (audit.quarantined or audit.reads):
        (found,) = tables.rows(query("disputed"), audit.options.cluster)
        if found.failed:
            yield Text(f"{found.failed:,} rows do not decode in the dialect {audit.dialect}: try --dialect auto")


def _losses(tables: Tables, cluster: str) -> Iterator[RenderableType]:
    """Report the records that were lost, not compacted: one line for one partition, one for several."""
    lost = tables.rows(query("lost_records"), cluster)
    if not lost:
        return
    if len(lost) == 1:
        (row,) = lost
        first, last = row.first_lost_offset, row.last_lost_offset
        offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
        what = f"Partition {row.partition}: records at {offsets} were lost, not compacted"
    else:
        what = (
            f"Partitions {ranges_text([row.partition for row in lost])}: records were lost, not compacted (the table "
            "partition_history has their offsets)"
        )
    until = "until they are deleted or, for classic groups, complete another generation"
    yield Text(f"{what}; groups there are unknown from then on {until}")


def _of_many(tables: Tables, cluster: str) -> Iterator[RenderableType]:
    """Say that the topic got more partitions, or that groups are in several for no reason."""
    for row in tables.rows(query("troubles_of_many"), cluster):
        yield from map(Text, wrapped_lines(printable(row.sentence), WIDTH))


def _not_upgradable(tables: Tables, cluster: str) -> Iterator[RenderableType]:
    """Count the classic groups that cannot be upgraded to the consumer protocol, with the most frequent reason."""
    rows = tables.rows(query("not_upgradable"), cluster)
    refused = Counter[str]()
    for row in rows:
        for reason in (row.upgradable_reason or "").split(", "):
            refused[reason] += row.groups
    total = sum(row.groups for row in rows)
    upgradable = refused.pop("", 0)
    if refused:
        ((reason, _),) = refused.most_common(1)
        mostly = "mostly " if len(refused) > 1 else ""
        groups = count_text(total, "classic group")
        yield Text(f"{total - upgradable:,} of {groups} cannot be upgraded: {mostly}{reason.replace('_', ' ')}")


def _is_unproven(read: PartitionRead) -> bool:
    """Return whether a run read offsets for which `log.coverage` cannot prove that no record is missing."""
    if read.from_offset == read.until_offset or read.is_gapless:
        return False
    return read.first_repeated_key is None or read.first_repeated_key > read.from_offset


def _notes(audit: Audit) -> Iterator[RenderableType]:
    """Report unusual events: of the earlier run, and in the partitions of a live topic.

    One line covers all partitions with the same note.
    """
    if audit.resumed:
        yield Text("The previous run was interrupted: this run finished its work, and all tables are complete again")
    if unproven := [read.partition for read in audit.reads if _is_unproven(read)]:
        yield Text(
            f"{'Partition' if len(unproven) == 1 else 'Partitions'} {ranges_text(unproven)}: history is complete only "
            "from the first repeated key on; Kafka does not show whether compaction removed the offsets before it, or "
            "transaction markers occupy them"
        )
    if audit.skipped:
        yield Text(f"{audit.skipped:,} records of groups that Spark's own readers created are skipped")
    noted: dict[str, list[int]] = defaultdict(list)
    for read in audit.reads:
        if read.note:
            noted[read.note].append(read.partition)
    notes = [
        f"Partition {partitions[0]}: {note}" if len(partitions) == 1 else f"{len(partitions)} partitions: {note}"
        for note, partitions in noted.items()
    ]
    if len(notes) > _NOTES_SHOWN:
        notes = [notes[0], f"{len(notes) - 1:,} other notes are in the table audit_runs"]
    yield from map(Text, notes)


def slowest_finished(tables: Tables, cluster: str) -> Iterator[RenderableType]:
    """Yield the table of the finished rebalances that took longest."""
    slowest = tables.rows(query("slowest_finished"), cluster, slowest=_SLOWEST)
    if not slowest:
        return
    rows = [
        (
            printable(row.group_id),
            span_text(row.duration_ms),
            count_text(row.epochs, KINDS[row.group_type].step),
            causes_text((row.causes or ())[:2], row.group_type),
        )
        for row in slowest
    ]
    yield Text()
    yield from columns(("Slowest finished (one per group)", "total", "", ""), rows, left=1, text=(2, 3))


def _since_last_run(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    """Report the changes since the last run, by the default limits of `kip848 check`.

    After a run over a copy, which often is the same one again, only if something changed.
    """
    if audit.captured_at is None or (audit.run == 1 and not audit.reads):
        return
    changes = changes_since_last_run(tables, audit.options.cluster, load_settings())
    if audit.reads or changes.is_any or changes.settled:
        yield from map(Text, since_text("Since the last run, default limits", changes))


def _data(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    (history,) = tables.rows(query("incomplete_partitions"), audit.options.cluster)
    facts = [
        _records_text(sum(audit.records.values())),
        f"{audit.quarantined:,} undecodable",
        f"{history.incomplete:,} of {count_text(history.partitions, 'partition')} incomplete",
    ]
    yield Text(f"Data   {' · '.join(facts)}")
    commits = sum(audit.records.get(each, 0) for each in OFFSET_COMMIT_TYPES)
    if commits and not audit.options.offset_commits:
        yield Text(f"       {count_text(commits, 'offset commit')} not looked at (--offset-commits)")


def _records_text(count: int) -> str:
    return count_text(count, "record") if count < 10 * _MILLION else f"{count / _MILLION:,.1f} M records"


def _next(tables: Tables, audit: Audit, worst: Sequence[str]) -> Iterator[RenderableType]:
    out = audit.options.out
    named = location_arguments(out)
    if len(tables.runs()) > 1:
        named = f"{named} --cluster {shlex.quote(audit.options.cluster)}"
    commands = [f"kip848 check {named}"]
    if worst:
        commands.insert(0, f"kip848 explain {named} {_group_option(worst[0])}")
    for nth, command in enumerate(commands):
        yield Text(f"{'Next' if nth == 0 else '    '}   {printable(command)}")


def _group_option(group_id: str) -> str:
    return f"--group={shlex.quote(group_id)}" if group_id.startswith("-") else f"--group {shlex.quote(group_id)}"
