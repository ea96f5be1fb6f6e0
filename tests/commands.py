"""Commands in processes of their own, as a user starts them, and the processes that they start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import users

PROGRAM = "import sys; from kip848_records.command import main; sys.exit(main())"

WITH_WORKERS = f"from kip848_records.engines.embedded import files; files.BYTES_OF_ONE_PROCESS = 1 << 20; {PROGRAM}"
"""The same, but worker processes read files of a few megabytes too: as those of large logs."""


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
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of, *_ = file.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(of) == session and state != "Z":
            found.append(int(file.parent.name))
    return found


def eventually(condition: Callable[[], object], within_s: float = 10) -> object:
    """Wait until a condition holds; return its last value."""
    end = time.monotonic() + within_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return value
