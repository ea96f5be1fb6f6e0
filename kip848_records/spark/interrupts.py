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

_CANCEL_EVERY_S = 0.5
_ANEW_AFTER_S = 0.1

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
    # Python's default handler does not note that there was an interrupt.
    is_default = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        with _dropped_ones_anew():
            yield
    except Exception:
        if not _interrupted.is_set():
            raise
    finally:
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
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
def same_handler() -> Iterator[None]:
    """Keep the handler of Ctrl-C of a command, or of an application, within a block that starts a session.

    A new context sets a handler of its own in place of any other, even of the one that ignores Ctrl-C. It stays where
    Python's default was, as in every program that starts Spark.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if current_thread() is main_thread() and handler is not signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)


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
        # Without the module there are no jobs, without a session none yet; its JVM may have ended already.
        with suppress(Exception):
            sys.modules["pyspark.sql"].SparkSession.active().interruptAll()
        if not threads_at_work():
            return
        sleep(_CANCEL_EVERY_S)
