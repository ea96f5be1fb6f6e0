"""Finds where the elements of an array start in a single row: one after the other, or many at once.

Where an element starts is known only when the one before it has been passed, and thousands of elements in one row would
cost thousands of steps in Python. But elements whose first length is the same nearly always have the same size. So
starts are guessed by that length, and one `skip` of all guessed elements together proves how many of them are right.
Nothing depends on a guess that is not proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kip848_records.protocol.columnar.cursors import Cursors, Outcome
from kip848_records.protocol.columnar.errors import Malformed

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.cursors import Offsets
    from kip848_records.protocol.columnar.encoded import Encoded
    from kip848_records.protocol.columnar.node import Node

MANY = 64
"""A proof costs what so many single steps do: it must hold for so many elements, or no more are guessed."""

_GROWTH = 16  # of the number of elements guessed at once: what a wrong guess costs stays in proportion
_ATTEMPTS = 6  # enough for any number of elements that are alike, and an end to a row made to mislead


def walk(element: Node, cursors: Cursors, place: int, count: int) -> tuple[Offsets, int]:
    """Return where `count` elements from the cursor at `place` on start, and where the last one ends.

    Raises `Malformed`. Inside of what is itself a guess no more is guessed: the time that a row made to mislead can
    waste would multiply with every array that it nests.
    """
    encoded, pos, end = cursors.encoded, int(cursors.pos[place]), int(cursors.end[place])
    found: list[Offsets] = []
    ahead = proved = MANY
    for _ in range(_ATTEMPTS):
        if cursors.outcome.guessed or min(count, proved) < MANY:
            break
        guesses = _guess(element, encoded, pos, end, min(ahead, count))
        proved = _prove(element, encoded, guesses)
        found.append(guesses[:proved])
        pos = int(guesses[proved])
        count -= proved
        ahead = _GROWTH * proved
    singly = []
    for _ in range(count):
        singly.append(pos)
        pos = element.skip_one(encoded.bytes, pos, end)
    return np.concatenate([*found, np.array(singly, np.int64)]), pos


def _guess(element: Node, encoded: Encoded, pos: int, end: int, count: int) -> Offsets:
    """Return where up to `count` elements may start, the first at `pos`, and where the last of them may end.

    The first one is right: it is passed, and raises `Malformed` if it is damaged.
    """
    size = element.skip_one(encoded.bytes, pos, end) - pos
    telling = encoded.data[pos + element.telling : end : size][:count]
    if (telling == telling[0]).all():
        guesses: Offsets = pos + size * np.arange(len(telling) + 1)
    else:
        guesses = _guess_by_size(element, encoded, pos, end, count)
    return guesses[: np.searchsorted(guesses, end, side="right")]


def _guess_by_size(element: Node, encoded: Encoded, pos: int, end: int, count: int) -> Offsets:
    """As `_guess`, where sizes differ: an element is taken to be as long as the first with the same telling byte."""
    data, telling = encoded.bytes, element.telling
    at = pos + telling
    found = [at]
    sizes: dict[int, int] = {}
    try:
        for _ in range(count):
            try:
                at += sizes[data[at]]
            except KeyError:
                after = element.skip_one(data, at - telling, end) + telling
                sizes[data[at]] = after - at
                at = after
            found.append(at)
    except (Malformed, IndexError):
        pass  # a wrong guess led astray, or the row is damaged: what is right will be proved
    return np.fromiter(found, np.int64, len(found)) - telling


def _prove(element: Node, encoded: Encoded, guesses: Offsets) -> int:
    """Return how many elements, from the first on, end where the next one was guessed to start."""
    starts, ends = guesses[:-1], guesses[1:]
    cursors = Cursors(encoded, Outcome(starts, guessed=True), starts, ends, lambda: np.arange(len(starts)))
    element.skip(cursors)
    wrong = (cursors.pos != ends) | cursors.parked()
    return int(wrong.argmax()) if wrong.any() else len(starts)
