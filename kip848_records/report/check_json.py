"""A verdict as JSON, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timezone
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.report.words import checked, overall, violated

if TYPE_CHECKING:
    from datetime import datetime

    from kip848_records.expectations.results import Result, Verdict


def check_json(verdict: Verdict) -> str:
    """Return one JSON object in ASCII; a JSON parser restores ids exactly, whatever they contain.

    `status` is the worst of all expectations. Times are ISO 8601, UTC. `checked`, `passed`, `errors`, `warnings`,
    `violations_total` and `unknown_total` count all checked items; `violations` and `unknown` list the first of them.
    """
    document = {
        "version": __version__,
        "tables": verdict.tables,
        "captured_at": {cluster: _time(at) for cluster, at in verdict.captured_at.items()},
        "status": overall(verdict),
        "expectations": [_expectation(result) for result in verdict.results],
    }
    return json.dumps(document, indent=2) + "\n"


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(timezone.utc).isoformat(timespec="milliseconds")


def _expectation(result: Result) -> dict[str, object]:
    return {
        "name": result.name,
        "description": result.description,
        "severity": result.severity,
        "status": result.status,
        "checked": checked(result),
        "passed": result.passed,
        "errors": result.errors,
        "warnings": result.warnings,
        "violations_total": violated(result),
        "unknown_total": result.unknowns,
        "violations": [asdict(finding) for finding in result.violations],
        "unknown": [asdict(finding) for finding in result.unknown],
    }
