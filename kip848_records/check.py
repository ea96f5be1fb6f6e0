"""`kip848 check`: evaluates expectations on the tables of an audit: one query for each text and cluster."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.errors import InputError, Kip848Error, UnexpectedError
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.captures import capture_limits
from kip848_records.expectations.patterns import PATTERNS
from kip848_records.expectations.results import (
    OFF,
    PASS,
    UNKNOWN,
    VIOLATION,
    WARN,
    Counts,
    Finding,
    NotApplicable,
    PresentBlocker,
    Result,
    Verdict,
)
from kip848_records.expectations.sql import ADVICE, DETAIL, EXPECTATION, LASTS, NAMES_BLOCKER, grouped_by_text, query
from kip848_records.kinds import kind_of
from kip848_records.queries.marked_numbers import with_numbers
from kip848_records.queries.needs import lacking
from kip848_records.queries.texts import completed
from kip848_records.replay.diagnosis.limits import ENABLED, limits_of
from kip848_records.tables.errors import DamagedError, NoGroupError
from kip848_records.tables.location import groups_command, location_text
from kip848_records.text import count_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Self

    from kip848_records.expectations import Expectation
    from kip848_records.expectations.files import Setting
    from kip848_records.queries.needs import Need
    from kip848_records.queries.tables import Row, Run, Tables

KEPT: Final = 1000
"""How many violations, and how many unknown results, are kept per expectation; all of them are counted."""

_GROUPS: Final = completed("SELECT DISTINCT group_id FROM groups")
_BLOCKED: Final = """
SELECT partition, group_id, group_type, protocol_type, blocker.pattern AS pattern, blocker.member_id AS member_id,
    blocker.who AS who, unix_millis(blocker.since) AS since_ms, blocker.sentence AS sentence,
    blocker.next_step AS next_step
