"""`kip848 check`: expectations about the tables of an audit, judged in one Spark job for each cluster."""

from __future__ import annotations

from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kip848_records.config import OFF
from kip848_records.live.kept_log import unfinished_clusters
from kip848_records.quality import EXPECTATIONS
from kip848_records.quality.expectations import ERROR, JUDGED_SCHEMA, PASS, UNKNOWN, VIOLATION, WARN, Audited
from kip848_records.quality.results import Finding, Result, Verdict
from kip848_records.tables.errors import TablesError
from kip848_records.tables.places import is_there, read_audited
from kip848_records.tables.specs import AUDIT_RUNS, LATEST_STATE
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, Row, SparkSession

    from kip848_records.config import Setting
    from kip848_records.quality import Expectation

KEPT: Final = 1000
"""How many violations of one expectation are kept, and how many unknown ones: all are counted."""

_BUCKETS: Final = 64
_VERDICT: Final = ("expectation", "verdict")
_DETAIL: Final = tuple(name for name in JUDGED_SCHEMA.names if name != "verdict")


def check(
    spark: SparkSession,
    out: str,
    settings: Mapping[str, Setting],
    *,
    expectations: Sequence[Expectation] = EXPECTATIONS,
    cluster: str | None = None,
) -> Verdict:
    """Judge expectations about one cluster, or about all that have tables in the folder `out`.

    `settings` are those of `config.load_settings`; an expectation that is off is left out. Raises InputError where the
    folder does not hold the tables of an audit, or not of that cluster.
    """
    wanted = [each for each in expectations if _is_on(settings[each.name])]
    runs = _runs(spark, out, cluster)
    rows = {run.cluster: _judge(spark, out, run, wanted, settings) for run in runs}
    results = [_result(each, settings[each.name], rows) for each in wanted]
    captured = {run.cluster: None if run.captured_ms is None else utc(run.captured_ms) for run in runs}
    return Verdict(out, captured, results)


def is_audited(spark: SparkSession, out: str) -> bool:
    """Return whether a folder holds the tables of an audit, of any version."""
    return is_there(spark, out, LATEST_STATE.name)


def _runs(spark: SparkSession, out: str, cluster: str | None) -> list[Row]:
    """Return the last run of each cluster: of the one that was asked for, else of all that are still audited."""
    found = read_audited(spark, out, AUDIT_RUNS.name)
    if set(AUDIT_RUNS.schema.names) - set(found.columns):  # an older version's
        raise TablesError.not_audited(out, AUDIT_RUNS.name)
    captured = F.unix_millis("captured_at").alias("captured_ms")
    # Runs of older versions have no number.
    number = F.coalesce("run", F.lit(0))
    last = found.groupBy("cluster").agg(
        F.max_by(F.struct("run", "dialect", "is_set_aside", captured), number).alias("last")
    )
    runs = sorted(last.select("cluster", "last.*").collect(), key=lambda run: run.cluster)
    for unfinished in sorted(unfinished_clusters(spark, out)):
        if cluster in (None, unfinished):
            raise TablesError.unfinished_run(out, unfinished)
    chosen = [run for run in runs if (not run.is_set_aside if cluster is None else run.cluster == cluster)]
    if not chosen:
        raise TablesError.no_such_cluster(out, cluster, [run.cluster for run in runs])
    return chosen


def _judge(
    spark: SparkSession, out: str, run: Row, expectations: Sequence[Expectation], settings: Mapping[str, Setting]
) -> list[Row]:
    """Return what was found of one cluster, as `_first_of_each` has it.

    Counts come with the rows: so one job does, and no rule is asked twice.
    """
    if not expectations:
        return []
    captured_at = None if run.captured_ms is None else utc(run.captured_ms)
    audited = Audited(cache(partial(_of_cluster, spark, out, run.cluster)), captured_at, run.dialect)
    every = reduce(DataFrame.union, [_rows(audited, each, settings[each.name]) for each in expectations])
    return _first_of_each(every).orderBy("expectation", "verdict", "nth").collect()


def _first_of_each(rows: DataFrame) -> DataFrame:
    """Return the first rows of each verdict on each expectation, ``nth``, and with the first the counts of all.

    ``total`` and ``errors``. What passed is one row. The rows of one verdict may be millions, all of one expectation:
    so the first are taken of each bucket, and then of all.
    """
    is_told = F.col("verdict") != PASS
    bucket = F.pmod(F.hash(*(F.col(name) for name in _DETAIL)), F.lit(_BUCKETS))
    alike = rows.withColumns({name: F.when(is_told, F.col(name)) for name in _DETAIL})
    counted = alike.groupBy(*_VERDICT, *_DETAIL).agg(F.count("*").alias("rows")).withColumn("bucket", bucket)
    errors_first = ("severity", *(name for name in _DETAIL if name != "severity"))
    of_bucket, of_verdict = Window.partitionBy(*_VERDICT, "bucket"), Window.partitionBy(*_VERDICT)
    errors = F.sum(F.when(F.col("severity") == ERROR, F.col("rows")).otherwise(0))
    return (
        counted.withColumns({"total": F.sum("rows").over(of_bucket), "errors": errors.over(of_bucket)})
        .withColumn("nth", F.row_number().over(of_bucket.orderBy(*errors_first)))
        .where(F.col("nth") <= KEPT)
        .withColumns(
            {name: F.sum(F.when(F.col("nth") == 1, F.col(name))).over(of_verdict) for name in ("total", "errors")}
        )
        .withColumn("nth", F.row_number().over(of_verdict.orderBy(*errors_first)))
        .where(F.col("nth") <= KEPT)
    )


def _of_cluster(spark: SparkSession, out: str, cluster: str, table: str) -> DataFrame:
    return read_audited(spark, out, table).filter(F.col("cluster") == cluster).drop("cluster")


def _rows(audited: Audited, expectation: Expectation, setting: Setting) -> DataFrame:
    """Return a rule's verdicts with the expectation's name, and with the severity that each would have."""
    severity = _by_group(setting, lambda each: F.lit(each.severity))
    judged = expectation.rule(audited, lambda name: _by_group(setting, partial(_limit, name)))
    return (
        judged.withColumn("configured", severity)
        .where(F.col("configured") != OFF)
        .withColumn("severity", F.coalesce("severity", "configured"))
        .select(F.lit(expectation.name).alias("expectation"), *JUDGED_SCHEMA.names)
    )


def _limit(name: str, setting: Setting) -> Column:
    """Return a limit as a double, for a product of integers may overflow; what is off need not have any."""
    is_needed = setting.severity != OFF or name in setting.limits
    return F.lit(float(setting.limits[name]) if is_needed else None).cast("double")


def _by_group(setting: Setting, value: Callable[[Setting], Column]) -> Column:
    """Return a value of the setting, or for the groups that match a pattern the value of theirs."""
    chosen = None
    for pattern, of_group in setting.groups.items():
        matches = F.col("group_id").like(_like(pattern))
        chosen = (F if chosen is None else chosen).when(matches, value(of_group))
    return value(setting) if chosen is None else chosen.otherwise(value(setting))


def _like(pattern: str) -> str:
    escaped = "".join(f"\\{c}" if c in "\\%_" else c for c in pattern)
    return escaped.replace("*", "%").replace("?", "_")


def _is_on(setting: Setting) -> bool:
    return any(each.severity != OFF for each in (setting, *setting.groups.values()))


def _result(expectation: Expectation, setting: Setting, rows: Mapping[str, Sequence[Row]]) -> Result:
    """Make a result of what was found of all clusters."""
    of_it = [(cluster, row) for cluster, found in rows.items() for row in found if row.expectation == expectation.name]
    first = [row for _, row in of_it if row.nth == 1]
    totals = {
        verdict: sum(row.total for row in first if row.verdict == verdict) for verdict in (PASS, VIOLATION, UNKNOWN)
    }
    errors = sum(row.errors for row in first if row.verdict == VIOLATION)
    violations = [_finding(cluster, row) for cluster, row in of_it if row.verdict == VIOLATION]
    return Result(
        name=expectation.name,
        description=expectation.description,
        severity=setting.severity,
        passed=totals[PASS],
        errors=errors,
        warnings=totals[VIOLATION] - errors,
        unknowns=totals[UNKNOWN],
        violations=sorted(violations, key=lambda finding: finding.severity == WARN)[:KEPT],
        unknown=[_finding(cluster, row) for cluster, row in of_it if row.verdict == UNKNOWN][:KEPT],
    )


def _finding(cluster: str, row: Row) -> Finding:
    return Finding(cluster=cluster, **{name: row[name] for name in _DETAIL})
