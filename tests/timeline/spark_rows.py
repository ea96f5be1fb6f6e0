"""What the package says of some records, as rows of the same shape as those of the plain replay."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from kip848_records.timeline import epoch_timeline, group_events, judge, last_states
from tests.timeline.tables import complete_from, plain_rows, record_tables

Row = dict[str, Any]
Rows = tuple[list[Row], list[Row], list[Row]]

_OF_REPLAY_ONLY = {"since"}
_OF_SPARK_ONLY = {
    *("cluster", "operation", "timestamp", "key_type", "is_tombstone", "ends_operation", "converged_members")
}


def spark_rows(
    spark: SparkSession, records: Iterable[Mapping[str, Any]], complete: Mapping[int, int], cut: int | None = None
) -> Rows:
    """Return the rows of epoch_timeline, of last_states, and the state at the end of every operation.

    With `cut`, the record tables are cut into so many partitions, their rows in no order.
    """
    tables = record_tables(spark, records)
    if cut:
        tables = {name: table.repartition(cut) for name, table in tables.items()}
    judged = judge(group_events(tables, complete_from(spark, complete)))
    frames = (epoch_timeline(judged), last_states(judged), judged.where("ends_operation"))
    epochs, lasts, states = (plain_rows(frame) for frame in frames)
    return epochs, lasts, states


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Sort rows, less what only one of the two sides tells; of a deleted group only that it is."""
    kept = [{name: row[name] for name in row.keys() - _OF_SPARK_ONLY} for row in rows]
    dead = ("partition", "group_id", "incarnation", "offset", "state")
    told = [{name: row[name] for name in dead} if row.get("state") == "Dead" else row for row in kept]
    return sorted(told, key=lambda row: sorted((name, repr(value)) for name, value in row.items()))


def assert_same(ours: Rows, replayed: Rows) -> None:
    for spark_side, plain_side, name in zip(ours, replayed, ("epochs", "last states", "states"), strict=True):
        theirs = [{k: v for k, v in row.items() if name != "states" or k not in _OF_REPLAY_ONLY} for row in plain_side]
        left, right = in_order(spark_side), in_order(theirs)
        wrong = [pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]]
        assert left == right, f"{name}: {len(wrong)} of {len(right)} differ (Spark has {len(left)}), first {wrong[:1]}"
