"""Commands as a user runs them: how long they take and how much memory their processes have in use."""

import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests import users

ROOT = Path(__file__).parents[2]
EVERY = 0.1  # s


@dataclass(frozen=True)
class Used:
    """What a command used: by the clock, and at most at any time, of the JVM and of all Python workers together."""

    seconds: float
    jvm_bytes: int
    worker_bytes: int


def run(command: list[str], **settings: str) -> Used:
    """Run a command to its end; what it printed is shown if it fails. `settings` are added to its environment."""
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment() | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        peaks = Peaks(process.pid)
        printed, _ = process.communicate()
        seconds = time.perf_counter() - start
        jvm, workers = peaks.stop()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{printed}")
    return Used(seconds, jvm, workers)


def environment() -> dict[str, str]:
    """Return that of whoever has set nothing about Spark."""
    return users.environment()


class Peaks:
    """Looks at the memory of the processes below one, again and again, until it is stopped."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._jvm = self._workers = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[int, int]:
        """Return the most memory in use, in bytes: of the JVM, and of the Python processes below it."""
        self._stopped.set()
        self._thread.join()
        return self._jvm, self._workers

    def _look(self) -> None:
        while not self._stopped.wait(EVERY):
            with suppress(psutil.Error):
                self._add(self._process.children(recursive=True))

    def _add(self, processes: list[psutil.Process]) -> None:
        jvm = workers = 0
        for process in processes:
            with suppress(psutil.Error):
                size = process.memory_info().rss
                # By its file, not its name: when the JVM starts a program, there are two of it for a moment, and the
                # other one bears the name of a thread.
                if Path(process.exe()).name == "java":
                    jvm = max(jvm, size)
                else:
                    workers += size
        self._jvm, self._workers = max(self._jvm, jvm), max(self._workers, workers)
