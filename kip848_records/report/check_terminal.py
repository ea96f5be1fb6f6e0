"""A verdict as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from kip848_records.report.terminal import count_text, text_table
from kip848_records.report.words import captures, checked, faults, more, sentence, violated
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from kip848_records.expectations.results import Result, Verdict

_SHOWN = 10


def check_terminal(verdict: Verdict) -> Iterator[RenderableType]:
    """Yield the parts, in order: all expectations, the violations of each, and the verdict as the last line."""
    for capture in captures(verdict):
        yield Text(printable(capture))
    yield Text()
    rows = [
        (result.name, result.status, f"{checked(result):,}", f"{violated(result):,}", f"{result.unknowns:,}")
        for result in verdict.results
    ]
    numbers = ("checked", "violations", "unknown")
    yield text_table("expectation", "status", *numbers, rows=rows, right=numbers)
    for result in verdict.results:
        if violated(result):
            yield from _violations(result, several_clusters=len(verdict.captured_at) > 1)
    for result in verdict.results:
        yield from (Text(f"\n{each.message}") for each in faults(result).values())
    yield Text(f"\n{sentence(verdict)}")


def _violations(result: Result, *, several_clusters: bool) -> Iterator[RenderableType]:
    count = count_text(violated(result), "violation")
    yield Text(f"\n{printable(result.name)}, {count}: {printable(result.description)}")
    shown = result.violations[:_SHOWN]
    rows = [
        (
            *((found.cluster,) if several_clusters else ()),
            found.severity,
            found.group_id,
            found.group_epoch,
            found.member_id,
            found.partition,
            found.offset,
            found.message,
        )
        for found in shown
    ]
    clusters = ("cluster",) if several_clusters else ()
    numbers = ("epoch", "partition", "offset")
    titles = (*clusters, "severity", "group", "epoch", "member", "partition", "offset", "violation")
    yield text_table(*titles, rows=rows, right=numbers)
    if rest := more(violated(result), shown):
        yield Text(rest)
