"""Ctrl-C and SIGTERM in each phase of what the embedded engine does: one word, an exit code, and nothing is left."""

import os
import signal
from time import monotonic, sleep

import pytest

from tests.commands import WITH_WORKERS, await_line, eventually, messages, processes_of, started

pytestmark = pytest.mark.slow

SIGNALS = {
    "the terminal's": (os.killpg, signal.SIGINT, 130),
    "to the parent": (os.kill, signal.SIGINT, 130),
    "termination": (os.kill, signal.SIGTERM, 143),
}


@pytest.fixture(params=SIGNALS)
def end(request):
    """A function that sends a signal to a command, which then ends soon."""
    send, number, code = SIGNALS[request.param]

    def end(command):
        send(command.pid, number)
        since = monotonic()
        out, said = command.communicate(timeout=60)
        # It takes less than a second on a machine without other work; tests run on one that has more.
        assert monotonic() - since < 5
        assert (command.returncode, out, messages(said)) == (code, "", ["interrupted"])
        assert eventually(lambda: not processes_of(command.pid), 2)

    return end


@pytest.fixture
def temporary(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


# The phase that the command says, and how many seconds later it is interrupted.
MOMENTS = [("reading with", 0), ("reading /", 0), ("reading /", 0.3), ("replaying", 0.5), ("writing", 0.05)]


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_audit(large_copies, tmp_path, temporary, end, moment):
    phase, later = moment
    out = tmp_path / "out"
    with started("audit", large_copies[0], "--out", out, program=WITH_WORKERS, TMPDIR=temporary) as command:
        await_line(command, phase)
        sleep(later)
        end(command)
    assert not (out / "_staging").exists()
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize("cached", [True, False])
def test_a_question(large_copies, tmp_path, temporary, end, cached):
    """What it writes into the cache, or into a temporary folder, is removed."""
    options = [] if cached else ["--no-cache"]
    cache = tmp_path / "cache"
    with started(
        "check", large_copies[0], *options, program=WITH_WORKERS, TMPDIR=temporary, XDG_CACHE_HOME=cache
    ) as command:
        await_line(command, "replaying")
        assert bool([*cache.rglob("_staging")]) == cached
        assert bool([*temporary.rglob("_staging")]) != cached
        end(command)
    assert not [*cache.glob("kip848-records/audits/.*")]
    assert not [*temporary.iterdir()]
