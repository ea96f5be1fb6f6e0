"""What the page says, as plain data: read from the tables with a few Spark jobs for each cluster, and bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import functions as F

from kip848_records.check import check
from kip848_records.explain import waiting_texts
from kip848_records.quality.expectations import Audited
from kip848_records.report.page.groups import counts, groups
from kip848_records.report.page.histories import histories
from kip848_records.summary import NOT_CONVERGED, slowest_epochs
from kip848_records.tables.delta import read_table
from kip848_records.terminal import with_ms
from kip848_records.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from kip848_records.config import Setting
    from kip848_records.quality.results import Verdict

GROUPS_LISTED: Final = 20_000
"""How many groups of each cluster the page lists."""
GROUPS_DRAWN: Final = 6_000
"""Of how many groups of each cluster the page may tell what happened."""
RECORDS_DRAWN: Final = 1_000_000
"""With how many types 8 in all: what comes to the driver is bounded by them."""
_SLOWEST: Final = 10
_BUCKETS: Final = 120
_STEPS_S: Final = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400)

Fields: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True)
class Contents:
    """What is known of the clusters in a folder of tables. Times are in ms since 1970, UTC.

    `groups`: rows of `groups.groups` with ``cluster``, the worst first; `counts` counts all that there are by state,
    protocol and convergence. `histories`: of the first of them, by cluster and group id, the rows that
    `histories.histories` returns, by name, and in ``totals`` how many there are; in place of ``behind``, ``waiting``:
    the texts of `explain.waiting_texts`, and ``free``, of `histories.histories`. `slowest`: rows of `epoch_timeline`.
    `bumps`: how many epochs began, ``epochs``, by ``cause`` and ``at_s``, the start of a span of `step_s` seconds, and
    of the first one ``partition`` and ``bump_offset``.
    """

    folder: str
    verdict: Verdict
    groups: Sequence[Fields]
    counts: Mapping[tuple[str, str, str], int]
    histories: Mapping[tuple[str, str], Fields]
    slowest: Sequence[Fields]
    bumps: Sequence[Fields]
    step_s: int


def contents(spark: SparkSession, out: str, settings: Mapping[str, Setting], cluster: str | None) -> Contents:
    """Read what the page says of one cluster, or of all that have tables in the folder `out`.

    `settings` are those of `config.load_settings`. Raises InputError as `check.check` does.
    """
    verdict = check(spark, out, settings, cluster=cluster)
    audits = {
        name: Audited(partial(_of_cluster, spark, out, name), at, dialect="")
        for name, at in verdict.captured_at.items()
    }
    failed = {(finding.cluster, finding.group_id) for result in verdict.results for finding in result.violations}
    listed = sorted(
        (row | {"cluster": name} for name, audited in audits.items() for row in _rows(groups(audited), GROUPS_LISTED)),
        key=partial(_badness, failed),
    )
    step = _step(audits.values())
    slowest = (row | {"cluster": name} for name, audited in audits.items() for row in _slowest(audited))
    return Contents(
        folder=out,
        verdict=verdict,
        groups=listed,
        counts=sum((_counts(audited) for audited in audits.values()), Counter()),
        histories={
            (name, group): history
            for name, audited in audits.items()
            for group, history in _histories(spark, audited, _drawn(listed, name)).items()
        },
        slowest=sorted(slowest, key=lambda row: -row["rebalance_lag_ms"])[:_SLOWEST],
        bumps=[row for audited in audits.values() for row in _bumps(audited, step)],
        step_s=step,
    )


def _of_cluster(spark: SparkSession, out: str, cluster: str, table: str) -> DataFrame:
    return read_table(spark, out, table, cluster).drop("cluster")


def _rows(rows: DataFrame, limit: int) -> list[Fields]:
    return [row.asDict(recursive=True) for row in rows.limit(limit).collect()]


def _badness(failed: set[tuple[str, str | None]], group: Fields) -> tuple[object, ...]:
    """Return what sorts groups: not converged the longest, then those with violations, then the slowest."""
    slowest = (group["slowest"] or {}).get("rebalance_lag_ms", -1)
    if group["convergence"] == NOT_CONVERGED:
        return (0, group["since_ms"], group["group_id"])
    return (1 if (group["cluster"], group["group_id"]) in failed else 2, -slowest, group["group_id"])


def _counts(audited: Audited) -> Counter[tuple[str, str, str]]:
    return Counter({(row.state, row.group_type, row.convergence): row.groups for row in counts(audited).collect()})


def _slowest(audited: Audited) -> list[Fields]:
    epochs = with_ms(slowest_epochs(audited.table("epoch_timeline")), "bumped_at").drop(
        "bumped_at", "assigned_at", "converged_at"
    )
    return _rows(epochs, _SLOWEST)


def _step(audits: Iterable[Audited]) -> int:
    """Return the seconds of a span, so that there are not too many of them."""
    second = F.unix_seconds("bumped_at")
    lasted = 0
    for audited in audits:
        (row,) = _rows(audited.table("epoch_timeline").agg((F.max(second) - F.min(second)).alias("lasted")), 1)
        lasted = max(lasted, row["lasted"] or 0)
    return next((step for step in _STEPS_S if lasted <= step * _BUCKETS), lasted // _BUCKETS + 1)


def _bumps(audited: Audited, step: int) -> list[Fields]:
    start = (F.floor(F.unix_seconds("bumped_at") / step) * step).alias("at_s")
    epochs = audited.table("epoch_timeline").where("bumped_at IS NOT NULL").groupBy(start, "cause")
    first = F.min(F.struct("bumped_at", "partition", "bump_offset"))
    counted = epochs.agg(
        F.count("*").alias("epochs"), *(first[name].alias(name) for name in ("partition", "bump_offset"))
    )
    return [row.asDict() for row in counted.orderBy("at_s", "cause").collect()]


def _drawn(listed: Sequence[Fields], cluster: str) -> list[Fields]:
    """Return the first groups of a cluster, as many as may be told of."""
    drawn: list[Fields] = []
    records = 0
    for group in (each for each in listed if each["cluster"] == cluster):
        records += group["records"] or 0
        if len(drawn) == GROUPS_DRAWN or (records > RECORDS_DRAWN and drawn):
            break
        drawn.append({"group_id": group["group_id"]})
    return drawn


def _histories(spark: SparkSession, audited: Audited, drawn: Sequence[Fields]) -> dict[str, Fields]:
    """Return what happened in groups, by their ids."""
    if not drawn:
        return {}
    told: dict[str, Fields] = {group["group_id"]: {"totals": {}} for group in drawn}
    chosen = spark.createDataFrame([(group_id,) for group_id in told], "group_id string")
    for name, rows in in_order(_collected, histories(audited, chosen).items()):
        by_group = defaultdict(list)
        for row in rows:
            by_group[row["group_id"]].append(row)
        for group_id, of_group in by_group.items():
            told[group_id]["totals"][name] = of_group[0]["total"]
            told[group_id].update(_told(name, of_group))
    return told


def _collected(item: tuple[str, DataFrame]) -> tuple[str, list[Any]]:
    name, rows = item
    in_turn = rows.orderBy("nth")
    # Rows, not Arrow, for those that `explain` words.
    return name, in_turn.collect() if name == "behind" else in_turn.toArrow().to_pylist()


def _told(name: str, rows: list[Any]) -> Fields:
    if name == "behind":
        of_rows: Sequence[Row] = rows
        free = [each.asDict() for row in of_rows for each in row.free or ()]
        return {"waiting": list(waiting_texts(of_rows)), "free": free}
    left_out = ("group_id", "total", "nth")
    return {name: [{key: value for key, value in row.items() if key not in left_out} for row in rows]}
