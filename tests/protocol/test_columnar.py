"""The contract of every wire type, and what a row that breaks it is told."""

import tracemalloc
from struct import pack

import numpy as np
import pyarrow as pa
import pytest

from kip848_records.protocol.columnar import Error, decode
from kip848_records.protocol.encode import encode_message, uvarint
from kip848_records.protocol.schema import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Array,
    Field,
    Message,
    struct,
)

PAIR = struct(Field("name", STRING), Field("number", INT32))
TAGGED = struct(Field("name", STRING), Field("epochs", Array(INT32), nullable="0+", tag=0))
VALUES = {
    "int8": (INT8, [0, 1, -1, 127, -128]),
    "int16": (INT16, [0, 258, -1, 2**15 - 1, -(2**15)]),
    "uint16": (UINT16, [0, 258, 2**15, 2**16 - 1]),
    "int32": (INT32, [0, 16909060, -1, 2**31 - 1, -(2**31)]),
    "int64": (INT64, [0, 72623859790382856, -1, 2**63 - 1, -(2**63)]),
    "uuid": (UUID, ["A" * 22, "AAECAwQFBgcICQoLDA0ODw", "_____________________w", "-_-_-_-_-_-_-_-_-_-_-w"]),
    "string": (STRING, ["", "a", "é漢😀", "\0", "x" * 126, "x" * 127, "x" * 32767]),
    "bytes": (BYTES, [b"", b"\0", b"\xff" * 127, b"\xc3" * 20000]),
    "int32s": (Array(INT32), [[], [1], [-1, 2**31 - 1] * 100]),
    "int16s": (Array(INT16), [[], [1], [-1, 2**15 - 1]]),
    "uuids": (Array(UUID), [[], ["AAECAwQFBgcICQoLDA0ODw"] * 3]),
    "strings": (Array(STRING), [[], [""], ["a", "", "é" * 100], ["x"] * 200]),
    "lists": (Array(Array(INT32)), [[], [[]], [[1], [], [2, 3]]]),
    "structs": (Array(PAIR), [[], [{"name": "a", "number": 1}], [{"name": "b" * n, "number": n} for n in range(12)]]),
    "tagged": (Array(TAGGED), [[{"name": "a", "epochs": [1, 2]}, {"name": "", "epochs": None}, {"name": "b"}]]),
}
LAYOUTS = [
    pytest.param(name, flexible, id=f"{name}-{form}")
    for name in VALUES
    for form, flexible in (("flexible", True), ("plain", False))
    if flexible or name != "tagged"
]
NULLABLE = ("string", "bytes", "int32s", "strings", "structs")
HEAD = 4  # every message begins with an int32


def layout_of(kind, *, flexible, nullable="none", tag=None):
    fields = struct(Field("head", INT32), Field("it", kind, nullable=nullable, tag=tag))
    return Message(fields, flexible="0+" if flexible else "none").at(0)


def encode(layout, value):
    return encode_message(layout, {"head": 7, "it": value})[2:]


def column(rows):
    return pa.array(rows, pa.binary())


def arrow_form(value):
    """What Arrow has for an encoder's value: an absent field is null."""
    if isinstance(value, list):
        return [arrow_form(element) for element in value]
    return value | {"epochs": value.get("epochs")} if isinstance(value, dict) and "number" not in value else value


def its(decoded):
    """The field that a test is about, per row; None where the row failed."""
    return [row and row["it"] for row in decoded.values.to_pylist()]


def error_of(layout, *rows):
    decoded = decode(layout, column(rows))
    assert decoded.values.null_count == np.count_nonzero(decoded.errors)
    return [(Error(error), int(position)) for error, position in zip(decoded.errors, decoded.positions, strict=True)]


# --- wire types ---


@pytest.mark.parametrize(("name", "flexible"), LAYOUTS)
def test_values(name, flexible):
    kind, values = VALUES[name]
    layout = layout_of(kind, flexible=flexible)
    for batch in (values, values * 5):
        decoded = decode(layout, column([encode(layout, value) for value in batch]))
        assert not decoded.errors.any()
        assert set(decoded.positions) == {-1}
        assert decoded.values.to_pylist() == [{"head": 7, "it": arrow_form(value)} for value in batch]


