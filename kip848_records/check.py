"""`kip848 check`: evaluates each expectation by one query per cluster, on the tables of an audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.errors import InputError, Kip848Error
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.captures import capture_limits
from kip848_records.expectations.results import OFF, PASS, UNKNOWN, VIOLATION, WARN, Counts, Finding, Result, Verdict
from kip848_records.expectations.sql import DETAIL, NAMES_BLOCKER, query
from kip848_records.report.blockers import blocked_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.expectations import Expectation
    from kip848_records.expectations.files import Setting
    from kip848_records.queries.tables import Run, Tables
    from kip848_records.report.advice import Advice

KEPT: Final = 1000
"""How many violations, and how many unknown results, are kept per expectation; all of them are counted."""


def check(
    tables: Tables,
    settings: Mapping[str, Setting],
    *,
    expectations: Sequence[Expectation] = EXPECTATIONS,
    cluster: str | None = None,
    now: datetime | None = None,
) -> Verdict:
    """Evaluate expectations about one cluster, or about all that have tables; return the results.

    `settings`: those of every expectation, by name, from `config.load_settings`; expectations that are off are skipped.
    `now`: the time by which the age of the audit counts; by default the present. Raises InputError if there are
    no tables of an audit, or none of that cluster, and if the SQL of an expectation of the user's fails. If that of one
    of this package fails, its result has the error.
    """
    wanted = [each for each in expectations if _is_on(settings[each.name])]
    runs = tables.chosen_runs(cluster)
    now = now or datetime.now(UTC)
    results, advice = [], BlockerAdvice(tables)
    for each in wanted:
        found: dict[str, _Found] = {}
        faults: dict[str, Exception] = {}
        for run in runs:
            try:
                found[run.cluster] = _found(run.cluster, _evaluate(tables, run, each, settings[each.name], now), advice)
            except Kip848Error:
                raise
            except Exception as error:  # noqa: BLE001 - the results of the other expectations stand
                faults[run.cluster] = error
        results.append(_result(each, settings[each.name], found, faults))
    captured_at = {run.cluster: run.captured_at for run in runs}
    limits = {run.cluster: capture_limits(tables, run.cluster) for run in runs}
    return Verdict(tables.shown, captured_at, results, limits)


def _evaluate(tables: Tables, run: Run, expectation: Expectation, setting: Setting, now: datetime) -> list[Any]:
    """Return the rows of `sql.query`."""
    try:
        text, parameters = query(expectation, setting, KEPT)
        return tables.rows(text, run.cluster, **parameters, captured_at=run.captured_at, dialect=run.dialect, now=now)
    except Kip848Error:
        raise
    except Exception as error:
        if expectation in EXPECTATIONS:
            raise
        # Engines raise errors of many types, and the user wrote the SQL.
        reason = " ".join(str(error).split("\n\n")[0].split()) or type(error).__name__
        raise InputError.bad_expectation(expectation.path or expectation.name, reason[:300]) from error


def _is_on(setting: Setting) -> bool:
    return any(each.severity != OFF for each in (setting, *setting.groups.values()))


class BlockerAdvice:
    """The advice of all reports about the blocker of a group's ongoing rebalance, read once for each cluster."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._found: dict[str, dict[tuple[str | None, int | None], Advice]] = {}

    def complete(self, finding: Finding) -> Finding:
        """Return a finding with the blocker and its sentence; unchanged if its group has no ongoing rebalance."""
        cluster = finding.cluster
        if cluster not in self._found:
            blocked = blocked_groups(self._tables, cluster)
            self._found[cluster] = {(key.group_id, key.partition): each.advice for key, each in blocked.items()}
        advice = self._found[cluster].get((finding.group_id, finding.partition))
        if advice is None:
            return finding
        return replace(finding, member_id=advice.member_id, message=f"{finding.message}: {advice.sentence}")


class _Found(NamedTuple):
    """The findings of an expectation in one cluster."""

    counts: Counts
    violations: Sequence[Finding]
    unknown: Sequence[Finding]


def _found(cluster: str, rows: Sequence[Any], advice: BlockerAdvice) -> _Found:
    violations, unknown = (
        [_finding(cluster, row, advice) for row in rows if row.verdict == verdict] for verdict in (VIOLATION, UNKNOWN)
    )
    return _Found(_counts(rows), violations, unknown)


def _result(
    expectation: Expectation, setting: Setting, found: Mapping[str, _Found], faults: Mapping[str, Exception]
) -> Result:
    """Return the result of an expectation from what it found in all clusters."""
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
        faults=faults,
    )


def _counts(rows: Sequence[Any]) -> Counts:
    """Return the counts of a cluster: the first row of each verdict has them."""
    first = {row.verdict: row for row in rows if row.nth == 1}
    total = {verdict: first[verdict].total if verdict in first else 0 for verdict in (PASS, VIOLATION, UNKNOWN)}
    errors = first[VIOLATION].errors if VIOLATION in first else 0
    return Counts(total[PASS], errors, total[VIOLATION] - errors, total[UNKNOWN])


def _finding(cluster: str, row: Any, advice: BlockerAdvice) -> Finding:  # noqa: ANN401 - a row of any query
    finding = Finding(cluster=cluster, **{name: getattr(row, name) for name in DETAIL})
    return advice.complete(finding) if getattr(row, NAMES_BLOCKER, False) else finding
