"""Spark jobs in parallel: small jobs are mostly planning and round trips, which leave a machine's cores idle."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Thread
from threading import enumerate as enumerate_threads
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Item = TypeVar("Item")

_NAME = "kip848"
_PATIENCE_S = 10.0
# The number of parallel jobs: small enough not to load the driver.
_AT_ONCE = 4


def for_each_parallel(work: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Do the work for each item, some items in parallel.

    Raises the first error: then no other item is started, and the running ones are awaited. After an interrupt the wait
    is limited: Spark may leave the thread of a cancelled job without an answer (`AdaptiveSparkPlanExec` then waits for
    an event that never comes).
    """
    threads = ThreadPoolExecutor(_AT_ONCE, _NAME)
    try:
        for done in as_completed([threads.submit(work, item) for item in items]):
            done.result()
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


def threads_at_work() -> list[Thread]:
    """Return the threads that run Spark jobs, or wait for some."""
    return [thread for thread in enumerate_threads() if thread.name.startswith(_NAME)]
