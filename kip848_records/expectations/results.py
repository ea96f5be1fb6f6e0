"""The results of a check: one per expectation, over all checked clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kip848_records.errors import Kip848Error


PASS: Final = "pass"  # noqa: S105 - no password
VIOLATION: Final = "violation"
UNKNOWN: Final = "unknown"
"""The verdict of a row of an expectation's query about the item that it checks."""

ERROR: Final = "error"
WARN: Final = "warn"
OFF: Final = "off"
"""Severities; an expectation that is off is not evaluated."""

FAIL: Final = "fail"
"""The status of an expectation that does not hold; the others are FAULT, PASS, WARN, UNKNOWN and NOT_APPLICABLE."""

NOT_APPLICABLE: Final = "not_applicable"
"""The status of an expectation that checked nothing: the log has nothing of the kind, or it was not decoded."""

FAULT: Final = "fault"
"""The status of an expectation of this package whose query failed: a fault of this package."""


class PresentBlocker(NamedTuple):
    """Who or what blocks a group's ongoing rebalance: fields of `group_state.blocker`. `since_ms`: ms since 1970."""

    pattern: str
    member_id: str | None
    who: str | None
    since_ms: int | None
    sentence: str
    next_step: str

    def columns(self) -> dict[str, object]:
        """Return the columns for programs: the time is ISO 8601, UTC."""
        since = None if self.since_ms is None else utc(self.since_ms).isoformat(timespec="milliseconds")
        columns = {name.removesuffix("_ms"): value for name, value in self._asdict().items()}
        return columns | {"since": since}


@dataclass(frozen=True)
class Finding:
    """A violation, or an item that the log is not complete enough to evaluate.

    `group_id`, `group_epoch`, `member_id`, `partition` and `offset` (of `__consumer_offsets`) locate it, each None if
    it does not apply. `severity` is ``error`` or ``warn``; `message` has the expected and the actual value. Ids are not
    escaped: they may contain any character. `advice`: the part of the message that says what to do; None if none does.
    `kind`: that of the group, an entry of `kinds.KINDS`; None if it does not apply, or the group was deleted.
    `blocker`: who blocks the ongoing rebalance, of findings about it; None of others.
    `age_ms`: for how long it lasts at the capture, or lasted, in ms; None: not known, or it has no duration.
    """

    cluster: str
    group_id: str | None
    group_epoch: int | None
    member_id: str | None
    partition: int | None
    offset: int | None
    severity: str
    message: str
    advice: str | None = None
    kind: str | None = None
    blocker: PresentBlocker | None = None
    age_ms: int | None = None

    def columns(self) -> dict[str, object]:
        """Return the columns for programs: without the advice, which the message has, and the kind."""
        columns = {name: value for name, value in vars(self).items() if name not in {"advice", "kind"}}
        return columns | {"blocker": None if self.blocker is None else self.blocker.columns()}


class Counts(NamedTuple):
    """The numbers of checked items by their result."""

    passed: int
    errors: int
    warnings: int
    unknowns: int


class NotApplicable(NamedTuple):
    """Why an expectation checked nothing in a cluster.

    `reason`: in words. `way_out`: what makes it applicable; None if nothing but another log does. `need`: the name in
    `queries.needs` that the audit does not meet; None if the log has nothing to check.
    """

    reason: str
    way_out: str | None = None
    need: str | None = None


@dataclass(frozen=True)
class Result:
    """The result of one expectation.

    `passed`, `errors`, `warnings` and `unknowns` count the checked items. `violations` and `unknown` hold the first of
    them, errors before warnings. A check keeps at most `check.KEPT` of each, so the counts may be higher. `by_cluster`
    has the counts of each cluster where something was checked, and `not_applicable` why nothing was in the others.
    `faults`: of the clusters for which the query failed, why; nothing is known of them. `without`: what was not
    looked for, and why not, in sentences. `is_named`: the user asked for this expectation.
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
    by_cluster: Mapping[str, Counts] = field(default_factory=dict)
    faults: Mapping[str, Kip848Error] = field(default_factory=dict)
    not_applicable: Mapping[str, NotApplicable] = field(default_factory=dict)
    without: Sequence[str] = ()
    is_named: bool = False

    @property
    def checked(self) -> int:
        """How many items it checked."""
        return self.passed + self.errors + self.warnings + self.unknowns

    @property
    def violated(self) -> int:
        """How many violations were counted; there may be fewer in `violations`."""
        return self.errors + self.warnings

    @property
    def status(self) -> str:
        """The worst: `fault`, `fail` for an error, `warn` for a warning, `unknown` for an unknown item, else `pass`.

        `not_applicable` if nothing was checked.
        """
        if self.faults:
            return FAULT
        if self.errors:
            return FAIL
        if self.warnings:
            return WARN
        if self.unknowns:
            return UNKNOWN
        return PASS if self.passed else NOT_APPLICABLE


@dataclass(frozen=True)
class CaptureLimits:
    """The limits of the ages of open groups.

    `is_newest_record`: the time of the copy is not known, so ages count to the newest record. It matters only if some
    group is open, so it is false if there is none. `known_to`: the partitions of a live topic that were not read to
    their end, for example because of an open transaction, and up to when each is known; None if nothing of it is.
    """

    is_newest_record: bool = False
    known_to: Mapping[int, datetime | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The results of a check of the tables in `tables`, in the order of the expectations.

    `captured_at`: when each cluster's log was copied, None if unknown. `limits`: what limits the ages of its open
    groups. `group`: the only group that it is about; None: all.
    """

    tables: str
    captured_at: dict[str, datetime | None]
    results: Sequence[Result]
    limits: Mapping[str, CaptureLimits] = field(default_factory=dict)
    group: str | None = None

    @property
    def failed(self) -> bool:
        """Whether any expectation failed, or its query did."""
        return any(result.status in {FAIL, FAULT} for result in self.results)
