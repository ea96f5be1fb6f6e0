"""How answers look in a terminal: tables, times and ids that are never cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from rich import box
from rich.table import Table
from rich.text import Text

from kip848_records.text import printable
from kip848_records.timeline.censoring import CENSORED
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, Row

_IDS_SHOWN = 3
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


def text_table(*titles: str, rows: Iterable[tuple[object, ...]], right: tuple[str, ...] = ()) -> Table:
    """Return a table; the columns named in `right` are aligned to that side. None is an empty cell."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="")
    for title in titles:
        table.add_column(title, justify="right" if title in right else "left", no_wrap=True)
    for row in rows:
        # Text, not str: a group id may look like markup.
        table.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    return table


def member_table(rows: Iterable[Row], *first: str) -> Table:
    """Return a table of rows of `rebalance_lag`, with further columns of theirs in front."""
    cells = [
        (
            *(row[name] for name in first),
            row.member_id,
            row.client_id,
            row.client_host,
            ms_text(row.lag_ms),
            ms_text(row.revoke_ms),
            ms_text(row.wait_ms),
            row.status,
            ids_text(row.blocked_by),
        )
        for row in rows
    ]
    named = tuple(name.removesuffix("_id").replace("group_epoch", "epoch") for name in first)
    numbers = ("epoch", "lag", "revoking", "waiting")
    titles = (*named, "member", "client id", "host", "lag", "revoking", "waiting", "status", "blocked by")
    return text_table(*titles, rows=cells, right=numbers)


def with_ms(rows: DataFrame, *columns: str) -> DataFrame:
    """Add times in ms since 1970: PySpark hands times to Python in the driver's own time zone."""
    return rows.withColumns({f"{column}_ms": F.unix_millis(column) for column in columns})


def time_text(millis: int | None) -> str:
    """Return a time in ms since 1970 for people."""
    return "" if millis is None else utc_text(utc(millis))


def since_text(state: Row) -> str:
    """Return since when a group of `group_state` is in its state; where compaction hides that, "or before"."""
    return time_text(state.since_ms) + (" or before" if state.history == CENSORED else "")


def ms_text(millis: int | None) -> str:
    """Return a number of ms as it is: what is compared must not be rounded."""
    return "" if millis is None else f"{millis:,} ms"


def duration_text(millis: int | None) -> str:
    """Return a time span in its two largest units; nothing if it is negative, for then two clocks differ."""
    if millis is None or millis < 0:
        return ""
    units = ((millis // _DAY, "d"), (millis // _HOUR % 24, "h"), (millis // _MINUTE % 60, "min"))
    shown = [f"{count} {unit}" for count, unit in (*units, (millis // _SECOND % 60, "s")) if count][:2]
    return " ".join(shown) or "0 s"


def ids_text(ids: Sequence[str] | None) -> str:
    """Return some ids in full, and how many more there are."""
    named = ", ".join((ids or ())[:_IDS_SHOWN])
    more = len(ids or ()) - _IDS_SHOWN
    return f"{named} and {more:,} more" if more > 0 else named


def ranges_text(numbers: Iterable[int]) -> str:
    """Return numbers such as partitions, neighbours as ranges: 0-3, 7."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def count_text(count: int, what: str) -> str:
    """Return a number of things: 1 group, 2 groups."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
