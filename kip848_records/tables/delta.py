"""Delta tables: each holds the rows of all clusters, and a write replaces those of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.tables.places import create, delta_table, is_there, read, save, sql_string
from kip848_records.tables.specs import AUDIT_RUNS, TABLES
from kip848_records.tables.writers import is_locked
from kip848_records.threads import both, several

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.tables.columns import TableSpec


@dataclass(frozen=True)
class ClusterTables:
    """The rows of one cluster in the tables of the folder `out`."""

    spark: SparkSession
    out: str
    cluster: str

    def read(self, name: str) -> DataFrame:
        """Return the cluster's rows of a table."""
        return read_table(self.spark, self.out, name, self.cluster)

    def is_there(self, name: str) -> bool:
        """Return whether there is such a table, whatever clusters it has rows of."""
        return is_there(self.spark, self.out, name)


def read_table(spark: SparkSession, out: str, name: str, cluster: str) -> DataFrame:
    """Return one cluster's rows of a table."""
    return read(spark, out, name).filter(F.col("cluster") == cluster)


def write_tables(tables: ClusterTables, frames: Mapping[str, DataFrame | None], done: Callable[[str], None]) -> None:
    """Replace the cluster's rows in each table by those of its DataFrame, or by none, creating tables that are missing.

    Each table changes in one commit: a reader sees the old rows or the new ones. `done` is told every finished table.
    """

    def write(item: tuple[str, DataFrame | None]) -> None:
        name, rows = item
        _replace(tables, TABLES[name], rows)
        done(name)

    several(write, frames.items())


def write_audit(
    tables: ClusterTables,
    records: Mapping[str, DataFrame | None],
    timelines: Callable[[], Mapping[str, DataFrame]],
    runs: DataFrame,
    done: Callable[[str], None],
) -> None:
    """Replace the cluster's rows in every table by those of one audit; `timelines` are made while records are written.

    While the tables are not of one audit, none of them is said to be there: its `runs` go first and come last.
    """
    replace = partial(write_tables, tables, done=done)
    replace({AUDIT_RUNS.name: None})
    both(lambda: replace(timelines()), lambda: replace(records))
    _write(tables, AUDIT_RUNS, runs, has_none=True)
    done(AUDIT_RUNS.name)


def append(tables: ClusterTables, spec: TableSpec, rows: DataFrame, application: str, version: int) -> None:
    """Add rows of the cluster to a table in one commit; not a second time for the same `application` and `version`.

    `version` only grows, and Delta keeps the last one of each application: one that was interrupted may do all again.
    """
    if not tables.is_there(spec.name):
        create(tables.spark, tables.out, spec)
    writer = _shaped(rows, spec, tables.cluster).write.mode("append")
    save(writer.option("txnAppId", application).option("txnVersion", version), tables.out, spec.name)


def upsert(tables: ClusterTables, spec: TableSpec, change: Change, keep: Callable[[DataFrame, str], DataFrame]) -> None:
    """Replace a part of the cluster's rows, in one commit that changes no row that stays as it is.

    `keep` stores what differs, so that Delta, which reads it more than once, reads the same.
    """
    found = tables.read(spec.name).transform(change.part)
    wanted = _shaped(change.rows, spec, tables.cluster)
    changes = keep(_changes(found, wanted, change.key, spec.also_partitioned_by), f"changes-{spec.name}")
    distinct = changes.select("change", "found_in").distinct().collect()
    kinds, is_alone = {row.change for row in distinct}, is_locked(tables.spark, tables.out)
    # Else another run may have inserted the same by now, and Delta lets two appends pass, but not two merges.
    if kinds == {"insert"} and is_alone:
        save(changes.drop("change", "found_in").write.mode("append"), tables.out, spec.name)
    elif kinds:
        values = {column.name: f"s.{column.name}" for column in spec.columns}
        same = [f"t.cluster = {sql_string(tables.cluster)}", *(f"t.{name} = s.{name}" for name in change.key)]
        # So Delta looks at no other files; else another run may have moved the rows by now.
        found_in = sorted({row.found_in for row in distinct} - {None})
        if found_in and is_alone:
            same.append(f"t.{spec.also_partitioned_by} IN ({', '.join(map(sql_string, found_in))})")
        (
            delta_table(tables.spark, tables.out, spec.name)
            .alias("t")
            .merge(changes.alias("s"), " AND ".join(same))
            .whenMatchedDelete("s.change = 'delete'")
            .whenMatchedUpdate(set=dict(values))
            .whenNotMatchedInsert("s.change != 'delete'", values=dict(values))
            .execute()
        )


@dataclass(frozen=True)
class Change:
    """New `rows` for a part of a table: `part` finds that part, and `key` tells a row of it from all others."""

    rows: DataFrame
    part: Callable[[DataFrame], DataFrame]
    key: tuple[str, ...]


def _changes(found: DataFrame, wanted: DataFrame, key: tuple[str, ...], partitioned_by: str | None) -> DataFrame:
    """Return the rows to insert, update or delete (``change``), so that `wanted` are there and not those found.

    ``found_in``: the value of the column `partitioned_by` of the row that was found; null if there is none.
    """
    columns = wanted.columns
    old = found.select(*key, F.struct(*columns).alias("old"))
    new = wanted.select(*key, F.struct(*columns).alias("new"))
    change = F.when(F.col("old").isNull(), "insert").when(F.col("new").isNull(), "delete").otherwise("update")
    found_in = F.lit(None).cast("string") if partitioned_by is None else F.col("old")[partitioned_by]
    return (
        new.join(old, [*key], "full")
        .where(~F.col("new").eqNullSafe(F.col("old")))
        .select(F.coalesce("new", "old").alias("row"), change.alias("change"), found_in.alias("found_in"))
        .select("row.*", "change", "found_in")
    )


def _shaped(rows: DataFrame, spec: TableSpec, cluster: str) -> DataFrame:
    columns = (f"CAST(`{column.name}` AS {column.type.simpleString()}) AS `{column.name}`" for column in spec.columns)
    return rows.withColumn("cluster", F.lit(cluster)).selectExpr(*columns)


def _replace(tables: ClusterTables, spec: TableSpec, rows: DataFrame | None) -> None:
    is_new = not tables.is_there(spec.name)
    if is_new:
        create(tables.spark, tables.out, spec)
    if rows is not None:
        _write(tables, spec, rows, has_none=is_new)
    elif not is_new and not tables.read(spec.name).isEmpty():
        delta_table(tables.spark, tables.out, spec.name).delete(_of_cluster(tables))


def _write(tables: ClusterTables, spec: TableSpec, rows: DataFrame, *, has_none: bool) -> None:
    """Write rows in the place of those that the cluster has in a table; if it surely `has_none`, nobody looks."""
    writer = _shaped(rows, spec, tables.cluster).write
    # To replace rows costs three times what it costs to add some. But two runs that find none would both add theirs,
    # where no lock keeps one of them away.
    if is_locked(tables.spark, tables.out) and (has_none or tables.read(spec.name).isEmpty()):
        writer = writer.mode("append")
    else:
        writer = writer.mode("overwrite").option("replaceWhere", _of_cluster(tables))
    save(writer, tables.out, spec.name)


def _of_cluster(tables: ClusterTables) -> str:
    return f"cluster = {sql_string(tables.cluster)}"
