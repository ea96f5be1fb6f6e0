"""Intervals of a state: patterns that last as long as something is so."""

from __future__ import annotations

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
