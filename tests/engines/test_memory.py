"""The memory of the whole tree of processes stays within the budget, also for one huge group."""

import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from tests.engines.test_processes import children

MUCH = """
import sys
import pyarrow as pa
from kip848_records.machine.budget import Budget
from kip848_records.engines.embedded.engine import EmbeddedEngine
from tests.engines import engines
BUDGET = 900 << 20
engine = EmbeddedEngine(sys.argv[1], Budget(BUDGET, 2))
with engine.alone(sys.argv[1]):
    # 1.2 GB, in an order that must be sorted.
    text = "SELECT 'one' AS k, (range * 7919) % 4000037 AS n, repeat('x', 300) AS value FROM range(4000037)"
    rows = engine.sql(text)
    found = engine.replay(engines.passed, rows, key=["k"], order=["n"])
    print(sum(batch.num_rows for rows in found.values() for batch in rows.batches()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for the memory of processes")
def test_a_group_that_is_larger_than_the_budget(tmp_path):
    command = [sys.executable, "-c", MUCH, tmp_path / "out"]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_memory, [process.pid, *children(process.pid)])))
            sleep(0.2)
        assert process.stdout.read() == "4000037\n"
    assert peak < 900 << 20, f"{peak >> 20} MB"


def _memory(pid):
    """The memory that a process shares with no other, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)
