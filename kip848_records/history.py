"""How much of a partition's history the copies of its log hold.

Compaction keeps the last value of every key, so a copy always gives the present state, unless its head is missing. What
happened on the way is told in full only from some offset on: no record is missing between there and the copy's last
offset. Copies that overlap, or that follow each other without a gap, tell one story.

It starts with one of them, the base. What only other copies hold of the time before is stale: those records were still
there when another copy was taken, and the tombstones that deleted their keys may have been removed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.sources.log import is_of_log, is_readable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COPY = ("partition", "copy")


def copy_history(log: DataFrame) -> DataFrame:
    """Tell what each copy holds of each partition.

    Args:
        log: log rows, each (partition, offset) once (`sources.copies`). Offset commits may be left out.

    Returns:
        One row per partition and copy: ``partition, copy, first_offset, last_offset, complete_from, head_missing,
        is_base, stale_from``. The copy holds every record from ``complete_from`` to ``last_offset``; null where that
        cannot be told. ``head_missing``: the start of the log is not there, though compaction keeps it; null where that
        cannot be told. ``is_base``: true for one copy of each partition, with which its history starts;
        ``stale_from`` is 0 for it (see `with_continuations`), null for all others.

        Segment files tell exactly where they start and end and where records are missing. Of rows of the Kafka source
        nobody can tell that some were filtered out, or that they come from several points in time.
    """
    rows = log.filter(F.col("partition").isNotNull() & is_of_log()).withColumn("copy", F.explode("copies"))
    # Parquet can skip those of segments.
    of_dumps = rows.filter(is_readable() & F.col("compaction_gap").isNull())
    spans, files, runs = rows.transform(_spans), rows.transform(_files), of_dumps.transform(_unbroken)
    last_offset = F.coalesce(F.array_max("ends"), "last_record")
    by_files = F.greatest("gap", F.array_max(_starts_of_runs()))
    by_rows = F.least("last_run", "second_of_key")
    is_start_unread = F.coalesce(F.col("first_unread") < F.array_min("files"), F.lit(False))  # noqa: FBT003
    starts_late = (F.col("start") > 0) | is_start_unread
    of_segments = F.size("files") > 0
    starts_at_0 = F.coalesce("start", "first_record") == 0
    ends = spans.join(files, [*_COPY], "full").withColumn("last_offset", last_offset)
    return (
        ends.join(rows.transform(_last_unread, ends), [*_COPY], "left")
        .join(runs, [*_COPY], "left")
        .select(
            *_COPY,
            F.coalesce("start", "first_record").alias("first_offset"),
            "last_offset",
            F.greatest(F.coalesce(by_files, by_rows), F.col("last_unread") + 1).alias("complete_from"),
            F.when(of_segments, starts_late).when(starts_at_0, F.lit(False)).alias("head_missing"),  # noqa: FBT003
            F.col("last_unread").isNotNull().alias("is_damaged"),
        )
        .transform(_with_base)
    )


def known_history(copies: DataFrame) -> DataFrame:
    """Return one row per partition: ``partition, complete_from, head_missing``, as its base has them, ``last_offset``.

    From ``complete_from`` on no record is missing up to the last offset of any copy; null where that cannot be told.
    ``head_missing``: of a group in this partition nothing is known before its first deletion.

    Args:
        copies: the rows of `copy_history`.
    """
    ends = copies.groupBy("partition").agg(F.max("last_offset").alias("last_offset"))
    return copies.filter("is_base").select("partition", "complete_from", "head_missing").join(ends, "partition")


def stale_places(log: DataFrame, copies: DataFrame) -> DataFrame:
    """Return ``partition, offset`` of the records that only other copies than the base hold, of before its history.

    Args:
        log: log rows, as above.
        copies: the rows of `copy_history`, or of `with_continuations`.
    """
    return _missing_in_base(log, copies).filter(F.col("offset") >= F.col("stale_from")).select("partition", "offset")


def with_continuations(copies: DataFrame, log: DataFrame) -> DataFrame:
    """Tell where the base only goes on from where other copies end, as dumps do that were read one after the other.

    A base that starts behind offset 0 has been read, or kept, from there on, if nothing is missing in it of what other
    copies hold behind its start, and if those lead up to it without a gap: then ``stale_from`` is its start, for of the
    records before it says nothing, and the head is that of the first copy. If there is a gap instead, nobody can tell
    what became of the records before: the head is missing.

    Args:
        copies: the rows of `copy_history`.
        log: log rows, as above.
    """
    by_start = Window.partitionBy("partition").orderBy("first_offset", F.desc("last_offset"), "copy")
    before = by_start.rowsBetween(Window.unboundedPreceding, -1)
    bridged = F.coalesce(F.col("first_offset") <= F.max("last_offset").over(before) + 1, F.lit(True))  # noqa: FBT003
    lost = (
        _missing_in_base(log, copies)
        .filter(F.col("offset") >= F.col("base_start"))
        .groupBy("partition")
        .agg(F.count("*").alias("lost"))
    )
    led_up_to = F.min("bridged").over(by_start.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    begins_later = F.col("is_base") & (F.col("first_offset") > F.min("first_offset").over(by_start))
    continues = begins_later & F.col("led_up_to") & F.col("lost").isNull()
    cut_off = begins_later & ~F.col("led_up_to") & F.col("head_missing").isNull()
    return (
        copies.withColumn("bridged", bridged)
        .withColumns({"led_up_to": led_up_to, "first_head": F.first("head_missing").over(by_start)})
        .join(F.broadcast(lost), "partition", "left")
        .withColumns({"continues": continues, "cut_off": cut_off})
        .withColumns(
            {
                "stale_from": F.when(F.col("continues"), F.col("first_offset")).otherwise(F.col("stale_from")),
                "head_missing": F.when(F.col("continues"), F.col("first_head"))
                .when(F.col("cut_off"), F.lit(True))  # noqa: FBT003
                .otherwise(F.col("head_missing")),
            }
        )
        .select(copies.columns)
    )


def unread_elsewhere(log: DataFrame, copies: DataFrame) -> DataFrame:
    """Return ``partition, offset`` of what could not be read in other copies than the base, where the base reaches.

    No last value of a key is lost with it: those the base has.

    Args:
        log: log rows, as above.
        copies: the rows of `copy_history`, or of `with_continuations`.
    """
    base = copies.filter("is_base").select("partition", F.col("copy").alias("base"), "first_offset", "last_offset")
    return (
        log.filter(F.col("error").isNotNull() & F.col("key").isNull())
        .join(F.broadcast(base), "partition")
        .filter("offset BETWEEN first_offset AND last_offset")
        .groupBy("partition", "offset")
        .agg(F.bool_or(F.array_contains("copies", F.col("base"))).alias("in_base"))
        .filter("NOT in_base")
        .select("partition", "offset")
    )


def _missing_in_base(log: DataFrame, copies: DataFrame) -> DataFrame:
    base = copies.filter("is_base").select(
        *("partition", "complete_from", "stale_from"),
        F.col("copy").alias("base"),
        F.col("first_offset").alias("base_start"),
    )
    is_told = F.coalesce(F.col("offset") >= F.col("complete_from"), F.lit(False))  # noqa: FBT003
    is_missing = is_readable() & ~is_told & ~F.array_contains("copies", F.col("base"))
    return log.join(F.broadcast(base), "partition").filter(is_missing)


def _spans(rows: DataFrame) -> DataFrame:
    ends = F.min("offset").alias("first_record"), F.max("offset").alias("last_record")
    return rows.filter(is_readable()).groupBy(*_COPY).agg(*ends)


def _files(rows: DataFrame) -> DataFrame:
    """Gather what segment files tell (`sources.log.LOG_SCHEMA`), and where the first error is."""

    def told(control: str) -> Column:
        return F.when(F.col("control") == control, F.col("offset"))

    return (
        rows.filter(~is_readable())
        .groupBy(*_COPY)
        .agg(
            F.max(told("start")).alias("start"),
            F.array_sort(F.collect_list(told("file"))).alias("files"),
            F.max(told("gap")).alias("gap"),
            F.array_sort(F.collect_list(told("end"))).alias("ends"),
            F.min(F.when(F.col("error").isNotNull(), F.col("offset"))).alias("first_unread"),
        )
    )


def _last_unread(rows: DataFrame, ends: DataFrame) -> DataFrame:
    """Tell of each copy up to where something could not be read. At the end that is no gap: the copy ends before it."""
    unread = rows.filter(F.col("error").isNotNull()).select(*_COPY, "offset")
    inside = unread.join(F.broadcast(ends.select(*_COPY, "last_offset")), [*_COPY]).filter("offset < last_offset")
    return inside.groupBy(*_COPY).agg(F.max("offset").alias("last_unread"))


def _starts_of_runs() -> Column:
    """Return where those files start, of `files`, that do not follow on the end of another."""

    def starts(file: Column, index: Column) -> Column:
        follows = F.coalesce(file <= F.get("ends", index - 1) + 1, F.lit(False))  # noqa: FBT003
        return F.when(~follows, file)

    return F.transform("files", starts)


def _unbroken(records: DataFrame) -> DataFrame:
    """Tell of copies that do not show why records are missing from which offset on none is, in two ways.

    ``last_run``: where the last unbroken run of offsets starts. Transaction markers and offset commits that are left
    out break one too. ``second_of_key``: the second of two records of one key, of the first such pair. Had the cleaner
    ever reached it, the first would be gone; so nothing was removed from there on. Offset commits of transactions go by
    other rules, and no other record is ever written in one.
    """
    in_order = Window.partitionBy(*_COPY).orderBy("offset")
    is_plain = (F.col("transaction") == "none") & F.col("key").isNotNull()
    of_key = Window.partitionBy(*_COPY, "key", is_plain).orderBy("offset")
    offset = F.col("offset")
    before = {"before": F.lag("offset").over(in_order), "of_key_before": F.lag("offset").over(of_key)}
    starts_run = F.col("before").isNull() | (offset > F.col("before") + 1)
    is_second = is_plain & (offset > F.col("of_key_before"))
    return (
        records.withColumns(before)
        .groupBy(*_COPY)
        .agg(
            F.max(F.when(starts_run, offset)).alias("last_run"),
            F.min(F.when(is_second, offset)).alias("second_of_key"),
        )
    )


def _with_base(copies: DataFrame) -> DataFrame:
    """Add ``is_base``. Copies that overlap or touch make a chain; the one that reaches the highest offset counts.

    The first copy of that chain is the base; but none whose head is missing, nor one that cannot be read in full, if
    there is another: only the base is asked for what compaction left.
    """
    of_partition = Window.partitionBy("partition")
    so_far = of_partition.orderBy("complete_from", "last_offset", "copy")
    # One of unknown history is a chain of its own.
    end = F.when(F.col("complete_from").isNotNull(), F.col("last_offset"))
    reached = F.max(end).over(so_far.rowsBetween(Window.unboundedPreceding, -1))
    begins = F.coalesce(F.col("complete_from") > reached + 1, F.lit(True))  # noqa: FBT003
    highest = F.max("last_offset").over(of_partition)
    preference = of_partition.orderBy(
        F.desc("reaches_end"),
        F.col("complete_from").isNull(),
        F.coalesce("head_missing", F.lit(False)),  # noqa: FBT003
        "is_damaged",
        "complete_from",
        F.desc("last_offset"),
        "copy",
    )
    return (
        copies.withColumn("begins", begins.cast("int"))
        .withColumn("chain", F.sum("begins").over(so_far))
        .withColumn("reaches_end", F.max("last_offset").over(Window.partitionBy("partition", "chain")) == highest)
        .withColumn("is_base", F.row_number().over(preference) == 1)
        .withColumn("stale_from", F.when(F.col("is_base"), F.lit(0).cast("bigint")))
        .drop("begins", "chain", "reaches_end", "is_damaged")
    )
