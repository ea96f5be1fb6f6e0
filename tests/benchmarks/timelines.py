"""The timelines of simulated logs: time against records, and memory for one hot group. Part of `make bench`.

A log and its first half, quarter and eighth: of two of them that follow each other, the time of the longer one is
divided by that of the shorter. Time is that of a job that has been run once before: what starting costs is not in it.
The hot group is told by one task with a small heap. Run it as `python tests/benchmarks/timelines.py [records]`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kip848_records.decode import decode_together
from kip848_records.session import get_session
from kip848_records.simulate import Simulated, Simulation, simulate
from kip848_records.sources import find_copies, read_copies
from kip848_records.timeline import EVENT_TABLES, group_events, timelines

RECORDS = 8_000_000
HOT_RECORDS = 1_000_000
HOT_HEAP = "2g"
"""What a task has of the driver's 4 GB on two cores. With half of it, the buffers of what it spilled do not fit."""
HALVINGS = 3
CORES = os.cpu_count() or 1

# Records an hour, of one group of five and of one of fifty members with something happening every 5 s.
PER_GROUP_HOUR = 3_400
PER_HOT_HOUR = 87_000


def main() -> None:
    records = int(sys.argv[1]) if sys.argv[1:] else RECORDS
    with tempfile.TemporaryDirectory() as folder:
        bench_time(Path(folder) / "groups", records)
    # In a process of its own: a JVM has one heap.
    arguments = f"--master local[1] --driver-memory {HOT_HEAP} pyspark-shell"
    hot = [sys.executable, "-c", "from tests.benchmarks.timelines import bench_hot_group as b; b()"]
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": arguments, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(hot, check=True, env=environment)


def bench_time(folder: Path, records: int) -> None:
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
    print(f"\nTimelines of {spec.groups:,} groups over {hours} hours, {simulated.rows:,} records of groups")
    print("   records  seconds  records/s  times the records, times the time")
    before = None
    for halving in range(HALVINGS, -1, -1):
        first = datetime.fromtimestamp(spec.end_ms / 1000 - hours * 3600 * (1 - 0.5**halving), timezone.utc)
        part = log.where(F.col("timestamp") <= F.lit(first))
        if before is None:
            timed(tell, part, folder / "warm")
        seconds, count = timed(tell, part, folder / f"part-{halving}"), part.count()
        ratios = "" if before is None else f"{count / before[0]:12.2f} {seconds / before[1]:18.2f}"
        print(f"{count:10,} {seconds:8.1f} {count / seconds:10,.0f} {ratios}")
        before = count, seconds
    spark.stop()


def bench_hot_group() -> None:
    hours = HOT_RECORDS / PER_HOT_HOUR
    with tempfile.TemporaryDirectory() as folder:
        spec = Simulation(groups=1, members=50, hours=hours, happening_s=5, commit_interval_ms=0, partitions=1, seed=8)
        simulated = simulate(spec, Path(folder) / "hot")
        spark = get_session("bench")
        seconds = timed(tell, log_of(spark, simulated), Path(folder) / "told")
        print(f"\nOne group with {simulated.rows:,} records: {seconds:.1f} s by one task with a heap of {HOT_HEAP}")
        spark.stop()


def log_of(spark: SparkSession, simulated: Simulated) -> DataFrame:
    return read_copies(spark, find_copies(spark, (str(simulated.log),), None))


def tell(log: DataFrame, folder: Path) -> None:
    """Write every timeline, as an audit does once it has landed the log, but as Parquet."""
    spark = log.sparkSession

    def keep(rows: DataFrame, name: str) -> DataFrame:
        rows.write.parquet(f"{folder}/{name}")
        return spark.read.schema(rows.schema).parquet(f"{folder}/{name}")

    history = log.select("partition").distinct().selectExpr("partition", "0L complete_from", "false head_missing")
    topics = spark.createDataFrame([], "topic_id string, topic string")
    events = group_events(decode_together(log, EVENT_TABLES), keep(history, "history"))
    for name, rows in timelines(events, topics, None, keep).items():
        keep(rows, name)


def timed(function: Callable[[DataFrame, Path], None], log: DataFrame, folder: Path) -> float:
    start = time.perf_counter()
    function(log, folder)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
