"""Finds the starts of an array's elements in a single row: one after the other, or many at once.

The start of an element is known only after the one before it has been passed. Thousands of elements in one row would
cost thousands of steps in Python. But elements with the same first length nearly always have the same size. So starts
are guessed by that length, and one `skip` of all guessed elements together proves how many of them are right. The
decoder uses proved guesses only.
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
"""A proof costs as much as so many single steps: if it holds for fewer elements, guessing stops."""

_GROWTH = 16  # factor of the number of elements guessed at once: it bounds the cost of a wrong guess
_ATTEMPTS = 6  # enough for any number of similar elements, and a limit for a row made to mislead


def walk(element: Node, cursors: Cursors, place: int, count: int) -> tuple[Offsets, int]:
    """Return the starts of `count` elements from the cursor at index `place` on, and the end of the last one.

    Raises `Malformed`. Within a guess no further guess is made: otherwise the time that a row made to mislead can waste
    would multiply with every nested array.
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
    """Return possible starts of up to `count` elements, the first at `pos`, and the possible end of the last of them.

    The first start is right: the element is passed, and raises `Malformed` if it is damaged.
    """
    size = element.skip_one(encoded.bytes, pos, end) - pos
    size_byte = encoded.data[pos + element.size_byte : end : size][:count]
    if (size_byte == size_byte[0]).all():
        guesses: Offsets = pos + size * np.arange(len(size_byte) + 1)
    else:
        guesses = _guess_by_size(element, encoded, pos, end, count)
    return guesses[: np.searchsorted(guesses, end, side="right")]


def _guess_by_size(element: Node, encoded: Encoded, pos: int, end: int, count: int) -> Offsets:
    """Guess as `_guess` if sizes differ: an element has the size of the first one with the same size byte."""
    data, size_byte = encoded.bytes, element.size_byte
    at = pos + size_byte
    found = [at]
    sizes: dict[int, int] = {}
    try:
        for _ in range(count):
            try:
                at += sizes[data[at]]
            except KeyError:
                after = element.skip_one(data, at - size_byte, end) + size_byte
                sizes[data[at]] = after - at
                at = after
            found.append(at)
    except (Malformed, IndexError):
        pass  # a wrong guess, or a damaged row: the proof finds the right ones
    return np.fromiter(found, np.int64, len(found)) - size_byte


def _prove(element: Node, encoded: Encoded, guesses: Offsets) -> int:
    """Return how many elements, from the first on, end at the guessed start of the next one."""
    starts, ends = guesses[:-1], guesses[1:]
    cursors = Cursors(encoded, Outcome(starts, guessed=True), starts, ends, lambda: np.arange(len(starts)))
    element.skip(cursors)
    wrong = (cursors.pos != ends) | cursors.parked()
    return int(wrong.argmax()) if wrong.any() else len(starts)
