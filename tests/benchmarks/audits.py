"""Whole audits, as a user runs them, against what people do today: `kafka-dump-log` piped into a loop over its lines.

By the clock, start-up included, of the segment files of a simulated log; memory is that of the audit.
"""

import json
import shlex
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.benchmarks.dump_log import dump_log
from tests.benchmarks.floor import filled, no_work
from tests.benchmarks.logs import Log, log_of
from tests.benchmarks.processes import ROOT, Used, run
from tests.benchmarks.results import Measure

KIP848 = Path(sys.executable).parent / "kip848"
REPLAY = ROOT / "tests" / "benchmarks" / "dump_log_replay.py"
MOST_OF_LOOP = 10
"""Millions of rows: more of them take today's way an hour."""

LONG_TASK = 2.0  # s: shorter ones say nothing about skew


def measure(sizes: Iterable[int]) -> Iterator[Measure]:
    """Yield what audits of these sizes (millions of rows) take."""
    before: tuple[int, Used, float | None] | None = None
    for millions in sizes:
        log = log_of(millions)
        audited, skew, nothing = audit(log.segments())
        looped = loop(log) if millions <= MOST_OF_LOOP else None
        if looped is not None:
            yield Measure("kafka-dump-log and a loop in Python", looped, log.rows, log.bytes)
        ratios = {} if looped is None else {"dump-log and a loop": looped / audited.seconds}
        if before is not None:
            rows, used, earlier = before
            ratios["its part of the rows before"] = log.rows / rows * used.seconds / audited.seconds
            if looped is not None and earlier is not None:
                more = audited.seconds - used.seconds
                ratios["dump-log and a loop, what more rows take"] = (looped - earlier) / more
        yield Measure(
            "kip848 audit of segments",
            audited.seconds,
            log.rows,
            log.bytes,
            audited.jvm_bytes,
            audited.worker_bytes,
            ratios,
        )
        least = {} if looped is None else {"dump-log and a loop": looped / nothing}
        yield Measure("  one that works out nothing", nothing, log.rows, log.bytes, ratios=least)
        for stage, (longest, median, tasks) in skew.items():
            what = f"  stage {stage}, {tasks} tasks: the longest"
            yield Measure(what, longest, ratios={"the median": median / longest})
        before = log.rows, audited, looped


def audit(segments: Path) -> tuple[Used, dict[int, tuple[float, float, int]], float]:
    """Return what an audit of these files used; of each long stage the longest task and the median, in s.

    And the seconds of one into the same tables that works out nothing (`floor.no_work`).
    """
    # The JVM still writes its last events when the command has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        events = Path(folder) / "events"
        events.mkdir()
        logged = {"enabled": "true", "dir": events.as_uri(), "compress": "false", "rolling.enabled": "false"}
        settings = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in logged.items())
        tables = Path(folder) / "tables"
        command = [str(KIP848), "audit", str(segments), "--out", str(tables)]
        used = run(command, PYSPARK_SUBMIT_ARGS=f"{settings} pyspark-shell")
        nothing = no_work(Path(folder) / "none", filled(tables), reads=str(segments))
        return used, task_times(events), nothing.seconds


def task_times(events: Path) -> dict[int, tuple[float, float, int]]:
    times: dict[int, list[float]] = defaultdict(list)
    for file in (path for path in events.iterdir() if path.suffix != ".crc"):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if '"SparkListenerTaskEnd"' in line:
                    ended = json.loads(line)
                    info = ended["Task Info"]
                    times[ended["Stage ID"]].append((info["Finish Time"] - info["Launch Time"]) / 1000)
    return {
        stage: (max(each), statistics.median(each), len(each))
        for stage, each in sorted(times.items())
        if max(each) >= LONG_TASK and len(each) > 1
    }


def loop(log: Log) -> float | None:
    """Return the seconds that today's way takes; None where Kafka's tools cannot be had."""
    files = ",".join(map(str, sorted(log.segments().rglob("*.log"))))
    dump = dump_log("--offsets-decoder", "--files", files)
    if dump is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        told = [sys.executable, str(REPLAY), f"{folder}/epochs.csv"]
        command = f"set -o pipefail; {shlex.join(dump)} | {shlex.join(told)}"
        used = run(["bash", "-c", command])
        assert Path(folder, "epochs.csv").stat().st_size > 1000
        return used.seconds
