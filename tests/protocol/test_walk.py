"""Arrays of many elements in one row: where they start is guessed and proved, and no guess shows in what is found."""

import random

import numpy as np
import pyarrow as pa
import pytest

from kip848_records.protocol.columnar import Encoded, Error, decode, walk
from kip848_records.protocol.columnar.cursors import Cursors, Outcome
from kip848_records.protocol.columnar.errors import Malformed
from kip848_records.protocol.columnar.nesting import Record
from kip848_records.protocol.columnar.plan import plan
from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.schema import INT32, INT64, STRING, UUID, Array, Field, Message, struct
from tests.protocol.comparisons import compare_messages
from tests.protocol.damage import LENGTHS, mutate

NAMED = struct(Field("name", STRING), Field("numbers", Array(INT32)))
TOPIC = struct(Field("id", UUID), Field("numbers", Array(INT32)), Field("text", STRING, nullable="0+"))
PAIR = struct(Field("low", INT32), Field("high", INT64))
NESTED = struct(Field("name", STRING), Field("inner", Array(NAMED)))
MANY = walk.MANY
SIZES = {
    "equal": [3] * 300,
    "varied": [1, 2, 4, 2, 3] * 60,
    "odd one": [3] * 150 + [4] + [3] * 149,
    "short then long": [0] * 200 + [100] * 70,
    "ever longer": list(range(140)),
    "as few as are proved": [3] * MANY,
    "one more": [3] * (MANY + 1),
    "one less": [3] * (MANY - 1),
    "two kinds in stretches": [1] * 150 + [130] * 70 + [1] * 80,
}


def layout_of(element, *, flexible):
    fields = struct(Field("head", INT32), Field("it", Array(element)), Field("tail", STRING))
    return Message(fields, flexible="0+" if flexible else "none").at(0)


def encode(layout, elements):
    return encode_message(layout, {"head": 7, "it": elements, "tail": "end"})[2:]


def named(size):
    return {"name": "t", "numbers": [1] * size}


def element_of(kind, size, place):
    if kind is NAMED:
        return {"name": "n" * size, "numbers": list(range(place % 3))}
    if kind is TOPIC:
        return {"id": f"{place:021}A", "numbers": list(range(size)), "text": "é" * (size % 2) if size else None}
    if kind is PAIR:
        return {"low": place * 70_001, "high": -place}
    return {"name": "n" * (size % 3), "inner": [named(size % 2)] * (size % 5)}


def long_row(layout, sizes):
    kind = layout.struct.fields[1].type.element
    return encode(layout, [element_of(kind, size, place) for place, size in enumerate(sizes)])


LAYOUTS = [
    pytest.param(layout_of(kind, flexible=flexible), id=f"{name}-{'flexible' if flexible else 'plain'}")
    for name, kind in {"named": NAMED, "topic": TOPIC, "pair": PAIR, "nested": NESTED}.items()
    for flexible in (True, False)
]


def column(rows):
    return pa.array(rows, pa.binary())


def check(monkeypatch, layout, rows):
    """Values and verdicts of the plain decoder, errors and positions of a walk that guesses nothing."""
    good = compare_messages(layout, rows)
    guessed = decode(layout, column(rows))
    with monkeypatch.context() as patch:
        patch.setattr(walk, "MANY", 1 << 30)
        stepped = decode(layout, column(rows))
    assert list(guessed.errors) == list(stepped.errors)
    assert list(guessed.positions) == list(stepped.positions)
    return good


def steps_of(monkeypatch, layout, rows):
    """How many elements are passed one by one."""
    steps = 0
    skip_one = Record.skip_one

    def counted(*arguments):
        nonlocal steps
        steps += 1
        return skip_one(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Record, "skip_one", counted)
        decode(layout, column(rows))
    return steps


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_long_rows(monkeypatch, layout, sizes):
    """Alone, among short rows, and several of them: few are walked otherwise than many."""
    long, short = long_row(layout, sizes), long_row(layout, sizes[:2])
    for rows in ([long], [short] * 10 + [long] + [short] * 10, [long, short, *[long[:-1]] * 7, long]):
        assert check(monkeypatch, layout, rows) == sum(row != long[:-1] for row in rows)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["equal", "varied", "odd one"])
