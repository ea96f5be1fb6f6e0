"""`maintain` without Spark is killed or interrupted between tables: the next commands finish what it began."""

import shutil
import signal

import pytest

from kip848_records.queries.duck import DuckTables
from tests.commands import ended
from tests.live.topics import tables
from tests.seeds import nightly

# Send a signal to itself before a call of the engine.
pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys
from kip848_records.command import main
from kip848_records.engines.embedded.engine import EmbeddedEngine
method, number, call, *sys.argv[1:] = sys.argv[1:]
original, calls = getattr(EmbeddedEngine, method), []
def counted(*arguments, **options):
    calls.append(method)
    if len(calls) == int(call):
        os.kill(os.getpid(), int(number))
    return original(*arguments, **options)
setattr(EmbeddedEngine, method, counted)
sys.exit(main())
"""
KILL, INTERRUPT = signal.SIGKILL, signal.SIGINT
CALLS = [("append", 1), ("delete", 1), ("replace", 1), ("replace", 6), ("optimize", 1), ("optimize", 4)]
IN_CI = [(INTERRUPT, "delete", 1), (KILL, "replace", 6)]
OTHERS = [(number, *call) for number in (KILL, INTERRUPT) for call in CALLS if (number, *call) not in IN_CI]


def maintain(out, *options, **program):
    return ended(*options, "maintain", out, "--keep", "1d", "--engine", "embedded", "--quiet", **program)


@pytest.fixture(scope="module")
def maintained(log, tmp_path_factory):
    """The tables after a run that nothing interrupts."""
    out = tmp_path_factory.mktemp("maintained") / "out"
    shutil.copytree(log.once, out)
    assert maintain(out)[0] == 0
    found = tables(out)
    assert found["rebalance"] != log.tables["rebalance"]
    return found


@pytest.mark.parametrize("moment", [*IN_CI, *nightly(OTHERS)], ids=lambda moment: " ".join(map(str, moment)))
def test_the_next_commands_finish_it(log, captures, maintained, tmp_path, moment):
    number, method, call = moment
    out = tmp_path / "out"
    shutil.copytree(log.once, out)
    code, _, said = maintain(out, method, int(number), call, program=PROGRAM)
    assert (code, said) == ((-9, []) if number == KILL else (130, ["interrupted"]))
    assert (out / "_staging").exists() == (number == KILL)
    if method in {"delete", "replace"}:
        code, _, (error, hint) = maintain(out)
        assert (code, hint) == (2, "hint: run the same audit again to finish it")
        assert "the last run of cluster 'default'" in error
        # Any audit into the folder makes the tables of other clusters anew.
        copy = captures / "kafka-4.0.0-zstd" / "segments"
        assert ended("audit", copy, "--out", out, "--cluster", "other", "--engine", "embedded")[0] == 0
    assert DuckTables(str(out)).chosen_runs("default")
    assert maintain(out)[0] == 0
    assert tables(out) == maintained
    assert not (out / "_staging").exists()
