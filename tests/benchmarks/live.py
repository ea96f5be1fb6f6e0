"""A live topic: a question, a first run, a night and a run of a few rows, each a command of its own.

A real broker on this machine serves the rows of a simulated log, under a name that its own coordinator does not write.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from tests.benchmarks.logs import Log, log_of
from tests.benchmarks.nightly import split
from tests.benchmarks.processes import EVERY, ROOT, environment
from tests.benchmarks.results import Measure
from tests.benchmarks.segment_files import write_segments
from tests.broker.running import Broker, done, running_broker
from tests.broker.waiting import wait_until
from tests.downloads import kept

KIP848 = Path(sys.executable).parent / "kip848"
TOPIC = "served.__consumer_offsets"
FEW = "few.__consumer_offsets"
FEW_ROWS = 1_000
PARTITIONS = 50
TURNS = 3
_FILES = "__consumer_offsets-{}"


@dataclass(frozen=True)
class Cost:
    """What a command cost: by the clock, of all cores, and the most memory of its processes together."""

    seconds: float
    cpu_s: float
    bytes: int


def cost_of(*command: object) -> Cost:
    """Run `kip848` with some arguments; what it printed is shown if it fails."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as printed:
        line = [str(KIP848), *map(str, command)]
        process = subprocess.Popen(line, cwd=ROOT, env=_installed(), stdout=printed, stderr=subprocess.STDOUT)
        peak = _Peak(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        most = peak.stop()  # `ru_maxrss` begins with that of this process, which has far more
        if process.returncode:
            printed.seek(0)
            raise SystemExit(f"{' '.join(line)}\n{printed.read().decode()}")
    return Cost(seconds, used.ru_utime + used.ru_stime, most)


def _installed() -> dict[str, str]:
    """Return an environment in which modules are compiled once, as those of an installed package are."""
    settings = environment() | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "kip848-bytecode"))}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    return settings


