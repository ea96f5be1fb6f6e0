"""How much of a live topic's history is kept: all of it, or what ended after a time.

The kept log is compacted as Kafka does it, up to the first record that is young enough: of what is older the last value
of each key stays, so the present state, and every later one, is told as before. What ended before is no longer told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.live.kept_log import KeptLog, Read, latest
from kip848_records.live.touched import open_groups
from kip848_records.replay import last_of_keys
from kip848_records.sources.log import key_of_types
from kip848_records.tables.places import delta_table
from kip848_records.tables.specs import LOG
from kip848_records.timeline.operations import GROUP_EPOCH
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

_HAS_END: Final = "status NOT IN ('open', 'unknown') AND history NOT IN ('right_censored', 'censored')"
_ENDED: Final = {
    "epoch_timeline": f"{_HAS_END} AND coalesce(converged_at, assigned_at, bumped_at) < {{}}",
    "rebalance_lag": f"{_HAS_END} AND coalesce(reconciled_at, target_at) < {{}}",
    "partition_handover": "acquired_at < {}",
    "group_state_timeline": "to_at < {}",
    "group_event": "timestamp < {}",
}
"""Table -> which of its rows tell of something that had ended by a time.

Where the end itself is not in a row, as of an epoch whose group emptied, the last that is known of it counts.
"""


def ended_before(table: str, ms: int) -> str | None:
    """Return a condition for the rows that had ended by a time, ms since 1970; None for what has no end."""
    return _ENDED[table].format(f"timestamp_millis({ms})") if table in _ENDED else None


def without_ended(tables: Mapping[str, DataFrame], reads: list[Read]) -> dict[str, DataFrame]:
    """Leave out what had ended before the time from which on the log is kept."""
    since = reads[-1].kept_since_ms
    if since is None:
        return dict(tables)
    return {
        name: rows if (ended := ended_before(name, since)) is None else rows.where(f"NOT coalesce({ended}, false)")
        for name, rows in tables.items()
    }


def is_pruned_after(reads: list[Read], run: int) -> bool:
    """Return whether the kept log was pruned after a run: then all tables are to be made anew."""
    return any(read.is_pruning for read in reads if read.run > run)


def prunable(kept: KeptLog, since_ms: int) -> tuple[DataFrame, list[Read]]:
    """Return the rows that need not be kept (``run, partition, offset``), and what is then known of the log.

    Kept are the records from the first one of that time on; of those before, the last value of each key, the deletions
    of groups, by which their lives are counted, what did not decode, for it may have been the last of its key, the
    witnesses that nothing was compacted, and all records of groups that have something open, however old that is.
    """
    rows = kept.rows()
    so_far = kept.reads()
    before = latest(so_far)
    young = rows.where(F.col("timestamp") >= F.timestamp_millis(F.lit(since_ms))).groupBy("partition")
    starts = {row.partition: row.start for row in young.agg(F.min("offset").alias("start")).collect()}
    kept_from = {
        partition: max(read.kept_from, starts.get(partition, read.until_offset)) for partition, read in before.items()
    }
    number = kept.next_run(so_far)
    reads = [
        replace(
            read,
            run=number,
            version=__version__,
            from_offset=read.until_offset,
            is_pruning=True,
            is_break=False,
            kept_from=kept_from[partition],
            kept_since_ms=max(since_ms, read.kept_since_ms or since_ms),
            note=f"kept since {utc_text(utc(since_ms))}, from offset {kept_from[partition]} on",
        )
        for partition, read in sorted(before.items())
    ]
    places = kept.spark.createDataFrame(list(kept_from.items()), "partition int, kept_from bigint")
    old = rows.join(F.broadcast(places), "partition").where("offset < kept_from")
    last = last_of_keys(old.where("key IS NOT NULL")).where("value IS NOT NULL").select("partition", "offset")
    is_deletion = key_of_types([GROUP_EPOCH]) & F.col("value").isNull()
    witnesses = [(partition, read.witness) for partition, read in before.items() if read.witness is not None]
    witness = kept.spark.createDataFrame(witnesses, "partition int, offset bigint")
    gone = (
        old.where(~is_deletion)
        .join(F.broadcast(witness), ["partition", "offset"], "left_anti")
        .join(last, ["partition", "offset"], "left_anti")
        .join(open_groups(kept), "group_id", "left_anti")
        .join(kept.read("quarantine").select("partition", "offset"), ["partition", "offset"], "left_anti")
    )
    return gone.select("run", "partition", "offset"), reads


def prune(kept: KeptLog, gone: DataFrame, reads: list[Read]) -> list[Read]:
    """Say in the kept log what is known of it from now on, and then remove these rows; the tables are to follow.

    Return what all runs read.
    """
    so_far = kept.append(None, reads)
    (
        delta_table(kept.spark, kept.out, LOG.name)
        .alias("t")
        .merge(
            gone.withColumn("cluster", F.lit(kept.cluster)).alias("s"),
            "t.cluster = s.cluster AND t.partition = s.partition AND t.offset = s.offset AND t.run = s.run "
            "AND t.read IS NULL",
        )
        .whenMatchedDelete()
        .execute()
    )
    return so_far
