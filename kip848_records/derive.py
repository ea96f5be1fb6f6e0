"""What every audit makes of log rows, wherever they come from: the rows of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode import DecodedLog, decode, decode_together
from kip848_records.protocol.messages import DIALECTS, RECORDS
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.timeline import (
    EVENT_TABLES,
    PartitionHistory,
    group_events,
    lost_records,
    partition_losses,
    timelines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pyspark.sql import DataFrame

    Keep = Callable[[DataFrame, str], DataFrame]


@dataclass(frozen=True)
class Known:
    """What the timelines of a log go by besides its records.

    `history`: that of each partition. `quarantine`: the rows of the table of that name with which something was lost,
    None if it has none. `topics`: ``topic_id, topic``. `captured_at`: when the log was copied.
    """

    history: Mapping[int, PartitionHistory]
    quarantine: DataFrame | None
    topics: DataFrame
    captured_at: datetime | None


def partition_histories(known: DataFrame) -> dict[int, PartitionHistory]:
    """Return the rows of `history.known_history`, of which there is one a partition, as timelines take them."""
    return {
        row.partition: PartitionHistory(
            () if None in (row.complete_from, row.last_offset) else ((row.complete_from, row.last_offset + 1),),
            bool(row.head_missing),
            row.last_offset,
        )
        for row in known.collect()
    }


def decode_present(
    log: DataFrame,
    dialect: str,
    counts: Mapping[int | None, int],
    group_configurations: int,
    *,
    offset_commits: bool,
) -> DecodedLog:
    """Return the records of log rows by table, only of tables that have any by these counts of their types."""
    present = {record.table for record in DIALECTS[dialect].records if counts.get(record.key_type)}
    if not group_configurations:
        present.discard(GROUP_CONFIGURATION.table)
    return decode(log, dialect=dialect, offset_commits=offset_commits, tables=present)


def has_unknown(counts: Mapping[int | None, int]) -> bool:
    """Return whether there are records of types that this version does not know, by these counts of their types."""
    return bool(counts.keys() - {None, *RECORDS})


def with_inferred(records: Mapping[str, DataFrame], inferred: DataFrame | None = None) -> dict[str, DataFrame]:
    """Add to each record whether its place is among those `inferred` (``partition, offset``)."""
    if inferred is None:
        return {table: rows.withColumn("is_inferred", F.lit(False)) for table, rows in records.items()}  # noqa: FBT003
    marked = F.broadcast(inferred.select("partition", "offset", F.lit(True).alias("marked")))  # noqa: FBT003
    return {
        table: rows.join(marked, ["partition", "offset"], "left").withColumn("is_inferred", F.col("marked").isNotNull())
        for table, rows in records.items()
    }


def group_tables(
    log: DataFrame, dialect: str, known: Known, keep: Keep, settled: DataFrame | None = None
) -> dict[str, DataFrame]:
    """Return the rows of every table that tells of groups over time (`timeline.timelines`).

    `settled`: the groups of which the log begins with a snapshot (`timeline.group_events`).
    """
    records = decode_together(log, EVENT_TABLES, dialect=dialect)
    if known.quarantine is None:
        events = group_events(records, known.history, settled=settled)
    else:
        losses = keep(partition_losses(known.quarantine, known.history), "losses")
        events = group_events(records, known.history, lost_records(known.quarantine), losses, settled)
    return timelines(events, known.topics, known.captured_at, keep)
