"""The single pass over the log: Python workers decode and replay whole groups, and their rows are staged by table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kip848_records.machine.paths import local_path
from kip848_records.pipeline.staged import StagedRows
from kip848_records.replay.arrow_rows import union_batches, union_type
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.rows import ROW_CLASSES
from kip848_records.replay.worker import replay_batches
from kip848_records.spark.files import escape_glob
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.pipeline.scratch import Scratch
    from kip848_records.replay.inputs import ReplayInputs

_COLUMNS: Final = (
    *("partition", "group_id", "offset", "timestamp", "key", "value", "error_code", "error", "leader_epoch"),
)
_GROUP: Final = ("partition", "group_id")


def replay_log(records: DataFrame, inputs: ReplayInputs, scratch: Scratch) -> dict[str, StagedRows]:
    """Replay the records of groups (`sources.log.LOG_SCHEMA`) and return the rows that the replay emits, by table.

    They may have `COMMIT_BEFORE`, too. One shuffle brings each group's records to one task, in order. Tasks stream: the
    memory of a worker is the state of one group.
    """
    spark = records.sparkSession
    # Without a number Spark merges partitions that are small in bytes, although their replay takes long.
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    columns = [*_COLUMNS, *({COMMIT_BEFORE} & {*records.columns})]
    in_order = records.select(*columns).repartition(tasks, *_GROUP).sortWithinPartitions(*_GROUP, "offset")
    schema = from_arrow_schema(union_type(ROW_CLASSES))
    path = f"{scratch.path}/replayed"
    map_in_arrow(in_order, partial(_replay, inputs), schema).write.partitionBy("table").parquet(path)
    return {
        table: StagedRows(spark, f"{path}/table={table}", StructType([schema[table]]), table)
        for table in _tables(spark, path)
    }


def _tables(spark: SparkSession, path: str) -> Iterable[str]:
    """Return the tables with rows: each has a folder. Without any table there is nothing that Spark could read."""
    if (folder := local_path(spark, path)) is not None:
        folders = [each.name for each in folder.iterdir()]
    else:
        files = spark.read.schema("x int").parquet(escape_glob(path)).inputFiles()
        folders = [file.rpartition("/")[0].rpartition("/")[2] for file in files]
    return {folder.partition("=")[2] for folder in folders if "=" in folder}


def _replay(inputs: ReplayInputs, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return union_batches(ROW_CLASSES, replay_batches(inputs, batches, GroupReplay))
