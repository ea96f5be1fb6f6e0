"""Retention of our own tables: what is old enough goes, files become few, and those that no table has are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.landing import Scratch, scratch
from kip848_records.live.kept_log import KeptLog, unfinished_clusters
from kip848_records.live.retention import ended_before, prunable, prune
from kip848_records.live.update import Names, bring_up_to_date
from kip848_records.tables.delta import ClusterTables, write_tables
from kip848_records.tables.errors import TablesError
from kip848_records.tables.existing import is_of_copy, prepare_tables
from kip848_records.tables.places import delta_table, is_there, read, work_folder
from kip848_records.tables.specs import AUDIT_RUNS, TABLES
from kip848_records.tables.writers import only_writer
from kip848_records.threads import several

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from pyspark.sql import SparkSession


DAYS_OF_FILES = 7
"""How long a reader may go on with what it opened: Delta's own default for VACUUM."""


@dataclass(frozen=True)
class Retention:
    """What is to become of one cluster's rows.

    `since_ms`: what ended before goes. `rows`: how many rows go, by table; of all tables, if the cluster's partitions
    were set aside before that time. `is_copy`: the tables are of a copy, and each audit replaces them: nothing goes.
    """

    cluster: str
    since_ms: int | None
    rows: Mapping[str, int]
    is_copy: bool = False
    is_set_aside: bool = False


def plan(spark: SparkSession, out: str, keep: timedelta) -> list[Retention]:
    """Return what a retention of `keep` would do to each cluster in the folder `out`, without doing it.

    Times count back from when a cluster was captured last, so nothing goes because nobody audited for a while. Raises
    InputError where there are no tables, or those of a run that did not finish.
    """
    if not is_there(spark, out, AUDIT_RUNS.name):
        raise TablesError.not_audited(out, AUDIT_RUNS.name)
    prepare_tables(spark, out, migrate=False)
    _check_finished(spark, out)
    runs = read(spark, out, AUDIT_RUNS.name)
    # Of the last run, for an earlier one may have been given a wrong time. Versions that had no such columns knew no
    # runs, and never set anything aside.
    captured = F.max_by(F.unix_millis("captured_at"), "run" if "run" in runs.columns else "captured_at")
    aside = F.max("is_set_aside") if "is_set_aside" in runs.columns else F.lit(False)  # noqa: FBT003
    found = runs.groupBy("cluster").agg(captured.alias("captured_ms"), aside.alias("is_set_aside")).collect()
    ends = {row.cluster: _known_until(KeptLog(spark, out, row.cluster), row.captured_ms) for row in found}
    newest = max((ms for ms in ends.values() if ms is not None), default=None)
    plans = []
    for row in sorted(found, key=lambda row: row.cluster):
        end = ends[row.cluster]
        until = newest if row.is_set_aside else end
        since_ms = None if until is None else until - round(keep.total_seconds() * 1000)
        if row.is_set_aside:
            is_old = end is not None and since_ms is not None and end < since_ms
            plans.append(_of_set_aside(ClusterTables(spark, out, row.cluster), since_ms, is_old=is_old))
        else:
            plans.append(_of_cluster(KeptLog(spark, out, row.cluster), since_ms))
    return plans


def maintain(
    spark: SparkSession,
    out: str,
    plans: list[Retention],
    progress: Callable[[str], None],
    scratch_folder: str | None = None,
) -> None:
    """Do what was planned, then OPTIMIZE and VACUUM every table.

    Interrupted, the next audit makes the tables fit what is kept, and the next `maintain` goes on. Raises InputError
    where an audit was interrupted since it was planned: nothing has changed then.
    """
    work = work_folder(out, scratch_folder)
    with only_writer(spark, work), scratch(spark, work) as folder:
        prepare_tables(spark, out)
        _check_finished(spark, out)
        for number, each in enumerate(plans):
            if not any(each.rows.values()):
                continue
            if each.is_set_aside:
                progress(f"removing cluster {each.cluster!r}")
                # By its runs it is known: they go last.
                others = [name for name in TABLES if name != AUDIT_RUNS.name]
                for names in (others, [AUDIT_RUNS.name]):
                    write_tables(ClusterTables(spark, out, each.cluster), dict.fromkeys(names), lambda _: None)
            elif each.since_ms is not None:
                progress(f"removing what ended before the time to keep, of cluster {each.cluster!r}")
                own = Scratch(f"{folder.path}/{number}")
                _prune(KeptLog(spark, out, each.cluster), each.since_ms, own, progress)

        def optimize(name: str) -> None:
            if is_there(spark, out, name):
                progress(f"optimizing {name}")
                table = delta_table(spark, out, name)
                table.optimize().executeCompaction()
                table.vacuum(DAYS_OF_FILES * 24)

        several(optimize, TABLES)


def _known_until(kept: KeptLog, captured_ms: int | None) -> int | None:
    """Return until when a topic is known: not beyond when it was read, whatever a record claims; None of a copy."""
    reads = kept.reads()
    return None if captured_ms is None or not reads else min(captured_ms, reads[-1].read_ms)


def _check_finished(spark: SparkSession, out: str) -> None:
    for cluster in sorted(unfinished_clusters(spark, out)):
        raise TablesError.unfinished_run(out, cluster)


def _prune(kept: KeptLog, since_ms: int, folder: Scratch, progress: Callable[[str], None]) -> None:
    gone, reads = prunable(kept, since_ms)
    so_far = prune(kept, folder.keep(gone, "gone"), reads)
    bring_up_to_date(kept, so_far, Names({}, {}), folder, progress)


def _of_cluster(kept: KeptLog, since_ms: int | None) -> Retention:
    if is_of_copy(kept.spark, kept.out, kept.cluster):
        return Retention(kept.cluster, since_ms, {}, is_copy=True)
    if since_ms is None or not kept.reads():
        return Retention(kept.cluster, None, {})
    gone, _ = prunable(kept, since_ms)
    rows = {"log": gone.count()}
    for name in TABLES:
        if (ended := ended_before(name, since_ms)) is not None and kept.is_there(name):
            rows[name] = kept.read(name).where(ended).count()
    return Retention(kept.cluster, since_ms, {name: count for name, count in rows.items() if count})


def _of_set_aside(tables: ClusterTables, since_ms: int | None, *, is_old: bool) -> Retention:
    names = [name for name in TABLES if tables.is_there(name)] if is_old else []
    rows = {name: tables.read(name).count() for name in names}
    return Retention(
        tables.cluster, since_ms, {name: count for name, count in rows.items() if count}, is_set_aside=True
    )
