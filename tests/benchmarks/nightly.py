"""The run of a second night, with one row in a hundred new, against one run over everything.

Each is a process of its own, start-up included. The topic is read from files: what a broker and the network take is not
in it.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kip848_records.sources.read import read_log
from kip848_records.sources.topic.spark_rows import LOG_SCHEMA
from kip848_records.spark.session import get_session
from tests.benchmarks.floor import commits, floor
from tests.benchmarks.logs import Log, log_of
from tests.benchmarks.processes import Used, run
from tests.benchmarks.results import Measure
from tests.live.topics import Topic

PRODUCERS = ("producer_id", "producer_epoch", "leader_epoch")

PARTS = ("old", "recent", "new")
NEW_OF = 100
RECENT = 20
START = "from kip848_records.spark.session import get_session; get_session('bench')"


def measure(sizes: Iterable[int]) -> Iterator[Measure]:
    """Yield what the nights of these logs (millions of rows) take."""
    for millions in sizes:
        log = log_of(millions)
        with tempfile.TemporaryDirectory() as folder:
            new = split(log, Path(folder))
            start = run([sys.executable, "-c", START])
            full = night(folder, "at once", "old", "new")
            night(folder, "nightly", "old")
            tables = Path(folder, "nightly")
            before = commits(tables)
            second = night(folder, "nightly", "recent", "new")
            rows = floor(tables, [name for name, count in commits(tables).items() if count > before.get(name, 0)])
        yield Measure("one run over the topic", full.seconds, log.rows, log.bytes, full.jvm_bytes, full.worker_bytes)
        ratios = {"one run": full.seconds / second.seconds}
        ratios["one run, start-up apart"] = (full.seconds - start.seconds) / (second.seconds - start.seconds)
        yield Measure(
            "a night of 1 % new rows", second.seconds, new, None, second.jvm_bytes, second.worker_bytes, ratios
        )
        yield Measure(
            "the tables of that night, a row each", rows.seconds, ratios={"one run": full.seconds / rows.seconds}
        )


def split(log: Log, folder: Path) -> int:
    """Write the first 99 % of each partition, a file, to `old`, the rest to `new`; return how many rows that is.

    The last rows of `old` are in `recent` too: a run looks whether the last record of a group that has a later one of
    the same key is there still, which a broker finds without reading those before.
    """
    for part in PARTS:
        (folder / part).mkdir()
    new = 0
    ends: dict[str, dict[int, int]] = {part: {} for part in PARTS}
    for file in log.parquet.glob("*.parquet"):
        rows = pq.read_table(file)
        count = rows.num_rows // NEW_OF
        first_new = rows.num_rows - count
        slices = (
            rows.slice(0, first_new),
            rows.slice(first_new - RECENT * count, RECENT * count),
            rows.slice(first_new),
        )
        for part, of_part in zip(PARTS, slices, strict=True):
            pq.write_table(of_part, folder / part / file.name)
            last = of_part.group_by("partition").aggregate([("offset", "max")]).to_pylist()
            ends[part] |= {row["partition"]: row["offset_max"] + 1 for row in last}
        new += count
    for part, until in ends.items():
        (folder / f"{part}.json").write_text(json.dumps(until), encoding="utf-8")
    return new


def night(folder: str, out: str, *parts: str) -> Used:
    """Run one night in a process of its own."""
    code = "import sys; from tests.benchmarks.nightly import audit; audit(*sys.argv[1:])"
    return run([sys.executable, "-c", code, f"{folder}/{out}", *(f"{folder}/{part}" for part in parts)])


def audit(out: str, *folders: str) -> None:
    """Read what is new in a topic that ends where these rows do, which a broker would know at once."""
    spark = get_session("bench")
    ends = {}
    for folder in folders:
        ends |= json.loads(Path(f"{folder}.json").read_text(encoding="utf-8"))
    Files.spark = spark
    Files(read_log(spark, folders), {int(partition): end for partition, end in ends.items()}).audit(out)
    spark.stop()


class Files(Topic):
    """A topic of files: more rows than a process holds."""

    rows: DataFrame

    def read(self, ranges: dict[int, tuple[int, int]]) -> DataFrame:
        """Return the rows as a consumer sees them."""
        wanted = [(partition, first, until) for partition, (first, until) in ranges.items()]
        places = self.spark.createDataFrame(wanted, "partition int, first bigint, until bigint")
        there = self.rows.join(F.broadcast(places), "partition").where("offset >= first AND offset < until")
        records = there.where("control IS NULL AND error_code IS NULL AND file IS NULL")
        is_commit = F.col("key").substr(1, 2).isin(b"\x00\x00", b"\x00\x01")
        unknown = {name: F.lit(None).cast(LOG_SCHEMA[name].dataType) for name in PRODUCERS}
        shown = unknown | {"transaction": F.when(is_commit, "unknown").otherwise("none")}
        return records.withColumns(shown).select(*LOG_SCHEMA.names)