@pytest.mark.parametrize("flexible", [True, False])
@pytest.mark.parametrize("name", NULLABLE)
def test_null(name, flexible):
    kind, values = VALUES[name]
    layout = layout_of(kind, flexible=flexible, nullable="0+")
    mixed = [None, values[-1], None, *values]
    for batch in ([None], [None] * 10, mixed, mixed * 3):
        decoded = decode(layout, column([encode(layout, value) for value in batch]))
        assert not decoded.errors.any()
        assert its(decoded) == [arrow_form(value) for value in batch]
    strict = layout_of(kind, flexible=flexible)
    good, null = encode(strict, values[-1]), encode(layout, None)
    assert error_of(strict, good, null, good) == [(Error.NONE, -1), (Error.UNEXPECTED_NULL, HEAD), (Error.NONE, -1)]


@pytest.mark.parametrize(("name", "flexible"), LAYOUTS)
def test_truncation_at_every_byte(name, flexible):
    kind, values = VALUES[name]
    layout = layout_of(kind, flexible=flexible)
    for value in values:
        whole = encode(layout, value)[:300]
        if len(whole) == 300:
            continue
        rows = [row for cut in range(len(whole)) for row in (whole[:cut], whole)]
        decoded = decode(layout, column(rows))
        assert set(decoded.errors[0::2]) == {Error.TRUNCATED}
        assert (decoded.positions[0::2] <= np.arange(len(whole))).all()
        assert (decoded.positions[2 * HEAD :: 2] >= HEAD).all()
        assert not decoded.errors[1::2].any()
        assert decoded.values.to_pylist() == [None, {"head": 7, "it": arrow_form(value)}] * len(whole)


@pytest.mark.parametrize(("name", "flexible"), LAYOUTS)
def test_trailing_bytes(name, flexible):
    kind, values = VALUES[name]
    layout = layout_of(kind, flexible=flexible)
    whole = encode(layout, values[-1])
    assert error_of(layout, whole, whole + b"\0", whole) == [
        (Error.NONE, -1),
        (Error.TRAILING_BYTES, len(whole)),
        (Error.NONE, -1),
    ]


@pytest.mark.parametrize("flexible", [True, False])
@pytest.mark.parametrize(
    "name", [name for name in VALUES if name not in ("int8", "int16", "uint16", "int32", "int64", "uuid")]
)
def test_absurd_lengths(name, flexible):
    """A length is compared with the bytes that are left before anything is made of it."""
    layout = layout_of(VALUES[name][0], flexible=flexible)
    size = ">h" if name == "string" else ">i"
    lengths = [2**15 - 1] if name == "string" else [2**15, 2**30, 2**31 - 1]
    heads = [uvarint(n) for n in (300, 2**31, 2**32, 2**35 - 1)] if flexible else [pack(size, n) for n in lengths]
    rows = [b"\0\0\0\7" + head + b"\0" * 20 for head in heads] * 10
    tracemalloc.start()
    errors = error_of(layout, *rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert set(errors) == {(Error.TRUNCATED, HEAD)}
    assert peak < 1_000_000


def test_long_string():
    layout = layout_of(STRING, flexible=True)
    rows = [b"\0\0\0\7" + uvarint(length + 1) + b"x" * length + b"\0" for length in (32767, 32768, 40000)]
    assert error_of(layout, *rows) == [(Error.NONE, -1), (Error.INVALID_LENGTH, HEAD), (Error.INVALID_LENGTH, HEAD)]


@pytest.mark.parametrize("count", [1, 20])
def test_long_varints(count):
    """A varint may be longer than it needs to be, up to five bytes."""
    layout = layout_of(STRING, flexible=True)
    rows = [b"\0\0\0\7" + b"\x82" + b"\x80" * extra + b"\x00x\x00" for extra in range(6)] * count
    fine, endless = [(Error.NONE, -1)], [(Error.INVALID_VARINT, HEAD)]
    assert error_of(layout, *rows) == (fine * 4 + endless * 2) * count
    assert its(decode(layout, column(rows))) == (["x"] * 4 + [None] * 2) * count


@pytest.mark.parametrize("name", ["string", "strings"])
def test_invalid_utf8(name):
    kind = VALUES[name][0]
    layout = layout_of(kind, flexible=True)
    head = b"\0\0\0\7" + (b"" if name == "string" else b"\2")
    bad = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"]
    rows = [head + uvarint(len(text) + 1) + text + b"\0" for text in [*bad, "😀\0".encode()]]
    *errors, fine = error_of(layout, *rows)
    assert errors == [(Error.INVALID_UTF8, len(head) + 1)] * len(bad)
    assert fine == (Error.NONE, -1)


# --- tagged fields ---


def tagged_rows(*sections):
    return [b"\0\0\0\7" + uvarint(len(section)) + b"".join(section) for section in sections]


def tag(number, payload, size=None):
    return uvarint(number) + uvarint(len(payload) if size is None else size) + payload


@pytest.mark.parametrize("count", [1, 20])
def test_tags(count):
    layout = layout_of(INT64, flexible=True, tag=3)
    five, six = (pack(">q", number) for number in (5, 6))
    rows = tagged_rows(
        [],
        [tag(3, five)],
        [tag(0, b""), tag(2, b"abc"), tag(3, five), tag(2**31, b"x" * 200)],
        [tag(3, five), tag(3, six)],
        [tag(3, b"bad"), tag(3, six)],
        [tag(9, five)],
    )
    decoded = decode(layout, column(rows * count))
    assert not decoded.errors.any()
    assert its(decoded) == [None, 5, 5, 6, 6, None] * count


@pytest.mark.parametrize("count", [1, 20])
def test_bad_tags(count):
    layout = layout_of(Array(INT32), flexible=True, tag=0)
    rows = tagged_rows(
        [tag(0, b"\2\0\0\0\1")],
        [tag(0, b"\2\0\0\0\1!")],
        [tag(0, b"\3\0\0\0\1")],
        [tag(0, b"\2\0\0\0\1", size=6)],
        [tag(0, b"\2\0\0\0\1", size=4), b"\0\0"],
        [tag(0, b"")],
        [tag(1, b"", size=2**31)],
    )
    rows.append(b"\0\0\0\7" + uvarint(2**31))
    expected = [
        (Error.NONE, -1),
        (Error.TAG_SIZE_MISMATCH, 7),
        (Error.TRUNCATED, 7),
        (Error.TRUNCATED, 5),
        (Error.TRUNCATED, 7),
        (Error.TRUNCATED, 7),
        (Error.TRUNCATED, 5),
        (Error.TRUNCATED, 4),
    ]
    assert error_of(layout, *rows * count) == expected * count


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize(("tag_number", "null", "present"), [(None, b"\xff", b"\x01"), (0, b"\0", b"\1")])
def test_nullable_struct(tag_number, null, present, count):
    """The marker of a tagged struct is a varint, that of any other an int8."""
    layout = layout_of(PAIR, flexible=True, nullable="0+", tag=tag_number)
    inner = b"\2a\0\0\0\1\0"
    if tag_number is None:
        rows = [b"\0\0\0\7" + body + b"\0" for body in (null, present + inner, b"\x80", b"\x00" + inner)]
        expected = [None, {"name": "a", "number": 1}, None, {"name": "a", "number": 1}]
    else:
        rows = tagged_rows([tag(0, null)], [tag(0, present + inner)], [], [tag(0, b"\x81\x00" + inner)])
        expected = [None, {"name": "a", "number": 1}, None, {"name": "a", "number": 1}]
    decoded = decode(layout, column(rows * count))
    assert not decoded.errors.any()
    assert its(decoded) == expected * count
    for cut in range(HEAD, len(rows[1])):
        ((error, position),) = error_of(layout, rows[1][:cut])
        assert error == Error.TRUNCATED
        assert HEAD <= position <= cut
