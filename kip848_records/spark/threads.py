"""Spark jobs in parallel: small jobs are mostly planning and round trips, which leave a machine's cores idle."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Thread
from threading import enumerate as enumerate_threads
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
First = TypeVar("First")
Second = TypeVar("Second")

_NAME = "kip848"
_PATIENCE_S = 10.0
# The number of parallel jobs: small enough not to load the driver.
_AT_ONCE = 4


def several(work: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Do the work for each item, several items in parallel.

    Raises the first error: then no other item is started, and the running ones are awaited.
    """
    with _threads(_AT_ONCE) as threads:
        for done in as_completed([threads.submit(work, item) for item in items]):
            done.result()


def in_order(work: Callable[[Item], First], items: Iterable[Item]) -> Iterator[First]:
    """Yield the result of the work for each item, in order; several items are worked on in parallel."""
    with _threads(_AT_ONCE) as threads:
        yield from threads.map(work, items)


def both(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Run two functions in parallel and return both results; raises the error of either one."""
    with _threads(1) as thread:
        other = thread.submit(second)
        return first(), other.result()


def threads_at_work() -> list[Thread]:
    """Return the threads that run Spark jobs, or wait for some."""
    return [thread for thread in enumerate_threads() if thread.name.startswith(_NAME)]


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Yield so many threads, and await their work at the end of the block.

    If the block fails, no more work is started. After an interrupt the wait is limited: Spark may leave the thread of a
    cancelled job without an answer (`AdaptiveSparkPlanExec` then waits for an event that never comes).
    """
    threads = ThreadPoolExecutor(count, _NAME)
    try:
        yield threads
    except KeyboardInterrupt:
        threads.shutdown(wait=False, cancel_futures=True)
        end = monotonic() + _PATIENCE_S
        for thread in threads_at_work():
            thread.join(max(0, end - monotonic()))
        raise
    except BaseException:
        threads.shutdown(cancel_futures=True)
        raise
    threads.shutdown()
