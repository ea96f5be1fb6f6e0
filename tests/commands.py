"""Commands in processes of their own, as a user starts them, and the processes that they start."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

from tests import users
from tests.processes import told

PROGRAM = "import sys; from kip848_records.command import main; sys.exit(main())"

WITH_WORKERS = f"from kip848_records.engines.embedded import files; files.BYTES_OF_ONE_PROCESS = 1 << 20; {PROGRAM}"
"""The same, but worker processes read files of a few megabytes too: as those of large logs."""

ANSWERS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from kip848_records.command import main

answers = []
for sys.argv[1:] in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as said:
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    answers.append((code, out.getvalue(), said.getvalue()))
print(json.dumps(answers))
"""
"""Runs the command lines on stdin one after the other; imports then take their time once. See `answers`."""


class Answer(NamedTuple):
    """What a command did: its exit code, and what it printed on stdout and stderr."""

    code: int
    out: str
    said: str


def answers(python: object, lines: Iterable[Sequence[object]], setup: str = "", **process: Any) -> list[Answer]:
    """Return what command lines do in one process of an interpreter, behind a setup; `process`: as `subprocess.run`."""
    given = json.dumps([[str(word) for word in line] for line in lines])
    command = [str(python), "-c", setup + ANSWERS]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, **process)
    assert done.returncode == 0, done.stderr
    return [Answer(*each) for each in json.loads(done.stdout)]


@contextmanager
def started(*arguments: object, program: str = PROGRAM, **variables: object) -> Iterator["subprocess.Popen[str]"]:
    """Start a command in a session of processes of its own, which are killed when the block ends."""
    command = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=users.environment(**{name: str(value) for name, value in variables.items()}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield command
    finally:
        for process in processes_of(command.pid):
            os.kill(process, signal.SIGKILL)
        command.communicate()


def ended(*arguments: object, program: str = PROGRAM, **variables: object) -> tuple[int, list[str], list[str]]:
    """Run a command; return its exit code, and what it printed but the lines of its progress."""
    with started(*arguments, program=program, **variables) as command:
        out, said = command.communicate()
        return command.returncode, out.splitlines(), messages(said)


def await_line(command: "subprocess.Popen[str]", text: str) -> None:
    """Read stderr until a line has a text."""
    assert command.stderr is not None
    assert any(text in line for line in command.stderr), f"the command never said {text!r}"


def messages(said: str) -> list[str]:
    """Return the lines of stderr but those of the progress."""
    return [line for line in said.splitlines() if not line.startswith("[")]


def processes_of(session: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    return [process for process, _ in _of_session(session)]


def used(session: int) -> float:
    """Return the CPU seconds of a session's processes up to now, with those of their children that have ended."""
    ticks = sum(sum(map(int, fields[11:15])) for _, fields in _of_session(session))
    return ticks / os.sysconf("SC_CLK_TCK")


def ended_children() -> float:
    """Return the CPU seconds of all children of this process that have ended, and of their own children."""
    of_all = getrusage(RUSAGE_CHILDREN)
    return of_all.ru_utime + of_all.ru_stime


def _of_session(session: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the processes of a session that have not ended, with the fields of `/proc/ID/stat` from the state on."""
    for process, text in told("stat"):
        fields = text.rpartition(")")[2].split()
        if int(fields[3]) == session and fields[0] != "Z":
            yield process, fields


def eventually(condition: Callable[[], object], within_s: float = 60) -> object:
    """Wait until a condition holds; return its last value. On a busy machine a moment may be long."""
    end = time.monotonic() + within_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return value
