"""Ctrl-C ends a command with 130 and one word, whatever fails because of it."""

import signal
import subprocess
import sys
import threading
import time

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from kip848_records import interrupts, threads
from kip848_records.cli import INTERRUPTED, inspect, main


@pytest.fixture(autouse=True)
def handler():
    """The handler of a session that was started here."""
    before = signal.signal(signal.SIGINT, interrupts._interrupt)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command whose work is a function; its exit code, and what it printed on stderr."""

    def run(work):
        monkeypatch.setattr(inspect, "_run", lambda _: work())
        code = main(["inspect", "x"])
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def jobs(monkeypatch):
    """A session that counts how often all jobs were cancelled."""
    cancelled = []

    class Session:
        def interruptAll(self):  # noqa: N802 - Spark's name
            cancelled.append(time.monotonic())

    monkeypatch.setattr(SparkSession, "_instantiatedSession", Session())
    return cancelled


def interrupt():
    signal.raise_signal(signal.SIGINT)


def eventually(condition, within_s=10):
    end = time.monotonic() + within_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@pytest.mark.usefixtures("jobs")
class TestCommand:
    def test_an_interrupt(self, command):
        assert command(interrupt) == (INTERRUPTED, "interrupted\n")

    def test_by_another_handler(self, command):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert command(interrupt) == (130, "interrupted\n")

    def test_clean_up_that_fails_behind_it(self, command):
        """Py4J closes its connections at an interrupt: what asks the JVM then may get no answer."""

        def work():
            try:
                interrupt()
            finally:
                raise Py4JNetworkError("Answer from Java side is empty")

        assert command(work) == (130, "interrupted\n")

    def test_one_that_python_drops_is_raised_anew(self, command):
        class Finalized:
            def __del__(self):
                interrupt()

        ended = []

        def work():
            Finalized()
            try:
                time.sleep(30)
            except KeyboardInterrupt:
                ended.append("soon")
                raise

        assert command(work) == (130, "interrupted\n")
        assert ended == ["soon"]

    def test_other_errors_of_finalizers_are_reported_as_ever(self, command, monkeypatch):
        reported = []
        monkeypatch.setattr("sys.unraisablehook", lambda each: reported.append(each.exc_type))

        class Finalized:
            def __del__(self):
                raise KeyError

        def work():
            Finalized()
            return 0

        assert command(work) == (0, "")
        assert reported == [KeyError]

    def test_a_run_that_ends_all_the_same(self, command):
        def work():
            try:
                interrupt()
            except KeyboardInterrupt:
                return 0

        assert command(work) == (130, "interrupted\n")

    def test_the_next_command_is_not_interrupted(self, command):
        assert command(interrupt)[0] == 130
        assert command(lambda: 0) == (0, "")
        code, said = command(lambda: 1 // 0)
        assert (code, said.splitlines()[0]) == (1, "error: ZeroDivisionError: integer division or modulo by zero")


class TestJobs:
    def test_they_are_cancelled_once(self, command, jobs):
        command(interrupt)
        assert eventually(lambda: jobs)
        assert not threads.threads_at_work()

    def test_those_that_threads_begin_later_are_cancelled_too(self, command, jobs, monkeypatch):
        monkeypatch.setattr(interrupts, "_CANCEL_EVERY_S", 0.01)

        ended = []

        def begins_another_when_all_were_cancelled():
            eventually(lambda: jobs)
            before = len(jobs)
            ended.append(eventually(lambda: len(jobs) > before))

        assert command(lambda: threads.both(interrupt, begins_another_when_all_were_cancelled)) == (
            130,
            "interrupted\n",
        )
        assert ended == [True]

    def test_one_that_never_answers_is_awaited_for_a_while(self, command, jobs, monkeypatch):
        monkeypatch.setattr(threads, "_PATIENCE_S", 0.2)
        monkeypatch.setattr(interrupts, "_CANCEL_EVERY_S", 0.01)
        answer = threading.Event()
        assert command(lambda: threads.both(interrupt, lambda: answer.wait(60))) == (130, "interrupted\n")
        assert threads.threads_at_work()
        answer.set()
        assert eventually(lambda: not threads.threads_at_work())
        assert len(jobs) > 1

    def test_a_program_does_not_wait_for_such_a_one(self):
        program = """
import signal, sys, time
from kip848_records import interrupts, threads
from kip848_records.cli import inspect
from kip848_records.command import main
signal.signal(signal.SIGINT, interrupts._interrupt)
threads._PATIENCE_S = 0.2
inspect._run = lambda _: threads.both(lambda: signal.raise_signal(signal.SIGINT), lambda: time.sleep(600))
sys.argv[1:] = ["inspect", "x"]
sys.exit(main())
"""
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")

    def test_a_session_that_fails_does_no_harm(self, command, monkeypatch):
        monkeypatch.setattr(SparkSession, "_instantiatedSession", object())
        assert command(interrupt) == (130, "interrupted\n")


class TestStart:
    """While Spark starts, an interrupt waits: a JVM that is not waited for would not end with us."""

    @pytest.fixture(autouse=True)
    def python_s_handler(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_it_waits(self, command):
        steps = []

        def work():
            with interrupts.deferred_interrupts():
                interrupt()
                steps.append("started")
            steps.append("went on")

        assert command(work) == (130, "interrupted\n")
        assert steps == ["started"]

    def test_it_counts_though_the_start_fails(self, command):
        def work():
            with interrupts.deferred_interrupts():
                interrupt()
                raise RuntimeError("Java gateway process exited")

        assert command(work) == (130, "interrupted\n")

    def test_it_counts_though_clean_up_fails_behind_it(self, command):
        def work():
            try:
                with interrupts.deferred_interrupts():
                    interrupt()
            finally:
                raise RuntimeError("no gateway")

        assert command(work) == (130, "interrupted\n")

    def test_a_handler_of_another_s_stays(self):
        def other(*_):
            pass

        signal.signal(signal.SIGINT, other)
        with interrupts.deferred_interrupts():
            signal.signal(signal.SIGINT, interrupts._interrupt)  # as a context of Spark sets its own
        assert signal.getsignal(signal.SIGINT) is other

    def test_in_another_thread_there_is_none_to_set(self):
        def work():
            with interrupts.deferred_interrupts():
                pass

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_jobs_of_other_threads_end(command, classic, tmp_path):
    started = tmp_path / "started"

    def sleep(batches):
        started.touch()
        time.sleep(600)
        yield from batches

    def interrupt_it():
        assert eventually(started.exists, 60)
        interrupt()

    start = time.monotonic()
    job = classic.range(0, 1, 1, 1).mapInArrow(sleep, "id long")
    assert command(lambda: threads.both(interrupt_it, job.collect)) == (130, "interrupted\n")
    assert time.monotonic() - start < 300
