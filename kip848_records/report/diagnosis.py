"""What has been wrong with a group over time, as text for a terminal: the rows of `diagnosis`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.replay.diagnosis.limits import limits_of
from kip848_records.replay.diagnosis.patterns import changed_patterns
from kip848_records.report.terminal import wrapped
from kip848_records.report.words import said_above
from kip848_records.tables.location import query_command
from kip848_records.text import client_text, count_text, names_text, printable, span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.replay.inputs import ChangedLimit
    from kip848_records.report.group_history import GroupHistory

OF_PARTITIONS: Final = (
    "not_consumed",
    "blocked_by_transaction",
    "offsets_lost",
    "negative_offsets",
    "client_retention",
)
"""The patterns that count partitions, not how often something happened."""

_ALL: Final = "SELECT * FROM diagnosis"
TROUBLES_SHOWN: Final = 5
_SUBJECT: Final = (
    *("partition", "pattern", "client_id", "client_host", "instance_id", "member_id", "what", "regex", "topics"),
)


def own_troubles(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the troubles that no other one explains, of those with one subject the first.

    `rows`: those of the section. `others`: how often it came besides, `since_ms`: since when.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if row["explained_by"] is None:
            first = found.setdefault(
                tuple(row[name] for name in _SUBJECT), row | {"others": -1, "since_ms": row["first_ms"]}
            )
            first["others"] += 1
            first["since_ms"] = min(filter(None, (first["since_ms"], row["first_ms"])), default=None)
    return list(found.values())


def diagnosis(group: GroupHistory, troubles: Sequence[dict[str, Any]]) -> Iterator[Text]:
    """Yield what is wrong with a group, or was: what is present first, then the worst. Nothing if nothing is known."""
    said: set[str] = set()
    for row in troubles[:TROUBLES_SHOWN]:
        yield Text("")
        yield wrapped(printable(row["sentence"]))
        yield wrapped(printable(said_above(row["next_step"], said) or row["next_step"]), "  next     ")
        others = (
            f"; {count_text(row['others'], 'other time')} since {time_text(row['since_ms'])}" if row["others"] else ""
        )
        yield wrapped(f"{pattern_text(row['pattern'])} ({row['severity']}); {when_text(row)}{others}", "  ")
    if len(troubles) > TROUBLES_SHOWN:
        more = count_text(len(troubles) - TROUBLES_SHOWN, "more trouble")
        yield Text(f"\nand {more}: {query_command(group.shown, _ALL)}")
    off = list(off_text(group.changed_limits, group.group_id))
    if off:
        yield from (Text(""), *off)


def when_text(row: Mapping[str, Any]) -> str:
    """Return since when there is a trouble, or from when to when it was there, and what it cost."""
    if row["is_present"]:
        lasted = span_text(row["lasts_ms"], is_minimum=row["at_least"])
        when = f"since {time_text(row['first_ms'])}{f', for {lasted}' if lasted else ''}, and still so at capture"
    else:
        when = f"{time_text(row['first_ms'])} to {time_text(row['last_ms'])}, over since then"
    is_worth = row["cost_share"] is not None and row["cost_share"] >= 0.01  # noqa: PLR2004 - a percent
    return f"{when}; it cost {row['cost_share']:.0%} of the group's work" if is_worth else when


def counted_text(pattern: str, count: int) -> str:
    """Return what the `count` of a row of `diagnosis` counts: 8 times, or 4 partitions."""
    return count_text(count, "partition" if pattern in OF_PARTITIONS else "time")


def pattern_text(pattern: str) -> str:
    """Return a pattern in words."""
    return pattern.replace("_", " ")


def subject_text(subject: dict[str, Any]) -> str:
    """Return whom a row is about, for a narrow cell; empty if it is the whole group."""
    if subject["instance_id"] is not None:
        return printable(subject["instance_id"])
    named = client_text(subject["client_id"], subject["client_host"])
    return named or printable(subject["what"] or subject["regex"] or ", ".join(subject["topics"] or ()))


def changed_text(changes: Sequence[ChangedLimit]) -> Iterator[Text]:
    """Yield a line that names the patterns whose limits are not the defaults; none if all are."""
    if changes:
        patterns = [pattern.replace("_", " ") for pattern in changed_patterns(changes)]
        yield Text(f"Diagnosis with limits of your own (table audit_runs): {names_text(patterns, 1)}")


def off_text(changes: Sequence[ChangedLimit], group_id: str) -> Iterator[Text]:
    """Yield a line that names the patterns of which a group gets no rows; none if it gets all."""
    if off := sorted(limits_of(changes, group_id).off):
        patterns = ", ".join(pattern.replace("_", " ") for pattern in off)
        yield wrapped(f"Switched off for this group, so not shown: {patterns}")
