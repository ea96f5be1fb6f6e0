"""The groups that the summary of an audit lists: stuck ones, who blocks them, and those that fail over time."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from kip848_records.report.advice import client_text
from kip848_records.report.blockers import blocked_groups, incarnation_of
from kip848_records.report.diagnosis import pattern_text, subject_text
from kip848_records.report.sql import query
from kip848_records.report.terminal import span_text
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from kip848_records.queries.tables import Row, Tables
    from kip848_records.report.blockers import Blocked

_CLIENTS_SHOWN: Final = 3


class Stuck(NamedTuple):
    """A stuck group: its row of `stuck_groups.sql`, and the blocker of its open rebalance."""

    row: Row
    who: str | None
    client: str | None
    stuck_ms: int | None


def stuck_groups(tables: Tables, cluster: str) -> list[Stuck]:
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


def client_list(stuck: Sequence[Stuck]) -> Iterator[RenderableType]:
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
    yield from columns((f"Blocking clients{more}", "groups", "members waiting", "oldest"), rows, left=1)


def stuck_list(stuck: Sequence[Stuck], shown: int) -> Iterator[RenderableType]:
    """List the groups that are stuck for longest."""
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
    yield from columns((f"Stuck groups{more}", "stuck for", "ok", "blocked by", "waiting"), rows, left=1, text=(3,))


def failing_groups(tables: Tables, cluster: str) -> dict[str, Row]:
    """Return the groups that do not work well over time, the worst first, each with the worst of its troubles."""
    found: dict[str, Row] = {}
    for row in tables.rows(query("failing_groups"), cluster):
        found.setdefault(row.group_id, row)
    return found


def failing_list(failing: Mapping[str, Row], shown: int) -> Iterator[RenderableType]:
    """List groups that are stuck or not, but do not stay well: the page and `explain` say what to do."""
    if not failing:
        return
    rows = [
        (
            printable(group_id),
            span_text(row.failing_ms, is_minimum=row.at_least),
            f"{row.count:,}",
            pattern_text(row.pattern),
            subject_text(row.subject),
        )
        for group_id, row in islice(failing.items(), shown)
    ]
    more = f" ({len(rows)} of {len(failing):,})" if len(failing) > len(rows) else ""
    yield Text()
    yield from columns((f"Failing over time{more}", "for", "times", "", ""), rows, left=1, text=(3, 4))


def _at_least(millis: int | None) -> str:
    return "unknown" if millis is None else span_text(millis, is_minimum=True)


def columns(
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
