"""What the package says of some records, as rows of the same shape as those of the plain replay."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kip848_records.timeline import group_events, timelines
from kip848_records.timeline.present import judged_groups
from tests.timeline.tables import complete_from, plain_rows, record_table, topic_table

Row = dict[str, Any]
Rows = dict[str, list[Row]]

_OF_REPLAY_ONLY = {"since"}
_OF_SPARK_ONLY = {
    *("operation", "timestamp", "key_type", "is_tombstone", "ends_operation", "converged_members"),
    *("seen_from", "seen_at_end", "of_snapshot", "is_whole", "settled", "settled_until"),
}


def spark_rows(
    spark: SparkSession,
    records: Iterable[Mapping[str, Any]],
    complete: Mapping[int, int],
    captured_at: int = 0,
    cut: int | None = None,
) -> Rows:
    """Return the rows of each timeline, of last_states, and the state at the end of every operation.

    With `cut`, the records are cut into so many partitions, their rows in no order.
    """
    table = record_table(spark, records)
    if cut:
        table = table.repartition(cut)
    return rows_of(spark, group_events(table, complete_from(complete)), captured_at)


def rows_of(spark: SparkSession, events: DataFrame, captured_at: int) -> Rows:
    """The same, of events."""
    kept = {}
    captured = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=captured_at)
    with TemporaryDirectory() as folder:

        def keep(rows: DataFrame, name: str) -> DataFrame:
            rows.write.parquet(f"{folder}/{name}")
            kept[name] = spark.read.parquet(f"{folder}/{name}")
            return kept[name]

        frames = timelines(events, topic_table(spark), captured, keep)
        del frames["group_event"]  # the events themselves
        frames["states"] = judged_groups(kept["events"]).where("ends_operation").drop("cause", "partitions_moved")
        return {name: plain_rows(frame) for name, frame in frames.items()}


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Sort rows, less what only one of the two sides tells; of a deleted group only that it is."""
    kept = [{name: _plain(row[name]) for name in row.keys() - _OF_SPARK_ONLY} for row in rows]
    dead = ("partition", "group_id", "incarnation", "offset", "state")
    told = [{name: row[name] for name in dead} if row.get("state") == "Dead" else row for row in kept]
    return sorted(told, key=lambda row: sorted((name, repr(value)) for name, value in row.items()))


def assert_same(ours: Rows, replayed: Rows) -> None:
    for name, spark_side in ours.items():
        drop = _OF_REPLAY_ONLY if name == "states" else set()
        left = in_order(spark_side)
        right = in_order({k: v for k, v in row.items() if k not in drop} for row in replayed[name])
        wrong = [pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]]
        assert left == right, f"{name}: {len(wrong)} of {len(right)} differ (Spark has {len(left)}), first {wrong[:1]}"


def _plain(value: Any) -> Any:
    return [tuple(item) if isinstance(item, tuple) else item for item in value] if isinstance(value, list) else value
