"""A verdict as JUnit XML, which Jenkins, GitLab and others show next to the results of tests."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from junitparser import Failure, Skipped, TestCase, TestSuite

from kip848_records.quality.results import FAIL, UNKNOWN, WARN
from kip848_records.report.words import counts, line, more, violated
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.quality.results import Finding, Result, Verdict

_SUITE = "kip848 check"
_CLASS = "kip848.check"
"""Jenkins takes what stands before the last dot for a package."""


def junit(verdict: Verdict) -> str:
    """Return one test suite with a test case for each expectation.

    One that failed has a line for each violation in its failure; one that warned passes, and prints them; one that
    could not be judged is skipped, and says of what. Characters that XML cannot hold are escaped as in a terminal.
    """
    suite = TestSuite(_SUITE)
    suite.add_testcases([_case(result) for result in verdict.results])
    document = BytesIO()
    suite.write(document)
    return document.getvalue().decode()


def _case(result: Result) -> TestCase:
    case = TestCase(printable(result.name), _CLASS)
    summary = printable(f"{counts(result)}: {result.description}")
    violations = "\n".join([summary, *_lines(result.violations, violated(result), judged=True)])
    if result.status == FAIL:
        failure = Failure(summary, "violation")
        failure.text = violations
        case.result = [failure]
    elif result.status == WARN:
        case.system_out = violations
    elif result.status == UNKNOWN:
        skipped = Skipped(summary, "unknown")
        skipped.text = "\n".join([summary, *_lines(result.unknown, result.unknowns, judged=False)])
        case.result = [skipped]
    return case


def _lines(found: Sequence[Finding], counted: int, *, judged: bool) -> list[str]:
    rest = more(counted, found)
    return [*(line(one, judged=judged) for one in found), *([rest] if rest else [])]
