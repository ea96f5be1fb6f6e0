"""Many logs told by the package in one job: most of what Spark spends on a small one does not grow with it.

Each log has partitions and group ids of its own in the job, and its own again in the rows that come back.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.dump_log import read_dump_logs
from tests.timeline.random_log import random_records
from tests.timeline.spark_rows import Row, Rows, spark_rows

CAPTURED_AT = 1795249300000
"""After every record of the captures: all logs are copied then, in ms since 1970."""
_CAPTURES = sorted(path for path in (Path(__file__).parents[1] / "captures").iterdir() if path.is_dir())
_STRIDE = 1000
_ID_FIELDS = ("groupId", "group")


@dataclass(frozen=True)
class Log:
    """Records, and per partition the offset from which none is missing; of other partitions nothing is known."""

    records: Sequence[Mapping[str, Any]]
    complete_from: Mapping[int, int]


def captured_logs() -> Log:
    """All captures as one log, each with partition numbers of its own; of none is it known whether it is complete."""
    records = [
        {**record, "partition": record["partition"] + 10 * nth}
        for nth, capture in enumerate(_CAPTURES)
        for record in read_dump_logs(capture / "oracle/dump-log")
    ]
    return Log(records, {})


def random_log() -> Log:
    """Of partitions 2 and 12 nothing is known; from 10 on, records are missing."""
    whole = random_records(1, groups=90, operations=25, partitions=3)
    holed = random_records(2, groups=90, operations=25, partitions=3, lost=0.1)
    holed = [{**record, "partition": record["partition"] + 10} for record in holed]
    return Log(whole + holed, {0: 0, 1: 1500, 10: 0, 11: 1500})


def told_in_one_job(spark: SparkSession, logs: Mapping[str, Log], *, cut: int) -> dict[str, Rows]:
    """Return of each log what `spark_rows` tells of it. The records come in no order, in `cut` partitions a table."""
    starts = {name: _STRIDE * nth for nth, name in enumerate(logs)}
    records = [_moved(record, name, starts[name]) for name, log in logs.items() for record in log.records]
    random.Random(3).shuffle(records)  # noqa: S311 - an order, not a secret
    complete = {starts[name] + p: offset for name, log in logs.items() for p, offset in log.complete_from.items()}
    rows = spark_rows(spark, records, complete, CAPTURED_AT, cut=cut)
    told: dict[str, Rows] = {name: {table: [] for table in rows} for name in logs}
    for table, of_all in rows.items():
        for row in of_all:
            name, _, group_id = row["group_id"].partition("/")
            told[name][table].append(_moved_back(row, group_id, table, starts[name]))
    return told


def _moved(record: Mapping[str, Any], name: str, start: int) -> dict[str, Any]:
    key = {field: f"{name}/{value}" if field in _ID_FIELDS else value for field, value in record["key"].items()}
    return {**record, "partition": start + record["partition"], "key": key}


def _moved_back(row: Row, group_id: str, table: str, start: int) -> Row:
    # A handover's partition is one of a topic.
    place = "offsets_partition" if table == "partition_handover" else "partition"
    return {**row, "group_id": group_id, place: row[place] - start}
