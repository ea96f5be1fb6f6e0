"""How much of a live topic's log is kept: all of it, or the history that ended after a time.

The log is compacted as in Kafka, up to the first record that is young enough: of older records the last value of each
key stays. So the replay gives the same present state, and the same later ones. Earlier history is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.kinds import ROLES, Role
from kip848_records.log.runs import last_reads
from kip848_records.log.state import last_of_keys
from kip848_records.sources.log_rows import key_of_types
from kip848_records.tables.log import KNOWLEDGE, LOG
from kip848_records.tables.places import delta_table
from kip848_records.tables.registry import TABLES
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from kip848_records.log.runs import PartitionRead, RunInfo
    from kip848_records.log.table import Knowledge, LogTable

_GROUP_EPOCHS: Final = tuple(key_type for key_type, (_, role) in ROLES.items() if role == Role.GROUP_EPOCH)
_CLASSIC_GROUPS: Final = tuple(key_type for key_type, (_, role) in ROLES.items() if role == Role.CLASSIC_GROUP)


def ended_before(table: str, ms: int) -> str | None:
    """Return a condition for the rows that had ended by a time, ms since 1970; None for rows that have no end."""
    ended_at = TABLES[table].ended_at
    return None if ended_at is None else f"{ended_at} < timestamp_millis({ms})"


def prunable(log: LogTable, knowledge: Knowledge, since_ms: int) -> tuple[DataFrame, RunInfo, Sequence[PartitionRead]]:
    """Return the rows that can be removed (``run, partition, offset``), and the facts about the log after that.

    Records from the first one of that time on are kept. These older records are kept too: the last value of each key;
    deletions of groups, which count incarnations; undecodable records, because they may be the last of their key; the
    compaction probes; and all records of groups with an open row, however old that is.
    """
    rows, before = log.records(), last_reads(knowledge.reads)
    young = rows.where(F.col("timestamp") >= F.timestamp_millis(F.lit(since_ms))).groupBy("partition")
    starts = {row.partition: row.start for row in young.agg(F.min("offset").alias("start")).collect()}
    kept_from = {
        partition: max(read.kept_from, starts.get(partition, read.until_offset)) for partition, read in before.items()
    }
    number, last = log.next_run(knowledge), knowledge.runs[-1]
    kept_since_ms = max(since_ms, last.kept_since_ms or since_ms)
    info = replace(last, run=number, version=__version__, is_pruning=True, kept_since_ms=kept_since_ms, names=())
    reads = [
        replace(
            read,
            run=number,
            from_offset=read.until_offset,
            is_tombstone_gap=False,
            kept_from=kept_from[partition],
            note=f"kept since {utc_text(utc(since_ms))}, from offset {kept_from[partition]} on",
        )
        for partition, read in sorted(before.items())
    ]
    limits = log.spark.createDataFrame(list(kept_from.items()), "partition int, kept_from bigint")
    old = rows.join(F.broadcast(limits), "partition").where("offset < kept_from")
    last_values = last_of_keys(old.where("key IS NOT NULL")).where("value IS NOT NULL").select("partition", "offset")
    probes = [
        (partition, read.compaction_probe) for partition, read in before.items() if read.compaction_probe is not None
    ]
    probed = log.spark.createDataFrame(probes, "partition int, offset bigint")
    gone = (
        old.join(_deletions(old), ["partition", "offset"], "left_anti")
        .join(F.broadcast(probed), ["partition", "offset"], "left_anti")
        .join(last_values, ["partition", "offset"], "left_anti")
        .join(_open_groups(log), "group_id", "left_anti")
        .join(log.read("quarantine").select("partition", "offset"), ["partition", "offset"], "left_anti")
    )
    return gone.select("run", "partition", "offset"), info, reads


def _deletions(rows: DataFrame) -> DataFrame:
    """Return ``partition, offset`` of the records that deleted a group, and so ended an incarnation.

    A classic group that is converted has a tombstone, too: a record of the other type follows it at once.
    """
    place = ["partition", "offset"]
    tombstones = rows.where(F.col("value").isNull())
    others = rows.where(F.col("value").isNotNull() & ~key_of_types(_CLASSIC_GROUPS))
    followers = others.select("partition", (F.col("offset") - 1).alias("offset"), "group_id", "timestamp")
    classic = tombstones.where(key_of_types(_CLASSIC_GROUPS))
    deleted = classic.join(followers, [*place, "group_id", "timestamp"], "left_anti")
    return tombstones.where(key_of_types(_GROUP_EPOCHS)).select(*place).union(deleted.select(*place))


def _open_groups(log: LogTable) -> DataFrame:
    """Return ``group_id`` of the groups with an open row."""
    epochs, lags = (log.read(name).where("status = 'open'") for name in ("epoch_timeline", "rebalance_lag"))
    found: DataFrame = epochs.select("group_id").union(lags.select("group_id")).distinct()
    return found


def prune(log: LogTable, gone: DataFrame, info: RunInfo, reads: Sequence[PartitionRead]) -> Knowledge:
    """Write the new facts about the log, and then remove these rows; return the knowledge of all runs."""
    knowledge = log.append_run(None, info, reads)
    (
        delta_table(log.spark, log.out, LOG.name)
        .alias("t")
        .merge(
            gone.withColumn("cluster", F.lit(log.cluster)).alias("s"),
            "t.cluster = s.cluster AND t.partition = s.partition AND t.offset = s.offset AND t.run = s.run "
            f"AND t.content != '{KNOWLEDGE}'",
        )
        .whenMatchedDelete()
        .execute()
    )
    return knowledge
