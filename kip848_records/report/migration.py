"""What `kip848 explain` adds for a group that was converted: its rebalances before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.machine.paths import with_page_paths
from kip848_records.report.terminal import fitted_table
from kip848_records.text import span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory

COMPARISON_LIMIT: Final = (
    "Do not compare the time without an owner between protocols: a classic group hides its join phase"
)
_PAGE: Final = "docs/groups/migration.md"


def conversions(group: GroupHistory) -> Iterator[Text]:
    """Yield a table with a row for each change of the group's protocol; nothing for a group that kept its protocol."""
    rows = sorted(group.rows("migrations"), key=lambda row: (row.at_ms or 0, row.at_offset))
    if not rows:
        return
    total = rows[0].total
    cut = f", the {len(rows)} of {total:,} that mixed protocols for longest" if total > len(rows) else ""
    yield Text(f"\nChanges of the protocol{cut}:")
    cells = [
        (
            time_text(row.at_ms),
            row.direction.replace("_", " "),
            row.from_type,
            row.to_type,
            row.epoch,
            row.converted,
            _mixed_until(row),
        )
        for row in rows
    ]
    titles = ("at", "change", "from", "to", "epoch or generation", "members converted", "both protocols until")
    yield from fitted_table(*titles, rows=cells, right=titles[4:6])


def _mixed_until(row: Row) -> str:
    if row.direction != "upgrade":
        return ""
    return "capture" if row.mixed_until_ms is None else time_text(row.mixed_until_ms)


def before_and_after(group: GroupHistory) -> Iterator[Text]:
    """Yield a table with a row for each period of one protocol; nothing for a group that kept its protocol."""
    rows = group.rows("before_and_after") if len(group.rows("protocols")) > 1 else []
    rows = sorted(rows, key=lambda row: (row.from_ms or 0, row.from_offset))
    if not rows:
        return
    total = rows[0].total
    cut = f", the {len(rows)} of {total:,} periods with most time without an owner" if total > len(rows) else ""
    yield Text(f"\nBefore and after{cut}:")
    cells = [
        (
            row.protocol,
            time_text(row.from_ms),
            span_text(row.observed_ms),
            _counted(row, row.rebalances),
            _counted(row, row.rounds),
            row.rebalances_per_hour,
            _counted(row, row.partitions_moved),
            _counted(row, row.partitions_stopped),
            span_text(row.unowned_min_partition_ms, is_minimum=True),
        )
        for row in rows
    ]
    titles = (
        "protocol",
        "from",
        "observed",
        "rebalances",
        "rounds",
        "per hour",
        "moved",
        "stopped",
        "without an owner (sum of partitions)",
    )
    yield from fitted_table(*titles, rows=cells, right=titles[2:])
    yield from _stops(rows)
    yield Text(f"\n{COMPARISON_LIMIT}. See {with_page_paths(_PAGE)}")


def _counted(row: Row, count: int | None) -> str:
    """Return a number of what the log shows of a period: at least, if compaction removed a part of it."""
    if count is None:
        return "?"
    return f"≥ {count:,}" if row.history in {"left_censored", "censored"} else f"{count:,}"


def _stops(rows: Sequence[Row]) -> Iterator[Text]:
    """Yield how long partitions stopped, if offset commits were read."""
    if all(row.stop_known is None for row in rows):
        return
    yield Text("\nStop of consumption, an estimate by offset commits:")
    cells = [
        (
            row.protocol,
            time_text(row.from_ms),
            f"{row.stop_known or 0:,}",
            *(
                f"≤ {span_text(each)}" if each is not None and each >= 0 else span_text(each)
                for each in (row.stop_max_p50_ms, row.stop_max_p95_ms)
            ),
        )
        for row in rows
    ]
    yield from fitted_table("protocol", "from", "stops", "median", "p95", rows=cells, right=("stops", "median", "p95"))
