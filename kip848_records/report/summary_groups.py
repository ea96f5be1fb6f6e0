"""The groups that the summary of an audit lists: stuck ones, who blocks them, and those that fail over time."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from kip848_records.report.diagnosis import OF_PARTITIONS, counted_text, pattern_text, subject_text
from kip848_records.report.sql import query
from kip848_records.report.terminal import wrapped_lines
from kip848_records.text import WIDTH, client_text, printable, span_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from kip848_records.queries.tables import Row, Tables

_CLIENTS_SHOWN: Final = 3
_INDENT: Final = "  "


class Stuck(NamedTuple):
    """A stuck group: its row of `stuck_groups.sql`, who blocks its open rebalance in words, and each by name."""

    row: Row
    who: str | None
    clients: Sequence[str]
    stuck_ms: int | None


def stuck_groups(tables: Tables, cluster: str) -> list[Stuck]:
    """Return the stuck groups, those stuck for longest first."""
    rows = tables.rows(query("stuck_groups"), cluster)
    return [Stuck(row, *_blocker(row.blocker), row.stuck_ms) for row in rows]


def _blocker(blocker: Mapping[str, Any] | None) -> tuple[str | None, Sequence[str]]:
    """Return who blocks a group, a member, a client over time or workers that left, and each of them by name."""
    if blocker is None:
        return None, ()
    if blocker["who"] is None:
        return f"({blocker['pattern'].replace('_', ' ')})", ()
    if workers := blocker["workers"]:
        return blocker["who"], [f"worker {printable(each)}" for each in workers if each is not None]
    who = client_text(blocker["client_id"], blocker["client_host"]) or blocker["who"]
    return who, [who]


def client_list(stuck: Sequence[Stuck]) -> Iterator[RenderableType]:
    """List the clients that block groups, all that `stuck_list` names, those that have blocked for longest first."""
    by_client: dict[str, list[Stuck]] = defaultdict(list)
    for each in stuck:
        for client in each.clients:
            by_client[client].append(each)
    if not by_client:
        return
    ordered = sorted(by_client.items(), key=_harm)
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


def _harm(client: tuple[str, Sequence[Stuck]]) -> tuple[float, int, int, str]:
    """Return what sorts clients: for how long they block, an unknown time first, then how many members and groups."""
    who, blocked = client
    ages = [each.stuck_ms for each in blocked if each.stuck_ms is not None]
    waiting = sum(each.row.waiting for each in blocked)
    return -max(ages, default=inf), -waiting, -len(blocked), who


def stuck_list(stuck: Sequence[Stuck], shown: int, height: int) -> Iterator[RenderableType]:
    """List the groups that are stuck for longest: at most `shown`, and as many as `height` lines hold, at least one."""
    lines = list(_stuck_lines(stuck, shown))
    while shown > 1 and len(lines) > height:
        shown -= 1
        lines = list(_stuck_lines(stuck, shown))
    yield from lines


def _stuck_lines(stuck: Sequence[Stuck], shown: int) -> Iterator[RenderableType]:
    if not stuck:
        return
    more = f" ({shown} of {len(stuck):,})" if len(stuck) > shown else ""
    rows = [
        (
            printable(each.row.group_id),
            _at_least(each.stuck_ms),
            "?" if each.row.converged_members is None else f"{each.row.converged_members}/{each.row.members}",
            f"{each.row.waiting:,}",
            each.who or "",
        )
        for each in stuck[:shown]
    ]
    yield Text()
    yield from columns((f"Stuck groups{more}", "stuck for", "ok", "waiting", "blocked by"), rows, left=1, text=(4,))


def failing_groups(tables: Tables, cluster: str) -> dict[str, Row]:
    """Return the groups that do not work well over time, the worst first, each with the worst of its troubles."""
    found: dict[str, Row] = {}
    for row in tables.rows(query("failing_groups"), cluster):
        found.setdefault(row.group_id, row)
    return found


def failing_list(failing: Mapping[str, Row], shown: int) -> Iterator[RenderableType]:
    """List groups that are not stuck, but do not stay well: the page and `explain` say what to do."""
    if not failing:
        return
    rows = [
        (
            printable(group_id),
            span_text(row.failing_ms, is_minimum=row.at_least),
            counted_text(row.pattern, row.count) if row.pattern in OF_PARTITIONS else f"{row.count:,}",
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
    """Yield a title line and rows as columns of at most 80 cells.

    The first `left` columns and those in `text` are left-aligned. A first cell that leaves no room has a line of its
    own, and so has a last one in `text` that does not fit. No cell is cut: one that is wider makes its line wider.
    """
    indented = [tuple(titles), *((f"{_INDENT}{row[0]}", *row[1:]) for row in rows)]
    end = len(titles) - 1 if len(titles) - 1 in text else len(titles)
    widths = [max(cell_len(row[n]) for row in indented) for n in range(end)]
    room = WIDTH - sum(width + len(_INDENT) for width in widths[1:])
    widths[0] = max((cell_len(row[0]) for row in indented if cell_len(row[0]) <= room), default=0)
    for nth, row in enumerate(indented):
        style = "bold" if nth == 0 else ""
        first = row[0]
        if cell_len(first) > widths[0]:
            yield Text(first, style=style)
            first = ""
        cells = [
            _padded(cell, width, is_left=n < left or n in text)
            for n, (cell, width) in enumerate(zip((first, *row[1:end]), widths, strict=True))
        ]
        line, last = _INDENT.join(cells), _INDENT.join(row[end:])
        if cell_len(line) + len(_INDENT) + cell_len(last) <= WIDTH:
            yield Text(f"{line}{_INDENT}{last}".rstrip(), style=style)
        else:
            yield Text(line.rstrip(), style=style)
            lines = wrapped_lines(last, WIDTH, _INDENT * 2, _INDENT * 2)
            yield from (Text(each, style=style) for each in lines)


def _padded(cell: str, width: int, *, is_left: bool) -> str:
    """Return a cell with spaces up to a width; some characters take two cells."""
    space = " " * (width - cell_len(cell))
    return cell + space if is_left else space + cell
