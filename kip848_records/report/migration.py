"""What is told of a group that was converted: the changes of its protocol, and its rebalances before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.report.told import AT_LEAST, AT_MOST, NUMBER, SPAN, TIME, Column, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Fields = Mapping[str, Any]


def _of(name: str) -> Callable[[Fields], Any]:
    return lambda row: row[name]


def _mixed_until(row: Fields) -> int | str | None:
    if row["direction"] != "upgrade":
        return None
    return "capture" if row["mixed_until_ms"] is None else row["mixed_until_ms"]


def _counted(name: str) -> Callable[[Fields], str]:
    """Return what counts what the log shows of a period: at least, if compaction removed a part of it."""

    def text(row: Fields) -> str:
        if row[name] is None:
            return "?"
        return f"{'≥ ' if row['history'] in {'left_censored', 'censored'} else ''}{row[name]:,}"

    return text


CONVERSIONS: Final = Told(
    "migrations",
    "Changes of the protocol",
    "that mixed protocols for longest",
    (
        Column("at", _of("at_ms"), TIME),
        Column("change", lambda row: row["direction"].replace("_", " ")),
        Column("from", _of("from_type")),
        Column("to", _of("to_type")),
        Column("epoch or generation", _of("epoch"), NUMBER),
        Column("members converted", _of("converted"), NUMBER),
        Column("both protocols until", _mixed_until, TIME),
    ),
)
BEFORE_AND_AFTER: Final = Told(
    "periods",
    "Before and after",
    "periods with most time without an owner",
    (
        Column("protocol", _of("protocol")),
        Column("from", _of("from_ms"), TIME),
        Column("observed", _of("observed_ms"), SPAN),
        Column("rebalances", _counted("rebalances"), NUMBER),
        Column("rounds", _counted("rounds"), NUMBER),
        Column("per hour", _of("rebalances_per_hour"), NUMBER, "minor"),
        Column("moved", _counted("partitions_moved"), NUMBER),
        Column("stopped", _counted("partitions_stopped"), NUMBER),
        Column("without an owner (sum of partitions)", _of("unowned_min_partition_ms"), AT_LEAST),
        Column("stops estimated by offset commits", _of("stop_known"), NUMBER, "minor", is_optional=True),
        Column("median stop", _of("stop_max_p50_ms"), AT_MOST, "minor", is_optional=True),
        Column("95% of stops", _of("stop_max_p95_ms"), AT_MOST, "minor", is_optional=True),
    ),
    note="Do not compare the time without an owner between protocols: a classic group hides its join phase",
    page="docs/groups/migration.md",
)
TOLD: Final = {each.name: each for each in (CONVERSIONS, BEFORE_AND_AFTER)}
"""The sections by the names of their rows."""
