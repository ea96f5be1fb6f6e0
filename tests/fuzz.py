"""Compares the decoder and the segment reader with plain ones on random and damaged inputs, on all cores: `make fuzz`.

Payloads of clients have no plain reader: they are read, or refused.

Run it as `python tests/fuzz.py [--minutes N] [--seed S] [--inputs N]`. Inputs follow from the seed alone. What fails is
cut down to a few inputs and printed, with the command that repeats it; the exit code is then 1.
"""
# ruff: noqa: T201 - it prints what it finds

import argparse
import faulthandler
import multiprocessing as mp
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz_cases import CASES, Case
from tests.memory import peak_memory
from tests.protocol.comparisons import shown

TURN = {"messages": 20, "records": 8, "json": 2, "payloads": 8, "segments": 120}
"""Cases of each kind, one kind after the other."""

CPU_SECONDS = 2.0  # that any input may take: a hundred times what the largest do
HANGING_SECONDS = 20.0  # of CPU: so long a case is ended
PEAK_BYTES = 1_000_000_000  # of memory in use, ever
MORE_BYTES = 1_500_000_000  # of address space beyond what a process starts with: 2**31 bytes cannot be had
MOST_FINDINGS = 5
LONGEST_SHOWN = 2_000  # characters; longer inputs go to a file


class TooSlowError(Exception):
    """An input takes too much CPU time."""


class TooLargeError(Exception):
    """The process has used too much memory."""


@dataclass
class Tally:
    """What one process did with one kind."""

    inputs: int = 0
    good: int = 0
    seconds: float = 0.0
    peak: int = 0
    """The process's peak memory in bytes after the last case of this kind."""

    def add(self, other: "Tally") -> None:
        self.inputs += other.inputs
        self.good += other.good
        self.seconds += other.seconds
        self.peak = max(self.peak, other.peak)


@dataclass
class Report:
    tallies: dict[str, Tally] = field(default_factory=lambda: {kind: Tally() for kind in CASES})
    findings: int = 0

    @property
    def inputs(self) -> int:
        return sum(tally.inputs for tally in self.tallies.values())


# --- one process ---


def work(seed: str, minutes: float | None, inputs: int | None, at: Any, results: Connection) -> None:
    """Run case after case; `at` holds the name of the one that runs, for those who find this process dead."""
    faulthandler.enable()
    limit_memory()
    report = Report()
    end = None if minutes is None else time.monotonic() + 60 * minutes
    for kind, number in schedule():
        if (inputs and report.inputs >= inputs) or (end and time.monotonic() > end) or report.findings >= MOST_FINDINGS:
            break
        at.value = f"{kind}/{seed}/{number}".encode()
        report.findings += not run_case(kind, seed, number, report.tallies[kind])
    results.send(report)


def schedule() -> Iterator[tuple[str, int]]:
    for turn in count():
        for kind, cases in TURN.items():
            yield from ((kind, turn * cases + number) for number in range(cases))


def run_case(kind: str, seed: str, number: int, tally: Tally) -> bool:
    """Run one case and count it; print what fails and return whether nothing did."""
    started = time.process_time()
    case = CASES[kind](random.Random(f"{kind}/{seed}/{number}"))  # noqa: S311 - not for secrets
    made = time.process_time()
    try:
        with time_limit():
            tally.good += case.check(case.items)
        if time.process_time() - made > CPU_SECONDS and (slow := slow_items(case)):
            case = case._replace(items=slow)
            raise TooSlowError(f"more than {CPU_SECONDS} s of CPU")  # noqa: TRY301
        tally.peak = peak_memory()
        if tally.peak > PEAK_BYTES:
            raise TooLargeError(f"{tally.peak:,} bytes in use")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        print_finding(f"{kind}/{seed}/{number}", case, error)
        return False
    finally:
        tally.seconds += time.process_time() - started
        tally.inputs += len(case.items) if kind != "segments" else 1
    return True


def slow_items(case: Case) -> list[Any]:
    slow = []
    for item in case.items:
        started = time.process_time()
        case.check([item])
        slow += [item] * (time.process_time() - started > CPU_SECONDS)
    return slow[:1]


@contextmanager
def time_limit() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TooSlowError(f"ended after {HANGING_SECONDS:.0f} s of CPU")

    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, HANGING_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory() -> None:
    """Let absurd lengths fail at once instead of filling the machine, where the system tells how large we are."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text().split()[0])
        limit = pages * resource.getpagesize() + MORE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


# --- findings ---


def print_finding(name: str, case: Case, error: Exception) -> None:
    items = case.items if isinstance(error, TooLargeError) else shrink(case, type(error))
    trace = "".join(traceback.format_exception(error)).rstrip()
    text = "\n".join(map(shown, items))
    if len(text) > LONGEST_SHOWN:
        with tempfile.NamedTemporaryFile("w", prefix="fuzz-", suffix=".hex", delete=False) as file:
            file.write(text)
        text = file.name
    print(f"\n{trace}\nfound in {name}, {case.name}; inputs: {len(items)}\n{text}\n{repeat_command(name)}", flush=True)


def repeat_command(name: str) -> str:
    return f"repeat it with: python tests/fuzz.py --repeat {name}"


def shrink(case: Case, kind: type[Exception]) -> list[Any]:
    """Return fewer items, in which the same kind of error is still found: halves are left out, then quarters, …"""
    items = case.items
    size = len(items)
    while size > 1:
        size = (size + 1) // 2
        for start in range(0, len(items), size)[::-1]:
            fewer = items[:start] + items[start + size :]
            if fewer and fails(case.check, fewer, kind):
                items = fewer
    return items


def fails(check: Callable[[list[Any]], int], items: list[Any], kind: type[Exception]) -> bool:
    try:
        with time_limit():
            check(items)
    except Exception as error:  # noqa: BLE001 - the kind decides
        return isinstance(error, kind)
    return False


# --- all processes ---


def fuzz(seed: int, minutes: float | None, inputs: int | None, processes: int) -> Report:
    """Run the processes to their end; each has its own seed and its share of the inputs."""
    context = mp.get_context("spawn")
    running = []
    for number in range(processes):
        at = context.Array("c", 100, lock=False)
        receiver, sender = context.Pipe(duplex=False)
        arguments = (f"{seed}.{number}", minutes, inputs and -(-inputs // processes), at, sender)
        process = context.Process(target=work, args=arguments, daemon=True)
        process.start()
        sender.close()
        running.append((process, receiver, at))
    total = Report()
    for process, receiver, at in running:
        try:
            report = receiver.recv()
        except EOFError:
            process.join()
            print(f"\na process ended with {process.exitcode}\n{repeat_command(at.value.decode())}", flush=True)
            report = Report(findings=1)
        total.findings += report.findings
        for kind, tally in report.tallies.items():
            total.tallies[kind].add(tally)
    return total


def print_table(report: Report) -> None:
    print(f"\n{'kind':10}{'inputs':>14}{'good':>14}{'errors':>14}{'CPU s':>9}{'inputs/s':>10}{'peak MB':>9}")
    everything = Tally()
    for kind, tally in report.tallies.items():
        everything.add(tally)
        print_line(kind, tally)
    print_line("all", everything)
    print(f"{report.findings} findings")


def print_line(kind: str, tally: Tally) -> None:
    counts = f"{tally.inputs:14,}{tally.good:14,}{tally.inputs - tally.good:14,}"
    rate = tally.inputs / tally.seconds if tally.seconds else 0
    print(f"{kind:10}{counts}{tally.seconds:9.0f}{rate:10,.0f}{tally.peak / 1e6:9.0f}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the decoder with a plain one on random and damaged inputs.")
    parser.add_argument("--minutes", type=float, help="how long to run (default: 5, without --inputs)")
    parser.add_argument("--inputs", type=int, help="how many inputs, of all processes together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: one a core")
    parser.add_argument("--repeat", metavar="KIND/SEED/NUMBER", help="run one case again")
    options = parser.parse_args(arguments)
    if options.repeat:
        kind, seed, number = options.repeat.split("/")
        return 0 if run_case(kind, seed, int(number), Tally()) else 1
    minutes = 5.0 if options.minutes is None and options.inputs is None else options.minutes
    seeds = ", ".join(f"{options.seed}.{number}" for number in range(options.processes))
    print(f"seed {options.seed}, of the processes: {seeds}", flush=True)
    report = fuzz(options.seed, minutes, options.inputs, options.processes)
    print_table(report)
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