def test_damage_in_a_long_row(monkeypatch, layout, name):
    rng = random.Random(name)  # noqa: S311 - not for secrets
    long = long_row(layout, SIZES[name])
    places = [rng.randrange(len(long)) for _ in range(8)]
    rows = [long[:at] + rng.choice(LENGTHS) + long[at + rng.choice((0, 1, 2, 4)) :] for at in places]
    rows += [long[: len(long) // 2], long + b"\0", *(mutate(rng, long, long) for _ in range(8))]
    for row in rows:
        check(monkeypatch, layout, [row])
    check(monkeypatch, layout, [*rows, long])


def test_where_the_damage_is(monkeypatch):
    layout = layout_of(NAMED, flexible=True)
    long = long_row(layout, SIZES["equal"])
    size = {numbers: len(encode(layout, [{"name": "nnn", "numbers": [0] * numbers}])) for numbers in range(3)}
    start = 4 + 2 + sum(size[place % 3] - size[0] + 6 for place in range(200))
    assert long[start : start + 4] == b"\4nnn"
    rows = [long[:start] + b"\0" + long[start + 1 :], long[: start + 2]]
    assert check(monkeypatch, layout, rows) == 0
    decoded = decode(layout, column(rows))
    assert list(decoded.errors) == [Error.UNEXPECTED_NULL, Error.TRUNCATED]
    assert list(decoded.positions) == [start, start]


@pytest.mark.parametrize("every", [1, 2, 10, MANY - 1, MANY, MANY + 1, 200])
@pytest.mark.parametrize("flexible", [True, False])
def test_misleading_rows(monkeypatch, every, flexible):
    """Elements of other sizes than their first length lets one expect, some with what looks like elements inside."""
    layout = layout_of(NAMED, flexible=flexible)
    inside = b"".join([b"\2t\1\0" if flexible else b"\0\1t\0\0\0\0"] * 60)
    inside += bytes(-len(inside) % 4)
    hidden = {"name": "t", "numbers": np.frombuffer(inside, ">i4").tolist()}
    for other in (hidden, named(1), named(130)):
        elements = [other if place % every == every - 1 else named(0) for place in range(600)]
        row = encode(layout, elements)
        assert check(monkeypatch, layout, [row]) == 1
        assert check(monkeypatch, layout, [row[: len(row) // 2], row[:-1]]) == 0
        assert steps_of(monkeypatch, layout, [row]) < 2.2 * len(elements)


def test_damage_where_the_data_ends():
    """A cursor that failed stands there too: that is no proof."""
    element = plan(layout_of(NAMED, flexible=False)).steps[1][0].element
    encoded = Encoded(column([b"\0\1t\0\0\0\0" * (2 * MANY - 1) + b"\0\1t\0\0\0\1"]))
    cursors = Cursors(encoded, Outcome(encoded.starts), encoded.starts, encoded.ends, lambda: np.zeros(1, np.int64))
    with pytest.raises(Malformed):
        walk.walk(element, cursors, 0, 2 * MANY)


def test_few_steps_where_sizes_repeat(monkeypatch):
    """A long row costs steps by its kinds of elements, not by its elements."""
    for flexible in (True, False):
        layout = layout_of(TOPIC, flexible=flexible)
        assert steps_of(monkeypatch, layout, [long_row(layout, [3] * 20_000)]) < 10
        assert steps_of(monkeypatch, layout, [long_row(layout, [1, 2, 4, 2, 3] * 4_000)]) < 40


def test_nothing_is_guessed_inside_of_a_guess(monkeypatch):
    layout = layout_of(NESTED, flexible=True)
    long = {"name": "long", "inner": [named(1)] * 300}
    depth = deepest = 0
    prove = walk._prove

    def watched(*arguments):
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)
        proved = prove(*arguments)
        depth -= 1
        return proved

    monkeypatch.setattr(walk, "_prove", watched)
    elements = [{"name": "n", "inner": []}] * 300 + [long] * 5
    assert not decode(layout, column([encode(layout, elements)])).errors.any()
    assert deepest == 1