FROM group_state
"""


def check(  # noqa: PLR0913 - what is checked, and by what
    tables: Tables,
    settings: Mapping[str, Setting],
    *,
    expectations: Sequence[Expectation] = EXPECTATIONS,
    cluster: str | None = None,
    group: str | None = None,
    now: datetime | None = None,
) -> Verdict:
    """Evaluate expectations about one cluster, or about all that have tables; return the results.

    `settings`: those of every expectation, by name, from `config.load_settings`; expectations that are off are skipped.
    `group`: only what is about this group counts; it must be one that the tables have.
    `now`: the time by which the age of the audit counts; by default the present. Raises InputError if there are
    no tables of an audit, none of that cluster, or no such group, and if the SQL of an expectation of the user's fails.
    If that of one of this package fails, its result has the error.
    """
    wanted = [each for each in expectations if settings[each.name].is_on]
    audited = [_Audited.of(tables, run) for run in tables.chosen_runs(cluster)]
    if group is not None:
        _require_group(tables, [of.run for of in audited], group)
    now = now or datetime.now(UTC)
    asked, groups = _Asked(tables, settings, group, now), BlockedGroups(tables)
    answers = {of.run.cluster: _answers(asked, of, wanted, groups) for of in audited}
    results = [_result(each, settings[each.name], audited, answers) for each in wanted]
    captured_at = {of.run.cluster: of.run.captured_at for of in audited}
    limits = {name: capture_limits(tables, name) for name in captured_at}
    return Verdict(tables.shown, captured_at, results, limits, group)


def _require_group(tables: Tables, runs: Sequence[Run], group: str) -> None:
    """Raise NoGroupError if no cluster has the group."""
    known = {row.group_id for run in runs for row in tables.rows(_GROUPS, run.cluster)}
    if group not in known:
        has_commits = all(run.offset_commits for run in runs)
        command = groups_command(tables.shown)
        raise NoGroupError.named(group, location_text(tables.shown), known, command, has_commits=has_commits)


@dataclass(frozen=True)
class _Audited:
    """The last run over a cluster: the needs that it does not meet, and the groups without a pattern of the diagnosis.

    `without`: by the name of a pattern, the ids of the groups for which the audit's configuration switches it off, with
    a null if that is so for what concerns many groups.
    """

    run: Run
    lacks: Mapping[str, Need]
    without: Mapping[str, Sequence[str | None]]

    @classmethod
    def of(cls, tables: Tables, run: Run) -> Self:
        without: dict[str, list[str | None]] = defaultdict(list)
        if any(each.name == ENABLED for each in run.changed_limits):
            for group_id in (None, *(row.group_id for row in tables.rows(_GROUPS, run.cluster))):
                for pattern in limits_of(run.changed_limits, group_id).off:
                    without[pattern].append(group_id)
        return cls(run, lacking(run), without)

    def without_groups(self, expectation: Expectation) -> Sequence[str | None]:
        """Return the groups in which an expectation about a pattern finds nothing, because nothing was looked for."""
        return self.without.get(expectation.name, ()) if expectation in PATTERNS else ()


class _Asked(NamedTuple):
    """What a check evaluates on, and for whom: the parameters of `check`."""

    tables: Tables
    settings: Mapping[str, Setting]
    group: str | None
    now: datetime


def _answers(
    asked: _Asked, of: _Audited, wanted: Sequence[Expectation], groups: BlockedGroups
) -> dict[str, _Found | NotApplicable | Kip848Error]:
    """Return what each expectation found in a cluster, by its name; why it found nothing; or why its query failed."""
    answers: dict[str, _Found | NotApplicable | Kip848Error] = {}
    possible = []
    for each in wanted:
        if (unmet := _unmet(each, of.lacks)) is None:
            possible.append(each)
        else:
            answers[each.name] = unmet
    has_rows = _with_rows(asked.tables, of.run.cluster, {each.rows_of for each in possible if each.rows_of is not None})
    for alike in grouped_by_text(possible):
        if alike[0].rows_of is not None and alike[0].rows_of not in has_rows:
            answers |= {each.name: _nothing(each, asked, of) for each in alike}
            continue
        try:
            rows = _evaluate(asked, of, alike)
            for each in alike:
                own = [row for row in rows if getattr(row, EXPECTATION, each.name) == each.name]
                found = _found(of.run.cluster, own, groups)
                answers[each.name] = found if any(found.counts) else _nothing(each, asked, of)
        except Exception as error:  # noqa: BLE001 - `_fault` raises some
            answers |= {each.name: _fault(error, each, of.run.cluster) for each in alike}
    return answers


def _fault(error: Exception, expectation: Expectation, cluster: str) -> Kip848Error:
    """Return the fault of a query; raise an error that the user can mend, unless it is of one table alone."""
    if isinstance(error, DamagedError):
        return error
    if isinstance(error, Kip848Error):
        raise error
    return UnexpectedError.of(error, f"the query of {expectation.name} for cluster {cluster}")


def _with_rows(tables: Tables, cluster: str, names: Collection[str]) -> Collection[str]:
    """Return those of some tables that have rows, or all if one cannot be read: the text that needs it says why."""
    try:
        return tables.with_rows(names, cluster)
    except Exception:  # noqa: BLE001 - as in `_answers`
        return names


def _evaluate(asked: _Asked, of: _Audited, alike: Sequence[Expectation]) -> list[Any]:
    """Return the rows of `sql.query`."""
    run, times = of.run, {"captured_at": of.run.captured_at, "now": asked.now}
    try:
        without = {each.name: of.without_groups(each) for each in alike}
        text, parameters = query(alike, asked.settings, KEPT, without, only=asked.group)
        return asked.tables.rows(text, run.cluster, **parameters, **times, dialect=run.dialect)
    except Kip848Error:
        raise
    except Exception as error:
        expectation = alike[0]
        if expectation in EXPECTATIONS or not expectation.path:  # the user's have a path
            raise
        # Engines raise errors of many types, and the user wrote the SQL.
        reason = " ".join(str(error).split("\n\n")[0].split()) or type(error).__name__
        raise InputError.bad_expectation(expectation.path or expectation.name, reason[:300]) from error


def _unmet(expectation: Expectation, lacks: Mapping[str, Need]) -> NotApplicable | None:
    """Return why an audit cannot have what an expectation needs; None if it has it."""
    for name in expectation.needs:
        if name in lacks:
            return NotApplicable(lacks[name].missing, lacks[name].way_out, name)
    return None


def _nothing(expectation: Expectation, asked: _Asked, of: _Audited) -> NotApplicable:
    """Return why an expectation that was evaluated had nothing to check."""
    if of.without_groups(expectation):
        return NotApplicable("the audit's configuration switches it off", f"see diagnosis.{expectation.name} there")
    if asked.group is not None:
        return NotApplicable(f"nothing of it is about group {asked.group}")
    setting = asked.settings[expectation.name]
    is_for_some = OFF in (setting.severity, *(each.severity for each in setting.groups.values()))
    where = " in the groups that the configuration has it check" if is_for_some else ""
    return NotApplicable(f"no {expectation.about}{where}")


def _without(expectation: Expectation, of: _Audited) -> Iterator[str]:
    """Yield what an expectation that was evaluated did not look for in a cluster, and why, in sentences."""
    for name, text in expectation.without.items():
        if name in of.lacks:
            yield f"cluster {of.run.cluster}: {of.lacks[name].missing}: {text}"
    if off := sum(each is not None for each in of.without_groups(expectation)):
        yield f"cluster {of.run.cluster}: the audit's configuration switches it off for {count_text(off, 'group')}"


class BlockedGroups:
    """The kinds of groups and who blocks them, read once for each cluster with a finding that names either."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._found: dict[str, dict[tuple[str | None, int | None], Row]] = {}

    def complete(self, finding: Finding, *, names_blocker: bool) -> Finding:
        """Return a finding with the kind of its group, and with the blocker and its sentence if it names that."""
        names_place = finding.group_epoch is not None or finding.member_id is not None
        if not (names_place or names_blocker):
            return finding
        group = self._of(finding.cluster).get((finding.group_id, finding.partition))
        if group is None:
            return finding
        has_blocker = names_blocker and group.pattern is not None
        if names_place or has_blocker:
            finding = replace(finding, kind=kind_of(group.group_type, group.protocol_type))
        if not has_blocker:
            return finding
        return replace(
            finding,
            member_id=group.member_id,
            message=f"{finding.message}: {group.sentence}",
            blocker=PresentBlocker(*(getattr(group, name) for name in PresentBlocker._fields)),
        )

    def _of(self, cluster: str) -> dict[tuple[str | None, int | None], Row]:
        if cluster not in self._found:
            rows = self._tables.rows(_BLOCKED, cluster)
            self._found[cluster] = {(row.group_id, row.partition): row for row in rows}
        return self._found[cluster]


