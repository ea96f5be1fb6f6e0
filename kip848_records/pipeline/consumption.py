"""The rows of `consumption_stop`: offset commits and the partitions that rebalances stopped, sorted and joined.

`replay.consumption` has the rules. Spark keeps only the commits of partitions that some rebalance stopped, so groups
that never rebalance cost no shuffle. One shuffle brings each partition's commits to one task, in order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kip848_records.decode import decode_record
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.replay.commits.consumption import (
    COMMIT,
    KEY,
    STOP,
    TOMBSTONE,
    USUAL_FROM,
    USUAL_UNTIL,
    ConsumptionStop,
    consumption_stops,
)
from kip848_records.replay.rows import row_type
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.replay.inputs import ReplayInputs


def stops_of_consumption(commits: DataFrame, stopped: DataFrame, inputs: ReplayInputs) -> DataFrame:
    """Return rows of `replay.consumption.ConsumptionStop`.

    `commits`: log rows with offset commits and markers, their transactions resolved. `stopped`: rows of
    `replay.rows.StoppedPartition` with the names of topics.
    """
    wanted = stopped.select(*KEY).distinct()
    rows = _marks(stopped).unionByName(
        _decoded(commits, inputs.dialect).join(wanted, list(KEY), "left_semi"), allowMissingColumns=True
    )
    tasks = int(commits.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    in_order = rows.repartition(tasks, *KEY).sortWithinPartitions(*KEY, "at_offset", "what")
    schema = from_arrow_schema(pa.schema(list(row_type(ConsumptionStop))))
    return map_in_arrow(in_order, partial(consumption_stops, inputs.partitions), schema)


def _decoded(commits: DataFrame, dialect: str) -> DataFrame:
    """Return the commits that count, each at the place from which on it does."""
    records = decode_record(commits, OFFSET_COMMIT_TABLE, dialect=dialect)
    counted = records.where("transaction IN ('none', 'committed')").join(
        _markers(commits), ["partition", "offset"], "left"
    )
    return counted.where("timestamp IS NOT NULL AND (is_tombstone OR value_offset IS NOT NULL)").select(
        F.col("partition").alias("offsets_partition"),
        F.col("group").alias("group_id"),
        "topic",
        F.col("key_partition").alias("partition"),
        F.coalesce("marker.offset", "offset").alias("at_offset"),
        F.when(F.col("is_tombstone"), TOMBSTONE).otherwise(COMMIT).alias("what"),
        F.coalesce("marker.timestamp", "timestamp").alias("timestamp"),
        F.col("value_offset").alias("committed"),
    )


def _markers(commits: DataFrame) -> DataFrame:
    """Return `partition, offset, marker` of committed transactional records: a commit counts from its marker on.

    The window runs backwards: for a frame up to the last row, Spark starts again at each row.
    """
    is_marker = F.col("control") == "commit"
    is_committed = (F.col("transaction") == "committed") & F.col("control").isNull() & F.col("error_code").isNull()
    backwards = Window.partitionBy("partition", "producer_id").orderBy(F.desc("offset"))
    marker = F.last(F.when(is_marker, F.struct("offset", "timestamp")), ignorenulls=True).over(backwards)
    transactional = commits.where(F.coalesce(is_marker, F.lit(False)) | is_committed)  # noqa: FBT003
    return transactional.withColumn("marker", marker).where(is_committed).select("partition", "offset", "marker")


def _marks(stopped: DataFrame) -> DataFrame:
    """Return a row for each stop, and two for the generation before its rebalance."""
    generation = (F.col("round_before") >= 0) & (F.col("rebalance_offset") >= 0)
    marks = [(USUAL_FROM, "round_before"), (USUAL_UNTIL, "rebalance_offset"), (STOP, "offset")]
    places = [F.struct(F.lit(what).alias("what"), F.col(name).alias("at_offset")) for what, name in marks]
    rows = stopped.withColumn("mark", F.explode(F.when(generation, F.array(*places)).otherwise(F.array(places[-1]))))
    return rows.select(*(name for name in stopped.columns if name not in {"topic_id", "offset"}), "mark.*")
