"""The text of a verdict that all reports share."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kip848_records.expectations.results import FAIL, FAULT, NOT_APPLICABLE, PASS, UNKNOWN, WARN
from kip848_records.kinds import CONSUMER, KINDS
from kip848_records.specs.log_columns import TOPIC
from kip848_records.text import count_text, printable, ranges_text
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kip848_records.expectations.results import CaptureLimits, Finding, NotApplicable, Result, Verdict

SAID: Final = {
    FAULT: "broke",
    FAIL: "failed",
    WARN: "warned",
    UNKNOWN: "could not be evaluated",
    PASS: "passed",
    NOT_APPLICABLE: "not applicable",
}
"""The words for each status of an expectation, the worst first; one that checked nothing says nothing good or bad."""

_PARTITIONS_SHOWN: Final = 2
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
_NOT_READ: Final = "later records are behind an open transaction, or were not read"


def overall(verdict: Verdict) -> str:
    """Return the worst status of any expectation: `pass` if one passed and none is worse."""
    statuses = {result.status for result in verdict.results}
    return next((status for status in SAID if status in statuses), NOT_APPLICABLE)


def sentence(verdict: Verdict) -> str:
    """Return how many expectations there are, how many of them did not pass, and how many checked nothing."""
    statuses = [result.status for result in verdict.results]
    expectations = count_text(len(statuses), "expectation")
    is_good = overall(verdict) == PASS
    parts = [
        f"{statuses.count(status):,} {verb}"
        for status, verb in SAID.items()
        if status in statuses and (status != PASS or is_good)
    ]
    if not statuses:
        return "no expectation was evaluated"
    if statuses.count(PASS) == len(statuses):
        return f"{expectations} passed"
    # "1 of 20 expectations failed, 2 warned": only the first part has the total; the rest implicitly passed.
    count, verb = parts[0].split(" ", 1)
    return ", ".join([f"{count} of {expectations} {verb}", *parts[1:]])


def captures(verdict: Verdict, heads: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """Return a line per cluster with the time at which its log was copied, and what limits the ages of its groups.

    Before them is a line that names the group, if the verdict is about one only. `heads`: the lines of
    `headline.headlines`, which stand between these.
    """
    lines = [] if verdict.group is None else [f"Group {verdict.group} only"]
    for cluster, at in verdict.captured_at.items():
        lines.append(f"Cluster {cluster}, captured at {'an unknown time' if at is None else utc_text(at)}")
        lines += (heads or {}).get(cluster, ())
        lines += limits_text(verdict.limits[cluster]) if cluster in verdict.limits else []
    return lines


def limits_text(limits: CaptureLimits) -> list[str]:
    """Return the sentences about what limits the ages of open groups; none if they count to the time of the capture."""
    if limits.is_newest_record:
        return ["Ages are as of the newest record; pass --captured-at with the time of the copy"]
    known = limits.known_to
    times = sorted(at for at in known.values() if at is not None)
    if len(known) <= _PARTITIONS_SHOWN:
        return [_known_to(partition, at) for partition, at in known.items()]
    parts = ["not known"] if None in known.values() else []
    parts += [f"known only to {utc_text(times[0])} or later"] if times else []
    return [f"Partitions {ranges_text(known)} are {', or '.join(parts)}: {_NOT_READ}"]


def limits_of(limits: CaptureLimits, partition: int, *, is_open: bool) -> list[str]:
    """Return what `limits_text` says of a group in a partition; `is_open`: the group is stuck, or waits."""
    if partition in limits.known_to:
        return [_known_to(partition, limits.known_to[partition])]
    return limits_text(limits) if limits.is_newest_record and is_open else []


def _known_to(partition: int, at: datetime | None) -> str:
    known = "not known" if at is None else f"known only to {utc_text(at)}"
    return f"Partition {partition} is {known}: {_NOT_READ}"


def counts(result: Result) -> str:
    """Return the counts of an expectation: 2 errors, 1 warning, 3 unknown of 20 checked."""
    parts = [
        *([count_text(result.errors, "error")] if result.errors else []),
        *([count_text(result.warnings, "warning")] if result.warnings else []),
        *([f"{result.unknowns:,} unknown"] if result.unknowns else []),
    ]
    return f"{', '.join(parts)} of {result.checked:,} checked" if parts else f"{result.checked:,} checked"


def reason(nothing: NotApplicable) -> str:
    """Return why an expectation is not applicable, and what makes it so."""
    return ": ".join(filter(None, [nothing.reason, nothing.way_out]))


def reasons(result: Result) -> list[str]:
    """Return where and why a result checked nothing: one text if that is so, and why, in all clusters."""
    texts = {cluster: reason(each) for cluster, each in result.not_applicable.items()}
    if not result.by_cluster and not result.faults and len({*texts.values()}) == 1:
        return [next(iter(texts.values()))]
    return [f"cluster {cluster}: {text}" for cluster, text in texts.items()]


def more(counted: int, shown: Sequence[Finding]) -> str:
    """Return a text with the number of findings that are not shown; empty if all are."""
    left = counted - len(shown)
    return f"and {left:,} more" if left > 0 else ""


def with_advice_once(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of an expectation; advice that one before has said is named as such."""
    said: set[str] = set()
    shown = []
    for each in findings:
        told = each
        if each.advice is not None and (above := said_above(each.advice, said)) is not None:
            told = replace(each, message=each.message.replace(each.advice, f"What to do: {above}."))
        shown.append(told)
    return shown


def said_above(advice: str, said: set[str]) -> str | None:
    """Return how to refer to advice that is in `said`; else None, and add it.

    Advice that differs only in its times is the same: then the times are named.
    """
    same = _TIME.sub("", advice)
    if same not in said:
        said.add(same)
        return None
    times = ", ".join(dict.fromkeys(_TIME.findall(advice)))
    return f"as above, at {times}" if times else "as above"


def line(finding: Finding, *, evaluated: bool = True) -> str:
    """Return the location and message of a finding as one line; with its severity if it was evaluated."""
    where = [
        f"cluster {finding.cluster}",
        *([] if finding.group_id is None else [f"group {finding.group_id}"]),
        *place(finding),
    ]
    return printable(f"{finding.severity if evaluated else UNKNOWN}: {', '.join(where)}: {finding.message}")


def place(finding: Finding) -> list[str]:
    """Return where a finding is within its group: its epoch, member and position in the log, as far as they apply.

    In a classic group that is a generation, and in a Connect cluster a worker.
    """
    kind = KINDS.get(finding.kind or "", KINDS[CONSUMER])
    return [
        *([] if finding.group_epoch is None else [f"{kind.step} {finding.group_epoch}"]),
        *([] if finding.member_id is None else [f"{kind.member} {finding.member_id}"]),
        *([] if finding.partition is None else [position(finding)]),
    ]


def position(finding: Finding) -> str:
    """Return the location of a finding in the log; empty if it has none."""
    if finding.partition is None:
        return ""
    offset = "" if finding.offset is None else f" offset {finding.offset}"
    return f"{topic(finding.partition)}{offset}"


def topic(partition: int | None) -> str:
    """Return Kafka's name for a partition of the log, and for its folder; without a partition the topic's name."""
    return TOPIC + ("" if partition is None else f"-{partition}")
