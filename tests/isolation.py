"""No engine by accident: a case gets a session of Spark, or starts a program, only if its marks say so.

Without this a case runs on the engine that the cases before it have left behind: a session that is there, and variables
that look like a user's own settings, make a command choose Spark.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kip848_records.machine.paths import SPARK_VARIABLES

_MAY_USE_SPARK = {"spark", "broker"}
_MAY_START_PROGRAMS = {*_MAY_USE_SPARK, "browser", "process", "slow", "nightly"}
_PROGRAM_EVENTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}

# Where PySpark keeps the session that a process has.
_SESSION_HOLDERS = ((SparkSession, "_instantiatedSession"), (SparkContext, "_active_spark_context"))


class Isolation:
    """A plugin of pytest that hides Spark from unmarked cases, and fails those that start a program."""

    def __init__(self) -> None:
        self._started: list[str] = []
        sys.addaudithook(self._note_event)
        # The spawning of worker processes raises no event.
        start = BaseProcess.start

        def noted(process: BaseProcess) -> None:
            self._started.append(process.name)
            start(process)

        BaseProcess.start = noted  # type: ignore[method-assign]

    def _note_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PROGRAM_EVENTS:
            self._started.append(" ".join(map(str, arguments[1])) if event == "subprocess.Popen" else event)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._started.clear()
        if has_any(item, _MAY_USE_SPARK):
            return (yield)
        with _hidden_spark():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report = yield
        if self._started and report.passed and not has_any(item, _MAY_START_PROGRAMS):
            report.outcome = "failed"
            report.longrepr = f"It starts a program, but has no mark for it, such as process: {self._started[0]}"
            self._started.clear()
        return report


def has_any(item: pytest.Item, marks: set[str]) -> bool:
    """Return whether a case has one of some marks."""
    return any(mark.name in marks for mark in item.iter_markers())


@contextmanager
def _hidden_spark() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in SPARK_VARIABLES:
            patch.delenv(name, raising=False)
        for owner, name in _SESSION_HOLDERS:
            patch.setattr(owner, name, None)
        patch.setattr(SparkSession, "getActiveSession", classmethod(lambda _: None))
        yield
