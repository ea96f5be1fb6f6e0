"""Ctrl-C while Spark works: it also ends Spark's jobs, and errors that it causes become KeyboardInterrupt."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager, suppress
from threading import Event, Thread, Timer, current_thread, main_thread
from time import sleep
from typing import TYPE_CHECKING, NoReturn

from kip848_records.threads import threads_at_work

if TYPE_CHECKING:
    from collections.abc import Iterator

_CANCEL_EVERY_S = 0.5
_ANEW_AFTER_S = 0.1

_interrupted = Event()


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of an interrupted block, whatever the block raises or returns.

    After an interrupt Py4J closes its connections (`GatewayClient.send_command`), and the JVM may close the next one
    too. Then clean-up that calls the JVM fails, and its exception would replace KeyboardInterrupt. Python also drops an
    interrupt that is raised in a finalizer, such as those of Py4J's objects: this function raises it again.
    """
    _interrupted.clear()
    try:
        with _dropped_ones_anew():
            yield
    except Exception:
        if not _interrupted.is_set():
            raise
    if _interrupted.is_set():
        raise KeyboardInterrupt


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


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer Ctrl-C while Spark starts within the block, and keep Spark from setting a handler of its own.

    Interrupting start-up would orphan the JVM. A handler other than Python's default stays in place, and so does the
    setting that ignores Ctrl-C.
    """
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread():
        yield
    elif handler not in {signal.default_int_handler, _interrupt}:
        yield
        signal.signal(signal.SIGINT, handler)
    else:
        interrupts: list[int] = []
        signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, _interrupt)
            if interrupts:  # even after another error: child processes may have been interrupted too
                _interrupted.set()
                raise KeyboardInterrupt


def _interrupt(*_: object) -> NoReturn:
    """Cancel Spark's jobs, and raise KeyboardInterrupt.

    Spark's own handler cancels on the connection that this thread is waiting on: that fails, and the final exception is
    not KeyboardInterrupt. So another thread cancels, on another connection.
    """
    _interrupted.set()
    Thread(target=_cancel_jobs, daemon=True).start()
    raise KeyboardInterrupt


def _cancel_jobs() -> None:
    """Cancel all jobs, and those that other threads of this process start before they end: an interrupt awaits them.

    `SparkContext.cancelAllJobs` would not do: it forgets a job of which no stage is running at that moment, and a
    thread that waits for the job waits forever (`DAGScheduler.doCancelAllJobs`).
    """
    while True:
        spark = sys.modules.get("pyspark.sql")  # without it there are no jobs
        # The active session belongs to a thread, so it is not used here.
        session = None if spark is None else spark.SparkSession._instantiatedSession  # noqa: SLF001
        if session is not None:
            with suppress(Exception):  # the JVM ends with the process, and may have ended already
                session.interruptAll()
        if not threads_at_work():
            return
        sleep(_CANCEL_EVERY_S)
