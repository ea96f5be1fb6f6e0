"""Ctrl-C while Spark works: it also ends Spark's jobs, and errors that it causes become KeyboardInterrupt."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager, suppress
from threading import Event, Thread, Timer, current_thread, main_thread
from time import sleep
from typing import TYPE_CHECKING, NoReturn

from kip848_records.spark.threads import threads_at_work

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

_CANCEL_EVERY_S = 0.5
_ANEW_AFTER_S = 0.1
_ENDS_WITHIN_S = 1.0

_interrupted = Event()


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of an interrupted block, whatever the block raises or returns.

    After an interrupt Py4J closes its connections (`GatewayClient.send_command`), and the JVM may close the next one
    too. Then clean-up that calls the JVM fails, and its exception would replace KeyboardInterrupt. Python also drops an
    interrupt that is raised in a finalizer, such as those of Py4J's objects: this function raises it again. And DuckDB
    raises an error of its own for an interrupt of which it learns first.
    """
    _interrupted.clear()
    try:
        with _noted(), _dropped_ones_anew():
            yield
    except Exception:
        if not _interrupted.is_set():
            raise
    if _interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _noted() -> Iterator[None]:
    """Take the place of Python's default handler within the block, which does not note that there was an interrupt."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _dropped_ones_anew() -> Iterator[None]:
    """Interrupt the main thread again, without output, if an interrupt was dropped within the block."""
    hook, main = sys.unraisablehook, main_thread()
    timers: list[Timer] = []

    def interrupt_anew(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # Raised here, it would be dropped again. A signal ends the wait of the main thread.
            timers.append(Timer(_ANEW_AFTER_S, signal.pthread_kill, (main.ident, signal.SIGINT)))
            timers[-1].start()
        else:
            hook(dropped)

    sys.unraisablehook = interrupt_anew
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for timer in timers:
            timer.cancel()


class Starting:
    """The process that starts within `deferred_interrupts`: an interrupt ends it, and so the wait for it."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self._process: Popen[bytes] | None = None
        self._last_resort: Timer | None = None

    def began(self, process: Popen[bytes]) -> None:
        """Name the process; an interrupt before it ends it too."""
        self._process = process
        if self.is_interrupted:
            self._end_process()

    def interrupt(self, *_: object) -> None:
        """Handle Ctrl-C."""
        if not self.is_interrupted:
            self.is_interrupted = True
            self._end_process()

    def ended(self) -> None:
        """Await the end of a process that was interrupted."""
        if self._process is not None:
            self._process.wait()
        if self._last_resort is not None:
            self._last_resort.cancel()

    def _end_process(self) -> None:
        """Ask the process to end, which lets Spark remove its temporary files; do not ask for long."""
        if self._process is not None:
            self._process.terminate()
            self._last_resort = Timer(_ENDS_WITHIN_S, self._process.kill)
            self._last_resort.daemon = True
            self._last_resort.start()


@contextmanager
def deferred_interrupts() -> Iterator[Starting]:
    """Raise Ctrl-C at the end of the block, in which Spark starts, and keep Spark from setting a handler of its own.

    Raised anywhere in it, it would orphan the JVM; instead it ends the JVM, on which the block waits. A handler other
    than Python's default stays in place, and so does the setting that ignores Ctrl-C.
    """
    starting = Starting()
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread():
        yield starting
    elif handler not in {signal.default_int_handler, _interrupt}:
        yield starting
        signal.signal(signal.SIGINT, handler)
    else:
        signal.signal(signal.SIGINT, starting.interrupt)
        try:
            yield starting
        finally:
            signal.signal(signal.SIGINT, _interrupt)
            if starting.is_interrupted:  # even after another error: child processes may have been interrupted too
                starting.ended()
                _interrupted.set()
                raise KeyboardInterrupt


def _interrupt(*_: object) -> NoReturn:
    """Cancel Spark's jobs, and raise KeyboardInterrupt.

    Spark's own handler cancels on the connection that this thread is waiting on: that fails, and the final exception is
    not KeyboardInterrupt. So another thread cancels, on another connection.
    """
    _interrupted.set()
    Thread(target=_cancel_jobs, name=_cancel_jobs.__name__, daemon=True).start()
    raise KeyboardInterrupt


def _cancel_jobs() -> None:
    """Cancel all jobs, and those that other threads of this process start before they end: an interrupt awaits them.

    `SparkContext.cancelAllJobs` would not do: it forgets a job of which no stage is running at that moment, and a
    thread that waits for the job waits forever (`DAGScheduler.doCancelAllJobs`).
    """
    while True:
        spark = sys.modules.get("pyspark.sql")  # without it there are no jobs
        # The active session belongs to a thread, so it is not used here.
        # A module that is being imported has not all of its names.
        session = getattr(getattr(spark, "SparkSession", None), "_instantiatedSession", None)
        if session is not None:
            with suppress(Exception):  # the JVM ends with the process, and may have ended already
                session.interruptAll()
        if not threads_at_work():
            return
        sleep(_CANCEL_EVERY_S)
