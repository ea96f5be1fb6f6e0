"""Counts the CPU seconds of each case, and fails what `budget.toml` does not allow.

CPU time, not the time on the wall: a busy machine makes no case red. The limits are those of one machine. If a
case exceeds its limit, the plugin measures at once how much slower this machine is, and allows as many times more. It
also counts the cases that are not in `make test`, but does not limit them. It counts fixtures of the whole run apart,
because the case that comes first would pay for all others.
"""

import gc
import os
import statistics
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.isolation import has_any
from tests.processes import told

_SHARED = "shared fixtures"
_PROGRAM_MARKS = {"spark", "broker", "browser", "process"}
_NOT_IN_MAKE_TEST = {"slow", "nightly"}
_TICKS = os.sysconf("SC_CLK_TCK")


class Budget:
    """A plugin of pytest. Workers of xdist measure; the process that collects their reports adds up and judges."""

    def __init__(self, config: pytest.Config) -> None:
        limits = tomllib.loads((Path(__file__).parent / "budget.toml").read_text())
        self._case_limit: float = limits["case"]
        self._loop_seconds: float = limits["loop"]
        self._folder_limits: dict[str, float] = limits.get("folders", {})
        self._most_cases: int = config.getoption("cpu")
        self._shared, self._is_in_shared = 0.0, False
        self._folders: dict[str, float] = defaultdict(float)
        self._left_out: dict[str, float] = defaultdict(float)
        self._cases: list[tuple[float, str]] = []
        self._exceeded: dict[str, tuple[float, float]] = {}

    # In each worker ---------------------------------------------------------------------------------------------

    def pytest_collection_finish(self) -> None:
        # Modules and cases live until the end: to look through them for garbage would be counted as a case's work.
        gc.collect()
        gc.freeze()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        if fixturedef.scope != "session" or self._is_in_shared:
            return (yield)
        self._is_in_shared = True
        before = cpu_seconds(live=True)
        try:
            return (yield)
        finally:
            self._is_in_shared = False
            self._shared += cpu_seconds(live=True) - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        item.stash[_START] = cpu_seconds(live=has_any(item, _PROGRAM_MARKS))
        item.stash[_IS_LAST] = nextitem is None
        self._shared = 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        before, shared = cpu_seconds(), self._shared
        try:
            return (yield)
        finally:
            # A case may ask for a shared fixture only now.
            item.stash[_CALL] = cpu_seconds() - before - (self._shared - shared)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        if call.when == "call" and report.passed and not has_any(item, _PROGRAM_MARKS | _NOT_IN_MAKE_TEST):
            used = item.stash[_CALL]
            if used > self._case_limit and used > (limit := self._case_limit * self._slowness()):
                report.outcome = "failed"
                report.longrepr = f"It took {used:.1f} CPU s, more than {limit:.1f}: make it cheaper, or mark it slow."
        if call.when == "teardown":
            # After the last case what all shared ends: children that were counted while they lived would count again.
            used = cpu_seconds(live=has_any(item, _PROGRAM_MARKS)) - item.stash[_START] - self._shared
            used = item.stash[_CALL] if item.stash[_IS_LAST] and _CALL in item.stash else used
            is_limited = not has_any(item, _NOT_IN_MAKE_TEST)
            report.user_properties.append((_PROPERTY, (used, self._shared, is_limited)))
        return report

    # Where the reports arrive -----------------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                used, shared, is_limited = value
                folders = self._folders if is_limited else self._left_out
                folders[_folder(report.nodeid)] += used
                folders[_SHARED] += shared
                self._cases.append((used, report.nodeid))

    def _slowness(self) -> float:
        """Return how many times slower than the machine of the limits this one is at present; 1 if it is not."""
        return max(1, statistics.median(_loop_seconds() for _ in range(9)) / self._loop_seconds)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        over = {name: used for name, used in self._folders.items() if used > self._folder_limits.get(name, 0) > 0}
        slowness = self._slowness() if over else 1
        limits = {name: self._folder_limits[name] * slowness for name in over}
        self._exceeded = {name: (used, limits[name]) for name, used in over.items() if used > limits[name]}
        if self._exceeded and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        left_out = sum(self._left_out.values())
        terminalreporter.write_line(
            f"CPU s: {sum(self._folders.values()):.0f} in cases of make test, {left_out:.0f} in others"
        )
        for name, (used, limit) in self._exceeded.items():
            text = f"{name}: {used:.0f} CPU s, more than {limit:.0f}: make its cases cheaper (tests/budget.toml)"
            terminalreporter.write_line(text, red=True)
        if self._most_cases:
            for name, used in sorted(self._folders.items(), key=lambda item: -item[1]):
                terminalreporter.write_line(f"{used:8.1f} {name}")
            for name, used in sorted(self._left_out.items(), key=lambda item: -item[1]):
                terminalreporter.write_line(f"{used:8.1f} {name} (not in make test)")
            for used, name in sorted(self._cases, reverse=True)[: self._most_cases]:
                terminalreporter.write_line(f"{used:8.2f} {name}")


_START: pytest.StashKey[float] = pytest.StashKey()
_CALL: pytest.StashKey[float] = pytest.StashKey()
_IS_LAST: pytest.StashKey[bool] = pytest.StashKey()
_PROPERTY = "cpu_s"


def _folder(nodeid: str) -> str:
    """Return the folder of `tests/` that a case is in, or `tests` if it is in none."""
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else parts[0]


def _loop_seconds() -> float:
    """Return the CPU seconds of a piece of work that is the same everywhere."""
    before = time.process_time()
    sum(number * number for number in range(1_000_000))
    return time.process_time() - before


def cpu_seconds(*, live: bool = False) -> float:
    """Return the CPU seconds of this process and of its children that ended; with `live` of all its descendants too."""
    times = os.times()
    used = times.user + times.system + times.children_user + times.children_system
    return used + _live_descendants() if live else used


def _live_descendants() -> float:
    children: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for process, text in told("stat"):
        fields = text.rpartition(")")[2].split()
        children[int(fields[1])].append((process, sum(map(int, fields[11:15])) / _TICKS))
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        for process, used in children.get(waiting.pop(), ()):
            total += used
            waiting.append(process)
    return total
