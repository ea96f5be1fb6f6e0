"""Spark jobs side by side: a small one is mostly planning and round trips, which leave a machine's cores idle."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
First = TypeVar("First")
Second = TypeVar("Second")

# How many at once: not so many that a driver feels it.
_AT_ONCE = 4


def several(work: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Do the work for each item, several at once.

    Raises what it raised for one of them: then no other is begun, and those that were are awaited.
    """
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        try:
            for done in as_completed([threads.submit(work, item) for item in items]):
                done.result()
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def in_order(work: Callable[[Item], First], items: Iterable[Item]) -> Iterator[First]:
    """Yield what the work returns for each item, in their order, several of them worked on at once."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        yield from threads.map(work, items)


def both(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Do two things at once and return what each returns; raises what one of them raised."""
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(second)
        return first(), other.result()
