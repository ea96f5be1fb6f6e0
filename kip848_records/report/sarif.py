"""A verdict as SARIF 2.1.0, which GitHub shows as code scanning alerts, one per violation."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from kip848_records import __version__
from kip848_records.expectations.results import NOT_APPLICABLE
from kip848_records.report.words import SAID, more, reasons, topic
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.expectations.results import Finding, Result, Verdict

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {"error": "error", "warn": "warning", "off": "none"}
"""SARIF levels by severity. An expectation that is off may be on for some groups."""

Json = dict[str, Any]


def sarif(verdict: Verdict) -> str:
    """Return one run: its rules are expectations, its results violations; unknown items become notifications.

    The location of a result is the folder of its partition; its properties contain the ids unescaped. The fingerprint
    of a result is stable across checks, as long as expectation, cluster, group and member are the same.
    """
    run = {
        "tool": {
            "driver": {
                "name": "kip848-records",
                "version": __version__,
                "rules": [_rule(result) for result in verdict.results],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not any(result.faults for result in verdict.results),
                "toolExecutionNotifications": [*_notifications(verdict.results)],
            }
        ],
        "results": [*_results(verdict)],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(result: Result) -> Json:
    description = {"text": result.description}
    return {
        "id": result.name,
        # GitHub requires all three.
        "shortDescription": description,
        "fullDescription": description,
        "help": description,
        "defaultConfiguration": {"level": _LEVELS[result.severity]},
    }


def _notifications(results: Iterable[Result]) -> Iterator[Json]:
    """Report how many violations are not kept, how many items are unknown, what checked nothing, and faults."""
    for index, result in enumerate(results):
        rest = more(result.violated, result.violations)
        notes = [
            *([f"{rest} violations"] if rest else []),
            *([f"{result.unknowns:,} unknown"] if result.unknowns else []),
            *(f"{SAID[NOT_APPLICABLE]}: {each}" for each in reasons(result)),
            *result.without,
        ]
        for what in notes:
            text = _plain(f"{result.name}: {what}")
            yield {"level": "note", "message": {"text": text}, "associatedRule": {"index": index}}
        for fault in result.faults.values():
            yield {"level": "error", "message": {"text": _plain(str(fault))}, "associatedRule": {"index": index}}


def _results(verdict: Verdict) -> Iterator[Json]:
    seen = Counter[str]()
    for index, result in enumerate(verdict.results):
        for found in result.violations:
            same = _fingerprint(result, found)
            seen[same] += 1
            yield {
                "ruleId": result.name,
                "ruleIndex": index,
                "kind": "fail",
                "level": _LEVELS[found.severity],
                "message": {"text": _plain(found.message)},
                "locations": [_location(found)],
                # GitHub compares this fingerprint only. A number distinguishes several findings of one member.
                "partialFingerprints": {"primaryLocationLineHash": f"{same}:{seen[same]}"},
                "properties": {
                    name: value for name, value in found.columns().items() if name not in {"severity", "message"}
                },
            }


def _location(found: Finding) -> Json:
    name = found.cluster if found.group_id is None else found.group_id
    return {
        # GitHub does not show a result without a line.
        "physicalLocation": {"artifactLocation": {"uri": topic(found.partition)}, "region": {"startLine": 1}},
        "logicalLocations": [
            {
                "name": printable(name),
                "fullyQualifiedName": _path(found),
                "kind": "cluster" if found.group_id is None else "consumerGroup",
            }
        ],
    }


def _path(found: Finding) -> str:
    """Return cluster/group/epoch 7/member m, without absent parts. A slash within an id is written as %2F."""
    parts = [
        found.cluster,
        *([] if found.group_id is None else [found.group_id]),
        *([] if found.group_epoch is None else [f"epoch {found.group_epoch}"]),
        *([] if found.member_id is None else [f"member {found.member_id}"]),
    ]
    return printable("/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts))


def _plain(message: str) -> str:
    """Return a message in which no viewer finds a link of SARIF, ``[text](target)``."""
    return printable(message).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _fingerprint(result: Result, found: Finding) -> str:
    key = json.dumps([result.name, found.cluster, found.group_id, found.member_id])
    return sha256(key.encode()).hexdigest()[:32]
