"""Intervals of a state: patterns that last as long as something is so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")


class Interval(NamedTuple):
    """From `begin` to `end`, ms since 1970; None: it lasts. `offset`: of what began it."""

    begin: int
    end: int | None
    offset: int | None = None


def bridged(intervals: Iterable[Interval], pause: int) -> list[Interval]:
    """Return intervals, sorted by their begin, with pauses of less than so many ms bridged."""
    found: list[Interval] = []
    for each in intervals:
        last = found[-1] if found else None
        if last is not None and (last.end is None or each.begin - last.end < pause):
            end = None if last.end is None or each.end is None else max(last.end, each.end)
            if end != last.end:
                found[-1] = last._replace(end=end)
        else:
            found.append(each)
    return found


def long_ones(intervals: Iterable[Interval], length: int, captured_at: int) -> Iterator[Interval]:
    """Yield the intervals that last for so many ms."""
    return (each for each in intervals if (captured_at if each.end is None else each.end) - each.begin >= length)


def at_once(items: Iterable[tuple[int, int | None, Hashable, int | None]], least: int) -> Iterator[Interval]:
    """Yield the times in which at least so many things are there at once.

    `items`: from when to when (ms; None: still) a thing is there, any number of times, and the offset of what began it.
    """
    steps: list[tuple[int, int, Hashable, int | None]] = []
    for begin, end, thing, offset in items:
        steps.append((begin, 1, thing, offset))
        if end is not None:
            steps.append((end, -1, thing, None))
    there = Counter[Hashable]()
    began: tuple[int, int | None] | None = None
    for at, by, thing, offset in sorted(steps, key=lambda step: step[:2]):
        there[thing] += by
        if not there[thing]:
            del there[thing]
        if began is None and len(there) >= least:
            began = at, offset
        elif began is not None and len(there) < least:
            yield Interval(began[0], at, began[1])
            began = None
    if began is not None:
        yield Interval(began[0], None, began[1])


def together(items: Iterable[_T], goes_on: Callable[[list[_T], _T], bool]) -> Iterator[list[_T]]:
    """Yield sorted items that belong together: each goes on what came before it."""
    found: list[_T] = []
    for each in items:
        if found and not goes_on(found, each):
            yield found
            found = []
        found.append(each)
    if found:
        yield found
