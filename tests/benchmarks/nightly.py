"""The run of a second night, with one row in a hundred new, against one run over everything.

Each is a process of its own, start-up included. The topic is read from files: what a broker and the network take is not
in it.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from kip848_records.session import get_session
from kip848_records.sources import read_log
from tests.benchmarks.logs import Log, log_of
from tests.benchmarks.processes import Used, run
from tests.benchmarks.results import Measure
from tests.live.topics import Topic, as_consumed, ends_of

NEW_OF = 100
RECENT = 20
START = "from kip848_records.session import get_session; get_session('bench')"


def measure(sizes: Iterable[int]) -> Iterator[Measure]:
    """Yield what the nights of these logs (millions of rows) take."""
    for millions in sizes:
        log = log_of(millions)
        with tempfile.TemporaryDirectory() as folder:
            new = split(log, Path(folder))
            start = run([sys.executable, "-c", START])
            full = night(folder, "at once", "old", "new")
            night(folder, "nightly", "old")
            second = night(folder, "nightly", "recent", "new")
        yield Measure("one run over the topic", full.seconds, log.rows, log.bytes, full.jvm_bytes, full.worker_bytes)
        ratios = {"one run": full.seconds / second.seconds}
        ratios["one run, start-up apart"] = full.seconds / (second.seconds - start.seconds)
        yield Measure(
            "a night of 1 % new rows", second.seconds, new, None, second.jvm_bytes, second.worker_bytes, ratios
        )


def split(log: Log, folder: Path) -> int:
    """Write the first 99 % of each partition to `old`, the rest to `new`, and return how many rows that is.

    The last rows of `old` are in `recent` too: a run looks whether the last record of a group that has a later one of
    the same key is there still, which a broker finds without reading those before.
    """
    for part in ("old", "recent", "new"):
        (folder / part).mkdir()
    new = 0
    for file in log.parquet.glob("*.parquet"):
        rows = pq.read_table(file)
        count = rows.num_rows // NEW_OF
        first_new = rows.num_rows - count
        pq.write_table(rows.slice(0, first_new), folder / "old" / file.name)
        pq.write_table(rows.slice(first_new - RECENT * count, RECENT * count), folder / "recent" / file.name)
        pq.write_table(rows.slice(first_new), folder / "new" / file.name)
        new += count
    return new


def night(folder: str, out: str, *parts: str) -> Used:
    """Run one night in a process of its own."""
    code = "import sys; from tests.benchmarks.nightly import audit; audit(*sys.argv[1:])"
    return run([sys.executable, "-c", code, f"{folder}/{out}", *(f"{folder}/{part}" for part in parts)])


def audit(out: str, *folders: str) -> None:
    """Read what is new in a topic that ends where these rows do."""
    spark = get_session("bench")
    rows = as_consumed(read_log(spark, folders))
    Topic(spark, rows, ends_of(rows)).audit(out)
    spark.stop()
