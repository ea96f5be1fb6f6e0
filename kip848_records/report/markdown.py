"""A verdict as Markdown, for the summary of a GitHub job or a comment on a pull request.

Values from the log are written as code, in which GitHub interprets no mentions, references, links or emoji.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kip848_records.expectations.results import FAIL, FAULT, NOT_APPLICABLE, PASS, UNKNOWN, WARN
from kip848_records.report.words import (
    SAID,
    captures,
    counts,
    more,
    overall,
    position,
    reasons,
    sentence,
    with_advice_once,
)
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.expectations.results import Finding, Result, Verdict

_SHOWN = 20
_SIGNS: Final = {
    FAULT: "\N{COLLISION SYMBOL}",
    FAIL: "\N{CROSS MARK}",
    WARN: "\N{WARNING SIGN}\N{VARIATION SELECTOR-16}",
    UNKNOWN: "\N{WHITE QUESTION MARK ORNAMENT}",
    PASS: "\N{WHITE HEAVY CHECK MARK}",
    NOT_APPLICABLE: "\N{EN DASH}",
}
_SEVERITIES: Final = {"error": f"{_SIGNS[FAIL]} error", "warn": f"{_SIGNS[WARN]} warning"}


def markdown(verdict: Verdict) -> str:
    """Return a headline, all expectations, the violations of each, and folded what was not evaluated or checked."""
    return "\n\n".join(_parts(verdict)) + "\n"


def _parts(verdict: Verdict) -> Iterator[str]:
    several = len(verdict.captured_at) > 1
    yield f"## {_SIGNS[overall(verdict)]} kip848 check: {sentence(verdict)}"
    yield from map(code, captures(verdict))
    yield _expectations(verdict.results)
    for result in verdict.results:
        for fault in result.faults.values():
            yield f"{_SIGNS[FAULT]} {code(fault.message)}"
            yield prose(fault.hint)
        if result.violated:
            yield f"### {_SIGNS[result.status]} {code(result.name)}: {counts(result)}"
            yield prose(result.description)
            yield _findings(result.violations, result.violated, several=several, evaluated=True)
    unknown = [result for result in verdict.results if result.unknowns]
    if unknown:
        count = sum(result.unknowns for result in unknown)
        yield f"<details>\n<summary>{_SIGNS[UNKNOWN]} {count:,} could not be evaluated</summary>"
        for result in unknown:
            yield f"### {code(result.name)}: {result.unknowns:,} of {result.checked:,}"
            yield _findings(result.unknown, result.unknowns, several=several, evaluated=False)
        yield "</details>"
    nothing = [(code(result.name), prose(each)) for result in verdict.results for each in reasons(result)]
    if nothing:
        count = sum(result.status == NOT_APPLICABLE for result in verdict.results)
        yield f"<details>\n<summary>{_SIGNS[NOT_APPLICABLE]} {count:,} checked nothing: not applicable</summary>"
        yield table(("Expectation", "Why"), nothing)
        yield "</details>"


def _expectations(results: Iterable[Result]) -> str:
    titles = ("Expectation", "Status", "Checked", "Violations", "Unknown")
    rows = [
        (
            code(result.name),
            f"{_SIGNS[result.status]} {SAID[result.status]}",
            f"{result.checked:,}",
            f"{result.violated:,}",
            f"{result.unknowns:,}",
        )
        for result in results
    ]
    return table(titles, rows)


def _findings(findings: Sequence[Finding], counted: int, *, several: bool, evaluated: bool) -> str:
    """Return the first findings; with their clusters if `several`, and with their severities if `evaluated`."""
    titles = ("Severity",) * evaluated + ("Cluster",) * several + ("Group", "Epoch", "Member", "Where", "What")
    shown = with_advice_once(findings[:_SHOWN])
    rows = [
        (
            *((_SEVERITIES[found.severity],) if evaluated else ()),
            *((code(found.cluster),) if several else ()),
            code(found.group_id),
            "" if found.group_epoch is None else str(found.group_epoch),
            code(found.member_id),
            code(position(found) or None),
            code(found.message),
        )
        for found in shown
    ]
    rest = more(counted, shown)
    return table(titles, rows) + (f"\n\n{rest}" if rest else "")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (titles, ("---",) * len(titles), *rows))


def code(text: str | None) -> str:
    """Return one line of text as code for a table cell; an empty text for none."""
    if not text:
        return ""
    shown = printable(text)
    if "\\|" in shown:  # a code span in a cell cannot contain it
        return f"<code>{''.join(c if c.isalnum() else f'&#{ord(c)};' for c in shown)}</code>"
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    # Markdown strips one space on either side, unless the text consists of spaces only.
    is_padded = "`" in shown[0] + shown[-1] or (shown[0] == shown[-1] == " " and shown.strip(" "))
    padding = " " if is_padded else ""
    return f"{fence}{padding}{shown.replace('|', chr(92) + '|')}{padding}{fence}"


def prose(text: str) -> str:
    """Return one line of text with Markdown's special characters escaped."""
    escaped = re.sub(r"[\\`*\[\]<>|&~$@]|(?<!\w)_|_(?!\w)", r"\\\g<0>", printable(text))
    return re.sub(r"^(\d*)([-+#=:.)])", r"\1\\\2", escaped)
