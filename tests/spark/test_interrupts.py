"""Ctrl-C ends a command with 130 and one word, whatever fails because of it."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from kip848_records.cli import INTERRUPTED, inspect, main
from kip848_records.spark import interrupts, threads
from tests import commands

ON_SPARK = ("--engine", "spark")


@pytest.fixture(autouse=True)
def handler():
    """The handler of a session that was started here."""
    before = signal.signal(signal.SIGINT, interrupts._interrupt)
    yield
    signal.signal(signal.SIGINT, before)
    for thread in threading.enumerate():  # it would go on to cancel the jobs of the tests that follow
        if thread.name == interrupts._cancel_jobs.__name__:
            thread.join(30)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command whose work is a function; its exit code, and what it printed on stderr."""

    def run(work):
        monkeypatch.setattr(inspect, "_run", lambda _: work())
        code = main(["inspect", "x"])
        return code, capsys.readouterr().err

    return run


def side_by_side(*works):
    """Do each work in a thread, as tables are written."""
    threads.for_each_parallel(lambda work: work(), works)


def interrupted_beside(work):
    """Interrupt the main thread when a thread beside it has begun."""
    begun = threading.Event()

    def interrupt_then():
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

    def working():
        begun.set()
        work()

    side_by_side(interrupt_then, working)


@pytest.fixture
def jobs(monkeypatch):
    """A session that counts how often all jobs were cancelled."""
    cancelled = []

    class Session:
        def interruptAll(self):  # noqa: N802 - Spark's name
            cancelled.append(time.monotonic())

    monkeypatch.setattr(SparkSession, "active", Session)
    return cancelled


def interrupt():
    signal.raise_signal(signal.SIGINT)


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
        assert (code, said.splitlines()[0]) == (
            70,
            "error: kip848 itself failed: ZeroDivisionError: integer division or modulo by zero",
        )


class TestJobs:
    def test_they_are_cancelled_once(self, command, jobs):
        command(interrupt)
        assert commands.eventually(lambda: jobs)
        assert not threads.threads_at_work()

    def test_those_that_threads_begin_later_are_cancelled_too(self, command, jobs, monkeypatch):
        monkeypatch.setattr(interrupts, "_CANCEL_EVERY_S", 0.01)

        ended = []

        def begins_another_when_all_were_cancelled():
            commands.eventually(lambda: jobs)
            before = len(jobs)
            ended.append(commands.eventually(lambda: len(jobs) > before))

        work = begins_another_when_all_were_cancelled
        assert command(lambda: interrupted_beside(work)) == (130, "interrupted\n")
        assert ended == [True]

    def test_one_that_never_answers_is_awaited_for_a_while(self, command, jobs, monkeypatch):
        monkeypatch.setattr(threads, "_PATIENCE_S", 0.2)
        monkeypatch.setattr(interrupts, "_CANCEL_EVERY_S", 0.01)
        answer = threading.Event()
        assert command(lambda: interrupted_beside(lambda: answer.wait(60))) == (130, "interrupted\n")
        assert threads.threads_at_work()
        assert commands.eventually(lambda: len(jobs) > 1)
        answer.set()
        assert commands.eventually(lambda: not threads.threads_at_work())

    @pytest.mark.process
    def test_a_program_does_not_wait_for_such_a_one(self):
        program = """
import os, signal, sys, time
from kip848_records.spark import interrupts
from kip848_records.spark import threads
from kip848_records.cli import inspect
from kip848_records.command import main
signal.signal(signal.SIGINT, interrupts._interrupt)
threads._PATIENCE_S = 0.2
works = [lambda: os.kill(os.getpid(), signal.SIGINT), lambda: time.sleep(600)]
inspect._run = lambda _: threads.for_each_parallel(lambda work: work(), works)
sys.argv[1:] = ["inspect", "x"]
sys.exit(main())
"""
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")

    def test_a_session_that_fails_does_no_harm(self, command, monkeypatch):
        monkeypatch.setattr(SparkSession, "active", object)
        assert command(interrupt) == (130, "interrupted\n")


class TestHandler:
    """While a session starts, Spark sets a handler of its own: a command's handler comes back, and an application's."""

    @pytest.mark.parametrize("before", [interrupts._interrupt, signal.SIG_IGN, lambda *_: None])
    def test_it_stays(self, before):
        signal.signal(signal.SIGINT, before)

        @interrupts.same_handler()
        def start():
            signal.signal(signal.SIGINT, interrupt)
            raise RuntimeError("Java gateway process exited")

        with pytest.raises(RuntimeError):
            start()
        assert signal.getsignal(signal.SIGINT) is before

    def test_in_place_of_python_s_own_that_of_spark_stays(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with interrupts.same_handler():
            signal.signal(signal.SIGINT, interrupt)
        assert signal.getsignal(signal.SIGINT) is interrupt

    def test_in_another_thread_there_is_none_to_set(self):
        failed = []

        def work():
            try:
                with interrupts.same_handler():
                    pass
            except ValueError as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert not failed


def end_by_ctrl_c(started):
    """Interrupt all processes, as a terminal does."""
    os.killpg(started.pid, signal.SIGINT)
    await_end(started, 130)


def end_by_termination(started):
    """Terminate the command alone, as whoever started it does."""
    os.kill(started.pid, signal.SIGTERM)
    await_end(started, 143)


def await_end(started, code):
    """The command ends, and its JVM with it, though what it waits for would take minutes."""
    _, said = started.communicate(timeout=60)
    assert (started.returncode, said.splitlines()[-1]) == (code, "interrupted")
    assert "Traceback" not in said
    assert commands.eventually(lambda: not commands.processes_of(started.pid))


@pytest.mark.slow
@pytest.mark.parametrize("end", [end_by_ctrl_c, pytest.param(end_by_termination, marks=pytest.mark.nightly)])
def test_while_jars_are_fetched(captures, tmp_path, end):
    """From a repository that does not answer: this would last for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        options = f"--conf spark.jars.ivy={tmp_path / 'ivy'} --packages a:b:1 pyspark-shell"
        options = f"--repositories http://127.0.0.1:{silent.getsockname()[1]}/ {options}"
        arguments = ("audit", captures / "kafka-4.0.0-zstd" / "segments", "--out", tmp_path / "out", *ON_SPARK)
        with commands.started(*arguments, PYSPARK_SUBMIT_ARGS=options, TMPDIR=str(tmp_path)) as started:
            connection, _ = silent.accept()
            with connection:
                end(started)
    assert not [*tmp_path.glob("kip848-*")]


@pytest.mark.nightly
def test_while_a_server_does_not_answer(captures, tmp_path):
    """Spark Connect would ask it for a minute and more."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        arguments = ("audit", captures / "kafka-4.0.0-zstd" / "segments", "--out", tmp_path / "out", *ON_SPARK)
        remote = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        with commands.started(*arguments, SPARK_REMOTE=remote, TMPDIR=str(tmp_path)) as started:
            connection, _ = silent.accept()
            with connection:
                end_by_ctrl_c(started)


@pytest.mark.slow
def test_while_the_context_is_made(captures, tmp_path):
    """The main thread waits for the JVM's answer: here for an object that takes long to make."""
    (tmp_path / "sitecustomize.py").write_text(
        "import pathlib, pyspark\n"
        "def make(self, conf):\n"
        f"    pathlib.Path({str(tmp_path / 'begun')!r}).touch()\n"
        "    return self._jvm.java.lang.Thread.sleep(600_000)\n"
        "pyspark.SparkContext._initialize_context = make\n"
    )
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    arguments = ("audit", captures / "kafka-4.0.0-zstd" / "segments", "--out", tmp_path / "out", *ON_SPARK)
    with commands.started(*arguments, TMPDIR=str(tmp_path), PYTHONPATH=path) as started:
        assert commands.eventually((tmp_path / "begun").exists, 120)
        end_by_ctrl_c(started)
    assert not [*tmp_path.glob("kip848-*")]


def test_jobs_of_other_threads_end(command, classic, tmp_path):
    started = tmp_path / "started"

    def sleep(batches):
        started.touch()
        time.sleep(600)
        yield from batches

    def interrupt_it():
        assert commands.eventually(started.exists, 60)
        os.kill(os.getpid(), signal.SIGINT)

    job = classic.range(0, 1, 1, 1).mapInArrow(sleep, "id long")
    assert command(lambda: side_by_side(interrupt_it, job.collect)) == (130, "interrupted\n")
    assert commands.eventually(lambda: not threads.threads_at_work()), "the job goes on"
