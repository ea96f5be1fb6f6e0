"""What all reports say of a verdict, in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.quality.results import FAIL, PASS, UNKNOWN, WARN
from kip848_records.terminal import count_text
from kip848_records.text import printable
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.quality.results import Finding, Result, Verdict

SAID: Final = {FAIL: "failed", WARN: "warned", UNKNOWN: "could not be judged", PASS: "passed"}
"""What an expectation of each status did, the worst first."""


def overall(verdict: Verdict) -> str:
    """Return the worst status of any expectation."""
    statuses = {result.status for result in verdict.results}
    return next((status for status in SAID if status in statuses), PASS)


def sentence(verdict: Verdict) -> str:
    """Say how many expectations there are, and how many of them did not pass."""
    statuses = [result.status for result in verdict.results]
    expectations = count_text(len(statuses), "expectation")
    told = [
        f"{statuses.count(status):,} {said}" for status, said in SAID.items() if status in statuses and status != PASS
    ]
    if not told:
        return f"{expectations} passed"
    # "1 of 20 expectations failed, 2 warned": only the first says of what; that the others passed goes without saying.
    count, said = told[0].split(" ", 1)
    return ", ".join([f"{count} of {expectations} {said}", *told[1:]])


def captures(verdict: Verdict) -> list[str]:
    """Say of each cluster when its log was copied."""
    times = {cluster: "an unknown time" if at is None else utc_text(at) for cluster, at in verdict.captured_at.items()}
    return [f"Cluster {cluster}, captured at {time}" for cluster, time in times.items()]


def checked(result: Result) -> int:
    """Return how much an expectation looked at."""
    return result.passed + result.errors + result.warnings + result.unknowns


def violated(result: Result) -> int:
    """Return how many violations were counted; there may be fewer in `result.violations`."""
    return result.errors + result.warnings


def counts(result: Result) -> str:
    """Say what an expectation came to: 2 errors, 1 warning, 3 unknown of 20 checked."""
    told = [
        *([count_text(result.errors, "error")] if result.errors else []),
        *([count_text(result.warnings, "warning")] if result.warnings else []),
        *([f"{result.unknowns:,} unknown"] if result.unknowns else []),
    ]
    return f"{', '.join(told)} of {checked(result):,} checked" if told else f"{checked(result):,} checked"


def more(counted: int, shown: Sequence[Finding]) -> str:
    """Say how many findings are not shown; nothing if all are."""
    left = counted - len(shown)
    return f"and {left:,} more" if left > 0 else ""


def line(finding: Finding, *, judged: bool = True) -> str:
    """Say in one line where a finding is, and what was found; how severe only if it was judged."""
    where = [
        f"cluster {finding.cluster}",
        *([] if finding.group_id is None else [f"group {finding.group_id}"]),
        *([] if finding.group_epoch is None else [f"epoch {finding.group_epoch}"]),
        *([] if finding.member_id is None else [f"member {finding.member_id}"]),
        *([] if finding.partition is None else [position(finding)]),
    ]
    return printable(f"{finding.severity if judged else UNKNOWN}: {', '.join(where)}: {finding.message}")


def position(finding: Finding) -> str:
    """Say where in the log a finding is; nothing if it is nowhere."""
    if finding.partition is None:
        return ""
    offset = "" if finding.offset is None else f" offset {finding.offset}"
    return f"{topic(finding.partition)}{offset}"


def topic(partition: int | None) -> str:
    """Return the name that Kafka gives a partition of the log, and its folder; without one, the topic's."""
    return "__consumer_offsets" + ("" if partition is None else f"-{partition}")
