"""What a check found: a result for each expectation, of every cluster that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kip848_records.quality.expectations import PASS, UNKNOWN, WARN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = ["FAIL", "PASS", "UNKNOWN", "WARN", "Finding", "Result", "Verdict"]

FAIL: Final = "fail"
"""The status of an expectation that does not hold; the others are PASS, WARN and UNKNOWN."""


@dataclass(frozen=True)
class Finding:
    """A violation, or something of which the log does not tell whether it is one.

    `group_id`, `group_epoch`, `member_id`, `partition` and `offset` (of `__consumer_offsets`) say where it is, each
    None where it is not about one. `severity` is ``error`` or ``warn``; `message` says what was expected and what was
    seen. Ids stand in both as they are: they may hold anything.
    """

    cluster: str
    group_id: str | None
    group_epoch: int | None
    member_id: str | None
    partition: int | None
    offset: int | None
    severity: str
    message: str


@dataclass(frozen=True)
class Result:
    """What became of one expectation.

    `passed`, `errors`, `warnings` and `unknowns` count what was looked at. `violations` and `unknown` hold the first of
    them, the errors before the warnings: not more than a check keeps (`check.KEPT`), so that the counts may be higher.
    """

    name: str
    description: str
    severity: str
    passed: int
    errors: int
    warnings: int
    unknowns: int
    violations: Sequence[Finding]
    unknown: Sequence[Finding]

    @property
    def status(self) -> str:
        """`fail` for an error, `warn` for a warning, `unknown` where neither was seen but could be, else `pass`."""
        if self.errors:
            return FAIL
        if self.warnings:
            return WARN
        return UNKNOWN if self.unknowns else PASS


@dataclass(frozen=True)
class Verdict:
    """The results of a check of the tables in `tables`, in the order of the expectations.

    `captured_at`: when each cluster's log was copied, None where nobody knows.
    """

    tables: str
    captured_at: dict[str, datetime | None]
    results: Sequence[Result]

    @property
    def failed(self) -> bool:
        """Whether any expectation failed."""
        return any(result.status == FAIL for result in self.results)
