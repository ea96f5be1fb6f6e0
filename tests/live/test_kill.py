"""A process that is killed while it audits: the next run finishes what it began."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from time import sleep

import pytest

from tests.live import two_days
from tests.live.topics import tables
from tests.seeds import daily_seeds

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import json, sys
from pathlib import Path
from kip848_records.spark.session import get_session
from tests.live import two_days
from tests.live.topics import Topic
from tests.progress import Watcher
folder, out, ends = sys.argv[1:]
until = {int(partition): end for partition, end in json.loads(ends).items()}
Topic.spark = get_session("to be killed")
topic = two_days.topic(Path(folder), until)
class Told(Watcher):
    def phase(self, name, detail=""):
        super().phase(name, detail)
        print(name, flush=True)

topic.audit(Path(out), progress=Told())
"""


def audit_until_killed(folder, out, until, *, lines, delay):
    """Kill the process so many seconds after it told so many lines; return how it ended, and what it told."""
    command = [sys.executable, "-c", PROGRAM, str(folder), str(out), json.dumps(until)]
    environment = os.environ | {"TMPDIR": str(out.parent)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-3, text=True) as process:
        told = [line for line, _ in zip(process.stdout, range(lines), strict=False)]
        sleep(delay)
        process.kill()
        return process.wait(), told


@pytest.mark.nightly
def test_runs_after_kills_write_what_one_run_would(log, tmp_path):
    """At any moment; `test_runs.py` interrupts runs between their commits."""
    rng = Random(*daily_seeds(1, "kills"))  # noqa: S311 - not for secrets
    happened = []
    for until in (two_days.FIRST_DAY, log.ends):
        moment = {"lines": rng.randint(1, 4), "delay": 8 * rng.random()}
        code, told = audit_until_killed(log.folder, tmp_path / "out", until, **moment)
        happened.append(f"killed after {len(told)} lines and {moment['delay']:.2f} s: {code}, {told[-1:]}")
        assert told, happened
        assert code in {0, -9}, happened
    print("\n".join(happened))  # noqa: T201 - shown if it fails
    topic = two_days.topic(log.folder, log.ends)
    topic.audit(tmp_path / "out")
    written = tables(tmp_path / "out")
    assert written.keys() == log.tables.keys()
    for name in log.tables:
        assert written[name] == log.tables[name], name
