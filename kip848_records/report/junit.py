"""A verdict as JUnit XML, which Jenkins, GitLab and other tools show next to test results."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from junitparser import Error, Failure, Skipped, TestCase, TestSuite

from kip848_records.expectations.results import FAIL, FAULT, NOT_APPLICABLE, UNKNOWN, WARN
from kip848_records.report.words import SAID, counts, line, more, reasons
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.expectations.results import Finding, Result, Verdict

_SUITE = "kip848 check"
_CLASS = "kip848.check"
"""Jenkins reads the part before the last dot as a package."""


def junit(verdict: Verdict) -> str:
    """Return one test suite with a test case for each expectation.

    A failed expectation has one line per violation in its failure. One with warnings passes and prints them. One that
    could not be evaluated is skipped, with its items; so is one that is not applicable, with why. One whose query
    failed is an error. Characters that XML cannot hold are escaped as in a terminal.
    """
    suite = TestSuite(_SUITE)
    if verdict.group is not None:
        suite.add_property("group", printable(verdict.group))
    suite.add_testcases([_case(result) for result in verdict.results])
    document = BytesIO()
    suite.write(document)
    return document.getvalue().decode()


def _case(result: Result) -> TestCase:
    case = TestCase(printable(result.name), _CLASS)
    summary = printable(f"{counts(result)}: {result.description}")
    violations = "\n".join([summary, *_lines(result.violations, result.violated, evaluated=True)])
    if result.status == FAULT:
        found = result.faults.values()
        error = Error("; ".join(fault.message for fault in found), FAULT)
        error.text = "\n".join([*(str(fault) for fault in found), violations])
        case.result = [error]
    elif result.status == FAIL:
        failure = Failure(summary, "violation")
        failure.text = violations
        case.result = [failure]
    elif result.status == WARN:
        case.system_out = violations
    elif result.status == UNKNOWN:
        skipped = Skipped(summary, "unknown")
        skipped.text = "\n".join([summary, *_lines(result.unknown, result.unknowns, evaluated=False)])
        case.result = [skipped]
    elif result.status == NOT_APPLICABLE:
        why = printable(f"{SAID[NOT_APPLICABLE]}: {'; '.join(reasons(result))}")
        skipped = Skipped(why, NOT_APPLICABLE)
        skipped.text = printable(f"{why}\n{result.description}")
        case.result = [skipped]
    return case


def _lines(found: Sequence[Finding], counted: int, *, evaluated: bool) -> list[str]:
    rest = more(counted, found)
    return [*(line(one, evaluated=evaluated) for one in found), *([rest] if rest else [])]