class _Peak:
    """Looks at the memory of a process and of those below it until it is stopped."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._most = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._stopped.set()
        self._thread.join()
        return self._most

    def _look(self) -> None:
        while not self._stopped.wait(EVERY):
            with suppress(psutil.Error):
                there = [self._process, *self._process.children(recursive=True)]
                self._most = max(self._most, sum(each.memory_info().rss for each in there))


@dataclass
class Served:
    """A broker with the first 99 % of a log; `files`: the folder of its segments, `new`: that of the other rows."""

    broker: Broker
    files: Path
    new: Path

    def group(self) -> str:
        """Return the group with most records in a partition of medium size."""
        files = sorted((self.files.parent / "old").glob("*.parquet"), key=lambda file: file.stat().st_size)
        keys = pq.read_table(files[len(files) // 2], columns=["key"])["key"].to_pylist()
        groups = Counter(key[4 : 4 + int.from_bytes(key[2:4])] for key in keys if int.from_bytes(key[:2]) > 1)
        return groups.most_common(1)[0][0].decode()

    @property
    def url(self) -> str:
        """The topic."""
        return f"kafka://{self.broker.bootstrap}/{TOPIC}"

    def write(self, topic: str, files: Iterable[Path], most: int | None = None) -> int:
        """Append rows of files to a topic, and return how many."""
        producer = Producer(self.broker.client() | {"linger.ms": "20", "queue.buffering.max.messages": "1000000"})
        count = 0
        for file in files:
            rows = pq.read_table(file, columns=["partition", "key", "value", "timestamp"])
            rows = rows.set_column(3, "ms", rows["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()))
            for partition, key, value, ms in zip(*(each.to_pylist() for each in rows.columns), strict=True):
                producer.produce(topic, value, key, partition, timestamp=ms)
                count += 1
                if count == most:
                    break
            producer.flush()
            if count == most:
                break
        return count


@contextmanager
def served(log: Log, folder: Path) -> Iterator[Served]:
    """Start a broker whose topics hold the first 99 % of a log, and nothing."""

    def prepare(work: Path) -> Path:
        split(log, work)
        for file in (work / "old").glob("*.parquet"):
            # Transaction markers are no rows of the simulation; without them their offsets would be lost records.
            rows = pq.read_table(file)
            offset = pa.array(range(rows.num_rows), pa.int64())
            pq.write_table(rows.set_column(rows.schema.get_field_index("offset"), "offset", offset), file)
        write_segments(work / "old", work / "segments")
        return work

    prepared = kept("bench", f"{log.folder.name}-served", lambda work: prepare(_made(work / "prepared")))
    home = _made(folder / "broker")
    with running_broker(home) as broker:
        # The times are those of a simulation.
        lasting = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}
        done(broker.admin.create_topics([NewTopic(topic, PARTITIONS, config=lasting) for topic in (TOPIC, FEW)]))
        wait_until(lambda: {TOPIC, FEW} <= broker.admin.list_topics(timeout=5).topics.keys(), "topics")
        broker.stop()
        for partition in range(PARTITIONS):
            place = broker.folder / f"{TOPIC}-{partition}"
            for file in (*place.glob("*.log"), *place.glob("*index"), *place.glob("*.snapshot")):
                file.unlink()
            for file in (prepared / "segments" / _FILES.format(partition)).glob("*.log"):
                copyfile(file, place / file.name)
        for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            (broker.folder / name).unlink(missing_ok=True)
        broker.start()
        yield Served(broker, prepared / "segments", prepared / "new")


def measure(sizes: Iterable[int]) -> Iterator[Measure]:
    """Yield what commands on a live topic take, for logs of these sizes (millions of rows)."""
    for millions in sizes:
        log = log_of(millions)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, served(log, Path(folder)) as there:
            yield from _measured(there, Path(folder), f"{millions} million rows")


def _measured(there: Served, folder: Path, size: str) -> Iterator[Measure]:
    few = f"kafka://{there.broker.bootstrap}/{FEW}"
    new = sorted(there.new.glob("*.parquet"))
    there.write(FEW, new, 3 * FEW_ROWS)
    cost_of("audit", few, "--out", folder / "few")
    runs = []
    for _ in range(TURNS):
        there.write(FEW, new, FEW_ROWS)
        runs.append(cost_of("audit", few, "--out", folder / "few"))
    yield _best(f"live: {FEW_ROWS:,} new rows, small tables", runs)
    group = there.group()
    yield _best(f"live: explain, {size}", [cost_of("explain", there.url, "--group", group) for _ in range(TURNS)])
    files = _best(f"audit of the same files, {size}", [cost_of("audit", there.files, "--out", folder / "files")])
    yield files
    first = _best(f"live: first run, {size}", [cost_of("audit", there.url, "--out", folder / "live")])
    yield replace(first, ratios=first.ratios | {"audit of the files": files.seconds / first.seconds})
    there.write(TOPIC, new)
    yield _best(f"live: a night of 1 %, {size}", [cost_of("audit", there.url, "--out", folder / "live")])


def _best(what: str, costs: list[Cost]) -> Measure:
    """Return the best of some runs; its ratio is how many cores were at work, of the time by the clock."""
    seconds, cpu_s, most = (min(getattr(each, name) for each in costs) for name in ("seconds", "cpu_s", "bytes"))
    return Measure(what, seconds, worker_bytes=most, ratios={"core-seconds a second": cpu_s / seconds})


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def main() -> None:
    """Serve a log until the standard input is closed: `python -m tests.benchmarks.live MILLIONS FOLDER`."""
    millions, folder = int(sys.argv[1]), Path(sys.argv[2])
    with served(log_of(millions), folder) as found:
        print(found.broker.bootstrap, found.files, found.new, flush=True)
        for line in sys.stdin:
            topic, most = line.split()
            print(found.write(topic, sorted(found.new.glob("*.parquet")), int(most) or None), flush=True)


if __name__ == "__main__":
    main()
