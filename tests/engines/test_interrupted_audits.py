"""Ctrl-C and SIGTERM in each phase of what the embedded engine does: one word, an exit code, and nothing is left."""

import os
import signal
from time import sleep

import pytest

from tests.commands import WITH_WORKERS, await_line, ended_children, eventually, messages, processes_of, started, used
from tests.seeds import nightly

pytestmark = pytest.mark.slow

SIGNALS = {
    "the terminal's": (os.killpg, signal.SIGINT, 130),
    "to the parent": (os.kill, signal.SIGINT, 130),
    "termination": (os.kill, signal.SIGTERM, 143),
}
MOST_CPU_S = 4
"""It takes some tenths of a second, on a busy machine two. An audit that goes on takes five and more."""


def end(command, name):
    """Send a signal to a command, which then ends without more work."""
    send, number, code = SIGNALS[name]
    before = used(command.pid) + ended_children()
    send(command.pid, number)
    out, said = command.communicate(timeout=60)
    assert ended_children() - before < MOST_CPU_S
    assert (command.returncode, out, messages(said)) == (code, "", ["interrupted"])
    assert eventually(lambda: not processes_of(command.pid))


@pytest.fixture
def temporary(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


# The signal, the phase that the command says, and how many seconds later it is interrupted.
IN_CI = [("the terminal's", "replaying", 0), ("termination", "reading /", 0)]
MOMENTS = [("reading with", 0), ("reading /", 0), ("reading /", 0.3), ("replaying", 0.5), ("writing", 0.05)]
OTHERS = [(name, *moment) for name in SIGNALS for moment in MOMENTS]


@pytest.mark.parametrize("moment", [*IN_CI, *nightly(OTHERS)], ids=lambda moment: " ".join(map(str, moment)))
def test_an_audit(large_copies, tmp_path, temporary, moment):
    name, phase, later = moment
    out = tmp_path / "out"
    with started("audit", large_copies[0], "--out", out, program=WITH_WORKERS, TMPDIR=temporary) as command:
        await_line(command, phase)
        sleep(later)
        end(command, name)
    assert not (out / "_staging").exists()
    assert not [*temporary.iterdir()]


def test_an_audit_in_the_background(large_copies, tmp_path, temporary):
    """Shells without job control start it with Ctrl-C ignored: it goes on, until it is terminated."""
    program = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {WITH_WORKERS}"
    out = tmp_path / "out"
    with started("audit", large_copies[0], "--out", out, program=program, TMPDIR=temporary) as command:
        await_line(command, "reading /")
        os.killpg(command.pid, signal.SIGINT)
        await_line(command, "replaying")
        end(command, "termination")
    assert not (out / "_staging").exists()
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize("name", ["to the parent", *nightly(["the terminal's", "termination"])])
@pytest.mark.parametrize("cached", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_question(large_copies, tmp_path, temporary, name, cached):
    """What it writes into the cache, or into a temporary folder, is removed."""
    options = [] if cached else ["--no-cache"]
    cache = tmp_path / "cache"
    with started(
        "check", large_copies[0], *options, program=WITH_WORKERS, TMPDIR=temporary, XDG_CACHE_HOME=cache
    ) as command:
        await_line(command, "replaying")
        assert bool([*cache.rglob("_staging")]) == cached
        assert bool([*temporary.rglob("_staging")]) != cached
        end(command, name)
    assert not [*cache.glob("kip848-records/audits/.*")]
    assert not [*temporary.iterdir()]
