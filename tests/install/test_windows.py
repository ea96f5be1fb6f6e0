"""On Windows each command says that it runs on Linux and macOS; help, the version and doctor answer.

A process without what only POSIX systems have takes the place of Windows.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from kip848_records.cli import _COMMANDS

ROOT = Path(__file__).parents[2]
# What Windows lacks is hidden from our own modules only: the rest of Python here is of this system, and is imported
# before it takes the system for Windows.
_AS_WINDOWS = """
import builtins, os, signal, sys

hidden = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
plain_import = builtins.__import__

def import_as_windows(name, names=None, *rest):
    if name in hidden and (names or {}).get("__name__", "").startswith("kip848_records"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return plain_import(name, names, *rest)

from kip848_records.cli import _parser
_parser([])
for name in [name for name in sys.modules if name.startswith("kip848_records")]:
    del sys.modules[name]
builtins.__import__ = import_as_windows
for module, names in (
    (os, ("sysconf", "getuid", "geteuid", "fork", "statvfs", "O_NOFOLLOW")),
    (signal, ("pthread_kill", "SIGPIPE", "SIGHUP", "SIGKILL", "SIGALRM")),
):
    for name in names:
        delattr(module, name)
sys.platform = "win32"
from kip848_records.command import main
sys.exit(main())
"""
_REFUSED = [
    "error: kip848 runs on Linux and macOS, not on Windows",
    "hint: use WSL 2, or a container with Linux",
]
_LINES = {
    "audit": "audit tests/captures --out out",
    "cache": "cache",
    "check": "check out",
    "demo": "demo",
    "explain": "explain out --group stuck",
    "inspect": "inspect tests/captures",
    "offsets": "offsets out --group stuck",
    "maintain": "maintain out --keep 90d",
    "query": "query out slowest",
    "report": "report out --out page.html",
    "simulate": "simulate --out simulated",
}


def run(*words):
    command = [sys.executable, "-c", _AS_WINDOWS, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [each for each in _COMMANDS if each != "doctor"])
def test_a_command_says_where_it_runs(command):
    done = run(*_LINES[command].split())
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (2, "", _REFUSED)


@pytest.mark.parametrize("words", ["--help", "--version", "audit --help"])
def test_help_and_the_version_are_printed(words):
    done = run(*words.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_doctor_says_that_the_system_is_the_reason():
    done = run("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    found = done.stdout.splitlines()
    assert found[1] == f"lacking  system           {_REFUSED[0].removeprefix('error: ')}"
    assert found[2].strip() == _REFUSED[1].removeprefix("hint: ")
    assert found[3:] == ["1 lacking: an audit cannot run yet"]
