"""A verdict as text for a terminal: what is violated first, the worst first; what passed is one line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.expectations.results import NOT_APPLICABLE, PASS, UNKNOWN, WARN
from kip848_records.report.terminal import JOINT, wrapped_lines
from kip848_records.report.words import (
    SAID,
    captures,
    counts,
    more,
    place,
    reason,
    reasons,
    sentence,
    with_advice_once,
)
from kip848_records.text import WIDTH, count_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.expectations.results import Finding, Result, Verdict
    from kip848_records.report.headline import Headline

_SHOWN: Final = 10
_UNKNOWN_SHOWN: Final = 3
"""So many expectations with unknown results say why; more of them have one cause, as if part of a log was not read."""
_WORST_FIRST: Final = tuple(SAID)
_INDENT: Final = "  "


def check_terminal(
    verdict: Verdict,
    width: int = WIDTH,
    *,
    is_verbose: bool = False,
    heads: Mapping[str, Headline] | None = None,
) -> Iterator[Text]:
    """Yield the lines, at most `width` characters long unless an id alone is longer; the last one is the verdict.

    `heads`: those of `headline.headlines`. `is_verbose`: each expectation that passed has a line, with
    how much it checked, and each with unknown results, or that is not applicable, says why. One that the user named
    always says why it is not applicable, and the only one what passed.
    """
    several = len(verdict.captured_at) > 1
    for capture in captures(verdict, {cluster: head.lines for cluster, head in (heads or {}).items()}):
        yield from _wrapped(printable(capture), width)
    # A pass of the only expectation is an answer, and says to what.
    is_only = len(verdict.results) == 1
    passed = [result for result in verdict.results if result.status == PASS and not is_only]
    folded = [] if is_verbose else _folded(verdict)
    nothing = [result for result in verdict.results if result.status == NOT_APPLICABLE]
    shown_below = [*passed, *nothing, *folded]
    worse = [result for result in verdict.results if result not in shown_below]
    for result in sorted(worse, key=lambda each: (_WORST_FIRST.index(each.status), -each.errors, -each.warnings)):
        yield Text()
        for text, depth in _of(result, several_clusters=several):
            yield from _wrapped(text, width, depth)
    if folded:
        yield Text()
        names = ", ".join(printable(result.name) for result in folded)
        yield from _wrapped(f"UNKNOWN  {count_text(len(folded), 'expectation')}: {names}  (--verbose says why)", width)
    if passed:
        yield Text()
        rest = "" if is_verbose else "  (--verbose lists them)"
        yield from _wrapped(f"PASS  {count_text(len(passed), 'expectation')}{rest}", width)
        for result in passed if is_verbose else ():
            said = [f"{result.checked:,} checked", *result.without, *reasons(result)]
            yield from _wrapped(printable(f"{result.name}: {'; '.join(said)}"), width, 1)
    if nothing:
        yield Text()
        yield from _nothing(nothing, width, is_verbose=is_verbose)
    yield Text()
    yield from _wrapped(sentence(verdict), width)


def _folded(verdict: Verdict) -> list[Result]:
    """Return the expectations with unknown results of which only the names are shown."""
    unknown = [result for result in verdict.results if result.status == UNKNOWN and not result.faults]
    return unknown if len(unknown) > _UNKNOWN_SHOWN else []


def _nothing(results: Sequence[Result], width: int, *, is_verbose: bool) -> Iterator[Text]:
    """Yield the expectations that checked nothing: why, if the user named one, or can change it."""
    rest = "" if is_verbose else "  (--verbose says why)"
    yield from _wrapped(f"NOT APPLICABLE  {count_text(len(results), 'expectation')} checked nothing{rest}", width)
    named = [result for result in results if is_verbose or result.is_named]
    for result in named:
        yield from _wrapped(printable(f"{result.name}: {'; '.join(reasons(result))}"), width, 1)
    avoidable = Counter(
        reason(each)
        for result in results
        if result not in named
        for each in {*result.not_applicable.values()}
        if each.way_out is not None
    )
    for text, count in avoidable.items():
        yield from _wrapped(printable(f"{count:,}: {text}"), width, 1)


def _of(result: Result, *, several_clusters: bool) -> Iterator[tuple[str, int]]:
    """Yield the lines about an expectation that did not pass, or the only one, each with how far it is indented."""
    yield f"{result.status.upper()}  {printable(result.name)}, {counts(result)}: {printable(result.description)}", 0
    shown = with_advice_once(result.violations[:_SHOWN])
    for each in shown:
        # A limit of some groups may be an error, and the same limit of others a warning.
        is_milder = each.severity == WARN != result.status
        yield from _finding(each, WARN if is_milder else None, several_clusters=several_clusters)
    if rest := more(result.violated, shown):
        yield rest, 1
    if result.status == UNKNOWN and result.unknown:
        yield from _finding(result.unknown[0], None, several_clusters=several_clusters)
        if result.unknowns > 1:
            yield f"and {result.unknowns - 1:,} more", 1
    yield from ((printable(each.message), 1) for each in result.faults.values())
    if result.status == PASS:
        yield from ((printable(text), 1) for text in (*result.without, *reasons(result)))


def _finding(found: Finding, severity: str | None, *, several_clusters: bool) -> Iterator[tuple[str, int]]:
    names = [*([found.cluster] if several_clusters else []), *([] if found.group_id is None else [found.group_id])]
    named = ", ".join(printable(each).replace(" ", JOINT) for each in names)
    parts = [*([severity] if severity else []), *([named] if named else []), printable(found.message)]
    yield ": ".join(parts), 1
    if where := ", ".join(printable(each).replace(" ", JOINT) for each in place(found)):
        yield where, 2


def _wrapped(text: str, width: int, depth: int = 0) -> Iterator[Text]:
    """Yield the lines of a text; an id is never cut."""
    yield from map(Text, wrapped_lines(text, width, _INDENT * depth, _INDENT * (depth + 1)))
