"""The summary of an audit, in thirty lines for a terminal: first the stuck groups and their blockers."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from kip848_records.config import load_settings
from kip848_records.expectations.captures import capture_limits
from kip848_records.kinds import KINDS
from kip848_records.protocol.messages import AUTO, KAFKA
from kip848_records.queries.wording import HEALTH, causes_text
from kip848_records.report.advice import client_text
from kip848_records.report.blockers import blocked_groups, incarnation_of
from kip848_records.report.changes import changes_since_last_run
from kip848_records.report.commits_only import commits_only_count
from kip848_records.report.sql import query
from kip848_records.report.terminal import count_text, ranges_text, span_text
from kip848_records.report.words import limits_text
from kip848_records.tables.location import place_arguments
from kip848_records.text import printable
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from kip848_records.log.runs import PartitionRead
    from kip848_records.pipeline.options import Audit
    from kip848_records.queries.tables import Row, Tables
    from kip848_records.report.blockers import Blocked

WIDTH: Final = 80
HEIGHT: Final = 30
_STUCK_SHOWN: Final = 10
_CLIENTS_SHOWN: Final = 3
_NOTES_SHOWN: Final = 2
_MILLION: Final = 1_000_000


class Stuck(NamedTuple):
    """A stuck group: its row of `stuck_groups.sql`, and the blocker of its open rebalance."""

    row: Row
    who: str | None
    client: str | None
    stuck_ms: int | None


def summary(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    """Yield the parts of the summary, in order: 30 lines of 80 columns, wider only if an id needs it."""
    cluster = audit.options.cluster
    (counts,) = tables.rows(query("summary_counts"), cluster)
    stuck = _stuck(tables, cluster)
    above = [
        *_headline(audit, counts, commits_only_count(tables, audit)),
        *_losses(tables, cluster),
        *_notes(audit),
        *map(Text, limits_text(capture_limits(tables, cluster))),
        *_dialect(tables, audit),
        *_not_upgradable(tables, cluster),
        *_clients(stuck),
    ]
    below = [*_slowest(tables, cluster), Text(), *_since_last_run(tables, audit), *_data(tables, audit)]
    below += _next(tables, audit, stuck)
    yield from above
    # The list of groups is preceded by a blank line and the titles.
    yield from _groups(stuck, min(_STUCK_SHOWN, HEIGHT - len(above) - len(below) - 2))
    yield from below


def _headline(audit: Audit, counts: Row, commits_only: int) -> Iterator[RenderableType]:
    verdict, style = ("CRITICAL", "bold red") if counts.stuck else ("OK", "bold green")
    if verdict == "OK" and (counts.away or counts.unknown or audit.quarantined):
        verdict, style = "WARNING", "bold yellow"
    captured = utc_text(audit.captured_at) if audit.captured_at else "an unknown time"
    headline = Text(verdict, style=style)
    headline.append(f"  {counts.stuck:,} of {count_text(counts.groups, 'group')} stuck", style="default")
    where = f"{printable(audit.options.cluster)}, captured {captured}"
    is_one_line = len(headline) + len(where) + 3 <= WIDTH
    yield headline.append(f"   {where}", style="default") if is_one_line else headline
    if not is_one_line:
        yield Text(where)
    numbers = counts._asdict()
    shown = [health for health in HEALTH if health == "healthy" or (health != "stuck" and numbers.get(health))]
    others = [f"{numbers[health]:,} {HEALTH[health]}" for health in shown]
    others += [f"{commits_only:,} empty with commits only"] if commits_only else []
    yield Text(" · ".join(others))


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


def _stuck(tables: Tables, cluster: str) -> list[Stuck]:
    """Return the stuck groups, those stuck for longest first."""
    blocked = blocked_groups(tables, cluster)
    found = []
    for row in tables.rows(query("stuck_groups"), cluster):
        who, client = _blocker(blocked.get(incarnation_of(row)))
        found.append(Stuck(row, who, client, row.stuck_ms))
    return found


def _blocker(blocked: Blocked | None) -> tuple[str | None, str | None]:
    """Return who blocks a group, a member or a worker that left, and its client id."""
    if blocked is None:
        return None, None
    advice, worst = blocked.advice, blocked.worst
    if worst is None:
        return advice.who or f"({advice.pattern.replace('_', ' ')})", None
    client = worst["client_id"] or advice.who
    return client_text(worst["client_id"], worst["client_host"]) or advice.who, client


def _clients(stuck: Sequence[Stuck]) -> Iterator[RenderableType]:
    """List the clients that block groups, by client id and host, those with most groups first."""
    by_client: dict[str, list[Stuck]] = defaultdict(list)
    for each in stuck:
        if each.client is not None and each.who is not None:
            by_client[each.who].append(each)
    if not by_client:
        return
    ordered = sorted(by_client.items(), key=lambda item: (-len(item[1]), -sum(e.row.waiting for e in item[1]), item[0]))
    rows = [
        (
            who,
            f"{len(of):,}",
            f"{sum(e.row.waiting for e in of):,}",
            _at_least(max((e.stuck_ms for e in of if e.stuck_ms is not None), default=None)),
        )
        for who, of in ordered[:_CLIENTS_SHOWN]
    ]
    more = f" ({_CLIENTS_SHOWN} of {len(ordered):,})" if len(ordered) > _CLIENTS_SHOWN else ""
    yield Text()
    yield from _columns((f"Blocking clients{more}", "groups", "members waiting", "oldest"), rows, left=1)


def _groups(stuck: Sequence[Stuck], shown: int) -> Iterator[RenderableType]:
    if not stuck:
        return
    more = f" ({shown} of {len(stuck):,})" if len(stuck) > shown else ""
    rows = [
        (
            printable(each.row.group_id),
            "" if each.stuck_ms is None else _at_least(each.stuck_ms),
            "?" if each.row.converged_members is None else f"{each.row.converged_members}/{each.row.members}",
            each.who or "",
            f"{each.row.waiting:,}",
        )
        for each in stuck[:shown]
    ]
    yield Text()
    yield from _columns((f"Stuck groups{more}", "stuck for", "ok", "blocked by", "waiting"), rows, left=1, text=(3,))


def _at_least(millis: int | None) -> str:
    return "unknown" if millis is None else span_text(millis, is_minimum=True)


def _slowest(tables: Tables, cluster: str) -> Iterator[RenderableType]:
    slowest = tables.rows(query("slowest_finished"), cluster)
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
    yield from _columns(("Slowest finished (one per group)", "total", "", ""), rows, left=1, text=(2, 3))


def _since_last_run(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    """Report the changes since the last run over a live topic, by the default limits of `kip848 check`."""
    if not audit.reads or audit.captured_at is None:
        return
    changes = changes_since_last_run(tables, audit.options.cluster, audit.run, audit.captured_at, load_settings())
    if not changes.is_first:
        unknown = f", {len(changes.unknown):,} unknown" if changes.unknown else ""
        overdue, recovered = f"{len(changes.newly_overdue):,} newly overdue", f"{len(changes.recovered):,} recovered"
        yield Text(f"Since the last run, default limits: {overdue}, {recovered}{unknown}")


def _data(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    (history,) = tables.rows(query("incomplete_partitions"), audit.options.cluster)
    facts = [
        _records_text(sum(audit.records.values())),
        f"{audit.quarantined:,} undecodable",
        f"{history.incomplete:,} of {count_text(history.partitions, 'partition')} incomplete",
    ]
    yield Text(f"Data   {' · '.join(facts)}")


def _records_text(count: int) -> str:
    return count_text(count, "record") if count < 10 * _MILLION else f"{count / _MILLION:,.1f} M records"


def _next(tables: Tables, audit: Audit, stuck: Sequence[Stuck]) -> Iterator[RenderableType]:
    out = audit.options.out
    named = place_arguments(out)
    if len(tables.runs()) > 1:
        named = f"{named} --cluster {shlex.quote(audit.options.cluster)}"
    commands = [f"kip848 check {named}"]
    if stuck:
        commands.insert(0, f"kip848 explain {named} {_group_option(stuck[0].row.group_id)}")
    for nth, command in enumerate(commands):
        yield Text(f"{'Next' if nth == 0 else '    '}   {printable(command)}")


def _group_option(group_id: str) -> str:
    return f"--group={shlex.quote(group_id)}" if group_id.startswith("-") else f"--group {shlex.quote(group_id)}"


def _columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, left: int, text: Sequence[int] = ()
) -> Iterator[RenderableType]:
    """Yield a title line and rows as columns: the first `left` and those in `text` are left-aligned."""
    indented = [(f"  {row[0]}", *row[1:]) for row in rows]
    widths = [max(len(row[n]) for row in (titles, *indented)) for n in range(len(titles))]
    for nth, row in enumerate((titles, *indented)):
        cells = [
            cell.ljust(width) if n < left or n in text else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield Text("  ".join(cells).rstrip(), style="bold" if nth == 0 else "")
