"""A verdict as JSON, for programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.expectations.results import FAIL, FAULT, NOT_APPLICABLE, UNKNOWN, WARN
from kip848_records.report.words import overall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.expectations.results import Result, Verdict
    from kip848_records.report.headline import Headline


def check_json(verdict: Verdict, heads: Mapping[str, Headline] | None = None) -> str:
    """Return one JSON object in ASCII; a JSON parser restores ids exactly, whatever they contain.

    `group`: the only group that it is about; null: all.

    `clusters`: by cluster, the number of groups by health, and what changed since the run before, as the lines of
    `check` have them.

    `status` is the worst of all expectations. Times are ISO 8601, UTC. `checked`, `passed`, `errors`, `warnings`,
    `violations_total` and `unknown_total` count all checked items; `violations` and `unknown` list the first of them.
    `faults`: by cluster, why the query failed. `not_applicable`: by cluster, why nothing was checked, with the
    need that the audit does not meet, and the way out; both null if the log has nothing of the kind.
    """
    document = {
        "version": __version__,
        "tables": verdict.tables,
        **_captures(verdict),
        "clusters": {cluster: head.for_json() for cluster, head in (heads or {}).items()},
        "status": overall(verdict),
        "expectations": [_expectation(result) for result in verdict.results],
    }
    return json.dumps(document, indent=2) + "\n"


def check_line(verdict: Verdict, exit_code: int) -> str:
    """Return the check as one line of JSON in ASCII, for log shippers: its counts, and what did not pass by name.

    A shipper cuts long lines, so no finding is in it: `check_json` has them.
    """
    document = {
        "event": "kip848_check",
        "at": _time(datetime.now(UTC)),
        "version": __version__,
        "tables": verdict.tables,
        **_captures(verdict),
        "status": overall(verdict),
        "exit_code": exit_code,
        "checked": sum(result.checked for result in verdict.results),
        "errors": sum(result.errors for result in verdict.results),
        "warnings": sum(result.warnings for result in verdict.results),
        "unknown": sum(result.unknowns for result in verdict.results),
        **{
            f"{status}_expectations": [result.name for result in verdict.results if result.status == status]
            for status in (FAULT, FAIL, WARN, UNKNOWN, NOT_APPLICABLE)
        },
    }
    return json.dumps(document)


def _captures(verdict: Verdict) -> dict[str, object]:
    """Return when each cluster's log was captured, and where ages end earlier.

    `as_of_newest_record`: clusters whose time of the copy is not known. `known_to`: by cluster and partition.
    """
    return {
        "group": verdict.group,
        "captured_at": {cluster: _time(at) for cluster, at in verdict.captured_at.items()},
        "as_of_newest_record": [cluster for cluster, each in verdict.limits.items() if each.is_newest_record],
        "known_to": {
            cluster: {str(partition): _time(at) for partition, at in each.known_to.items()}
            for cluster, each in verdict.limits.items()
            if each.known_to
        },
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds")


def _expectation(result: Result) -> dict[str, object]:
    return {
        "name": result.name,
        "description": result.description,
        "severity": result.severity,
        "status": result.status,
        "checked": result.checked,
        "passed": result.passed,
        "errors": result.errors,
        "warnings": result.warnings,
        "violations_total": result.violated,
        "unknown_total": result.unknowns,
        "violations": [each.columns() for each in result.violations],
        "unknown": [each.columns() for each in result.unknown],
        "faults": {cluster: fault.message for cluster, fault in result.faults.items()},
        "not_applicable": {cluster: each._asdict() for cluster, each in result.not_applicable.items()},
        "not_looked_for": list(result.without),
    }
