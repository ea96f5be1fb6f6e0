"""The timelines of simulated logs: time against records, and memory for one hot group.

A log and its first half, quarter and eighth: of two of them that follow each other, the time of the longer one is
divided by that of the shorter. Time is that of a job that has been run once before: what starting costs is not in it.
The hot group is told by one task with a small heap: what its worker takes is what one of its records takes.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kip848_records.decode import decode_together
from kip848_records.session import get_session
from kip848_records.simulate import Simulated, Simulation, simulate
from kip848_records.sources import find_copies, read_copies
from kip848_records.timeline import EVENT_TABLES, PartitionHistory, group_events, timelines
from tests.benchmarks.processes import run
from tests.benchmarks.results import Measure

RECORDS_A_MILLION = 160_000
"""Records of groups: a twentieth of a log of so many millions, and more, are those of groups."""
HOT_RECORDS = 1_000_000
HOT_HEAP = "2g"
"""What a task has of the driver's 4 GB on two cores: there its records are sorted, and spilled."""
HALVINGS = 3
CORES = os.cpu_count() or 1

# Records an hour, of one group of five and of one of fifty members with something happening every 5 s.
PER_GROUP_HOUR = 3_400
PER_HOT_HOUR = 87_000


def measure(sizes: Iterable[int]) -> Iterator[Measure]:
    """Yield what the timelines of logs take that are as long as the largest of these sizes (millions of log rows)."""
    with tempfile.TemporaryDirectory() as folder:
        yield from of_growing_logs(Path(folder) / "groups", max(sizes) * RECORDS_A_MILLION)
    # In a process of its own: a JVM has one heap.
    arguments = f"--master local[1] --driver-memory {HOT_HEAP} pyspark-shell"
    told = [sys.executable, "-c", "from tests.benchmarks.timelines import tell_hot_group; tell_hot_group()"]
    used = run(told, PYSPARK_SUBMIT_ARGS=arguments)
    what = f"timelines of one group, heap of {HOT_HEAP}"
    yield Measure(what, used.seconds, HOT_RECORDS, jvm_bytes=used.jvm_bytes, worker_bytes=used.worker_bytes)


def of_growing_logs(folder: Path, records: int) -> Iterator[Measure]:
    hours = 8
    spec = Simulation(
        groups=max(1, round(records / PER_GROUP_HOUR / hours)),
        hours=hours,
        happening_s=20,
        commit_interval_ms=0,
        seed=8,
    )
    simulated = simulate(spec, folder, CORES)
    spark = get_session("bench")
    log = log_of(spark, simulated)
    before = None
    for halving in range(HALVINGS, -1, -1):
        first = datetime.fromtimestamp(spec.end_ms / 1000 - hours * 3600 * (1 - 0.5**halving), timezone.utc)
        part = log.where(F.col("timestamp") <= F.lit(first))
        if before is None:
            timed(tell, part, folder / "warm")
        seconds, count = timed(tell, part, folder / f"part-{halving}"), part.count()
        ratios = {} if before is None else {"its part of the rows before": count / before[0] * before[1] / seconds}
        yield Measure(f"timelines of {spec.groups:,} groups", seconds, count, ratios=ratios)
        before = count, seconds
    spark.stop()


def tell_hot_group() -> None:
    """Write the timelines of one large group: what `measure` runs in a process of its own."""
    hours = HOT_RECORDS / PER_HOT_HOUR
    with tempfile.TemporaryDirectory() as folder:
        spec = Simulation(groups=1, members=50, hours=hours, happening_s=5, commit_interval_ms=0, partitions=1, seed=8)
        simulated = simulate(spec, Path(folder) / "hot")
        spark = get_session("bench")
        tell(log_of(spark, simulated), Path(folder) / "told")
        spark.stop()


def log_of(spark: SparkSession, simulated: Simulated) -> DataFrame:
    return read_copies(spark, find_copies(spark, (str(simulated.log),), None))


def tell(log: DataFrame, folder: Path) -> None:
    """Write every timeline, as an audit does once it has landed the log, but as Parquet."""
    spark = log.sparkSession

    def keep(rows: DataFrame, name: str) -> DataFrame:
        rows.write.parquet(f"{folder}/{name}")
        return spark.read.schema(rows.schema).parquet(f"{folder}/{name}")

    partitions = [row.partition for row in log.select("partition").distinct().collect()]
    history = dict.fromkeys(partitions, PartitionHistory(((0, 2**62),), head_missing=False, last_offset=None))
    topics = spark.createDataFrame([], "topic_id string, topic string")
    events = group_events(decode_together(log, EVENT_TABLES), history)
    for name, rows in timelines(events, topics, None, keep).items():
        keep(rows, name)


def timed(function: Callable[[DataFrame, Path], None], log: DataFrame, folder: Path) -> float:
    start = time.perf_counter()
    function(log, folder)
    return time.perf_counter() - start
