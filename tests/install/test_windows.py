"""On Windows each command says that it runs on Linux and macOS; help, the version and doctor answer.

A process without what only POSIX systems have takes the place of Windows.
"""

import sys
from pathlib import Path

import pytest

from kip848_records.cli import _COMMANDS
from tests.commands import answers

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
    "migration": "migration out",
    "topic": "topic out",
    "maintain": "maintain out --keep 90d",
    "query": "query out slowest",
    "report": "report out --out page.html",
    "simulate": "simulate --out simulated",
}


def run(*lines):
    return answers(sys.executable, map(str.split, lines), _AS_WINDOWS, cwd=ROOT)


@pytest.mark.process
def test_commands_say_where_they_run():
    assert _LINES.keys() == {*_COMMANDS} - {"doctor"}
    for line, answer in zip(_LINES.values(), run(*_LINES.values()), strict=True):
        assert (answer.code, answer.out, answer.said.splitlines()) == (2, "", _REFUSED), line


@pytest.mark.process
def test_help_and_the_version_are_printed():
    for answer in run("--help", "--version", "audit --help"):
        assert (answer.code, answer.said) == (0, "")
        assert answer.out


@pytest.mark.process
def test_doctor_says_that_the_system_is_the_reason():
    (answer,) = run("doctor")
    assert (answer.code, answer.said) == (1, "")
    found = answer.out.splitlines()
    assert found[1] == f"lacking  system           {_REFUSED[0].removeprefix('error: ')}"
    assert found[2].strip() == _REFUSED[1].removeprefix("hint: ")
    assert found[3:] == ["1 lacking: an audit cannot run yet"]