class _Found(NamedTuple):
    """The findings of an expectation in one cluster."""

    counts: Counts
    violations: Sequence[Finding]
    unknown: Sequence[Finding]


def _found(cluster: str, rows: Sequence[Any], groups: BlockedGroups) -> _Found:
    violations, unknown = (
        [_finding(cluster, row, groups) for row in rows if row.verdict == verdict] for verdict in (VIOLATION, UNKNOWN)
    )
    return _Found(_counts(rows), violations, unknown)


def _result(
    expectation: Expectation,
    setting: Setting,
    audited: Sequence[_Audited],
    answers: Mapping[str, Mapping[str, _Found | NotApplicable | Kip848Error]],
) -> Result:
    """Return the result of an expectation from its answers in all clusters."""
    own = {cluster: each[expectation.name] for cluster, each in answers.items()}
    found = {cluster: each for cluster, each in own.items() if isinstance(each, _Found)}
    violations = [finding for each in found.values() for finding in each.violations]
    by_cluster = {cluster: each.counts for cluster, each in found.items()}
    passed, errors, warnings, unknowns = map(sum, zip(Counts(0, 0, 0, 0), *by_cluster.values(), strict=True))
    return Result(
        name=expectation.name,
        description=expectation.description,
        severity=setting.severity,
        passed=passed,
        errors=errors,
        warnings=warnings,
        unknowns=unknowns,
        violations=sorted(violations, key=lambda finding: finding.severity == WARN)[:KEPT],
        unknown=[finding for each in found.values() for finding in each.unknown][:KEPT],
        by_cluster=by_cluster,
        faults={cluster: each for cluster, each in own.items() if isinstance(each, Kip848Error)},
        not_applicable={cluster: each for cluster, each in own.items() if isinstance(each, NotApplicable)},
        without=[text for of in audited if of.run.cluster in found for text in _without(expectation, of)],
        is_named=setting.is_named,
    )


def _counts(rows: Sequence[Any]) -> Counts:
    """Return the counts of a cluster: the first row of each verdict has them."""
    first = {row.verdict: row for row in rows if row.nth == 1}
    total = {verdict: first[verdict].total if verdict in first else 0 for verdict in (PASS, VIOLATION, UNKNOWN)}
    errors = first[VIOLATION].errors if VIOLATION in first else 0
    return Counts(total[PASS], errors, total[VIOLATION] - errors, total[UNKNOWN])


def _age(row: Any) -> int | None:  # noqa: ANN401 - as below
    """Return for how long a finding lasts; None too if a broker's clock went back."""
    lasts_ms = getattr(row, LASTS, None)
    return None if lasts_ms is None or lasts_ms < 0 else round(lasts_ms)


def _finding(cluster: str, row: Any, groups: BlockedGroups) -> Finding:  # noqa: ANN401 - a row of any query
    found = {name: getattr(row, name) for name in DETAIL} | {"message": with_numbers(row.message or "")}
    advice = getattr(row, ADVICE, None)
    finding = Finding(cluster, **found, advice=advice and with_numbers(advice), age_ms=_age(row))
    return groups.complete(finding, names_blocker=bool(getattr(row, NAMES_BLOCKER, False)))
