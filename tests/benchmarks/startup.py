"""How soon something is there: the commands on a capture of a few MB against what Spark and Delta take to start.

Each is a process of its own; all take turns, and each is given its shortest time.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.floor import filled, floor, no_work
from tests.benchmarks.processes import ROOT, environment
from tests.benchmarks.results import Measure

CAPTURE = ROOT / "tests" / "captures" / "kafka-4.3.1"
KIP848 = Path(sys.executable).parent / "kip848"
TURNS = 2
BARE = """
import sys, time
start = time.perf_counter()
from kip848_records.spark.session import get_session
spark = get_session("bench")
print(time.perf_counter() - start)
start = time.perf_counter()
spark.range(1).write.format("delta").save(sys.argv[1])
print(time.perf_counter() - start)
"""


def measure(turns: int = TURNS) -> Iterator[Measure]:
    """Yield what starting takes, and each of the commands."""
    times: dict[str, list[float]] = {}
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            for name, seconds in one_turn(Path(folder)).items():
                times.setdefault(name, []).append(seconds)
    best = {name: min(each) for name, each in times.items()}
    start = best["a session"] + best["its first Delta commit"]
    for name, seconds in best.items():
        yield Measure(name, seconds, ratios={"a session and a commit": start / seconds})


def one_turn(folder: Path) -> dict[str, float]:
    session, commit = map(float, run([sys.executable, "-c", BARE, str(folder / "bare")]).split())
    segments, tables = str(CAPTURE / "segments"), str(folder / "tables")
    audit = timed([KIP848, "audit", segments, "--out", tables])
    written = filled(Path(tables))
    return {
        "a session": session,
        "its first Delta commit": commit,
        "kip848 inspect: first line": until_a_line([KIP848, "inspect", segments]),
        "kip848 audit": audit,
        "the tables of that audit, a row each": floor(folder / "rows", written).seconds,
        "an audit into these that works out nothing": no_work(folder / "none", written, reads=segments).seconds,
        "kip848 explain": timed([KIP848, "explain", tables, "--group", "stuck"]),
        "kip848 check": timed([KIP848, "check", tables]),
        "kip848 report": timed([KIP848, "report", tables, "--out", str(folder / "report.html")]),
    }


def timed(command: list) -> float:
    start = time.perf_counter()
    run(command)
    return time.perf_counter() - start


def until_a_line(command: list) -> float:
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        seconds = time.perf_counter() - start
        process.stdout.read()
    return seconds


def run(command: list) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout
