"""Ctrl-C ends long calls into native code at once."""

import signal
import threading
import time

import duckdb
import pytest

from kip848_records.machine import interrupts
from kip848_records.machine.interrupts import interruptible

LONG = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"


@pytest.fixture
def interrupted():
    """Interrupt this process in a moment, as a terminal does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    yield
    signal.signal(signal.SIGINT, before)


def test_what_a_call_returns_and_raises():
    assert interruptible(threading.current_thread) is not threading.main_thread()
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("is_within", [False, True])
def test_a_query_ends(is_within):
    """Also one that begins in the thread of another call."""
    connection = duckdb.connect()
    errors = []

    def ask():
        try:
            connection.execute(LONG)
        except Exception as error:
            errors.append(error)
            raise

    def call():
        return interruptible(ask, connection.interrupt)

    since = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        interruptible(call, lambda: None) if is_within else call()
    assert time.process_time() - since < 5, "CPU s: it would take hours"
    assert len(errors) == 1
    assert not interrupts._stops


def test_an_interrupt_that_comes_while_the_thread_is_started(monkeypatch):
    """Who catches it may close what the call uses: the call has ended."""

    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(interrupts, "Thread", Interrupted)
    connection = duckdb.connect()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: connection.execute(LONG), connection.interrupt)
    assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.usefixtures("interrupted")
def test_a_call_that_nothing_ends_goes_on():
    go_on = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        interruptible(go_on.wait)
    go_on.set()
