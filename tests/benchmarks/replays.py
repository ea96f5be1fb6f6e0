"""The replay without Spark: what a record of a group takes one core, and what a worker's memory takes for one group.

A log, its first half, quarter and eighth: of two that follow each other the time per record of the longer one is
compared with that of the shorter. A large group is replayed in a process of its own, for its peak of memory.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kip848_records.protocol.keys import key_columns
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.worker import replay_batches
from kip848_records.simulate import Simulation, simulate
from tests.benchmarks.logs import log_of
from tests.benchmarks.processes import run
from tests.benchmarks.results import Measure

HALVINGS = 3
HOT_HOURS = 12
BATCH_ROWS = 10_000


def measure(sizes: Iterable[int]) -> Iterator[Measure]:
    """Yield what the replay takes of the logs of these sizes (millions of rows), and of one large group."""
    for millions in sizes:
        yield from _growing(group_rows(log_of(millions).parquet))
    hot = [sys.executable, "-c", "from tests.benchmarks.replays import replay_hot_group; replay_hot_group()"]
    used = run(hot)
    yield Measure("replay of one large group", used.seconds, worker_bytes=used.worker_bytes)


def _growing(rows: pa.Table) -> Iterator[Measure]:
    before = None
    for halving in range(HALVINGS, -1, -1):
        part = rows.slice(0, rows.num_rows >> halving)
        start = time.perf_counter()
        replayed(part)
        seconds = time.perf_counter() - start
        ratios = (
            {} if before is None else {"its part of the rows before": part.num_rows / before[0] * before[1] / seconds}
        )
        yield Measure("decode and replay, one core", seconds, part.num_rows, ratios=ratios)
        before = part.num_rows, seconds


def replay_hot_group() -> None:
    """Replay one group of fifty members in which something happens every 5 s, and print this process's peak."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Simulation(
            groups=1, members=50, hours=HOT_HOURS, happening_s=5, commit_interval_ms=0, partitions=1, seed=8
        )
        rows = group_rows(simulate(spec, Path(folder) / "hot").log)
    replayed(rows)
    print(rows.num_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def replayed(rows: pa.Table) -> int:
    """Replay rows of groups, and return how many rows of tables come of them."""
    partitions = pc.unique(rows["partition"]).to_pylist()
    coverage = {partition: PartitionCoverage(((0, 1 << 62),), last_offset=1 << 62) for partition in partitions}
    inputs = ReplayInputs("kafka", None, coverage)
    return sum(batch.num_rows for _, batch in replay_batches(inputs, rows.to_batches(max_chunksize=BATCH_ROWS)))


def group_rows(log: Path) -> pa.Table:
    """Return the records of groups in a log of Parquet files, each group's together, as the replay takes them."""
    table = pq.read_table(log, columns=["partition", "offset", "timestamp", "key", "value"]).combine_chunks()
    key_types, group_ids = key_columns(table["key"].combine_chunks())
    table = table.append_column("key_type", key_types).append_column("group_id", group_ids)
    table = table.filter(pc.greater(table["key_type"], 1)).drop_columns("key_type")
    for name, kind in (("error_code", pa.string()), ("error", pa.string()), ("leader_epoch", pa.int32())):
        table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return table.sort_by([("partition", "ascending"), ("group_id", "ascending"), ("offset", "ascending")])
