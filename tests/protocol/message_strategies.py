"""Hypothesis strategies for the messages of any layout, in the form of Kafka's JSON (bytes as bytes)."""

from base64 import urlsafe_b64encode

from hypothesis import strategies as st

from kip848_records.protocol.schema import BYTES, STRING, UUID, Array, Field, Fixed, Layout, Struct, Type

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
}
ANY_STRING = st.text(max_size=6) | st.sampled_from(["", "x" * 127, "é" * 200, "\0"])
ANY_BYTES = st.binary(max_size=6) | st.just(b"\xff" * 130)
ANY_UUID = st.binary(min_size=16, max_size=16).map(lambda raw: urlsafe_b64encode(raw).decode().rstrip("="))


def messages(layout: Layout) -> st.SearchStrategy[dict]:
    return structs(layout, layout.struct)


def structs(layout: Layout, kind: Struct) -> st.SearchStrategy[dict]:
    required = {field.name: fields(layout, field) for field in layout.positional(kind)}
    tagged = layout.tagged(kind).values() if layout.flexible else ()
    return st.fixed_dictionaries(required, optional={field.name: fields(layout, field) for field in tagged})


def fields(layout: Layout, field: Field) -> st.SearchStrategy:
    """A tagged field is never at its default: that would not be written."""
    strategy = values(layout, field.type)
    if layout.nullable(field):
        strategy = st.none() | strategy
    return strategy if field.tag is None else strategy.filter(lambda value: value != field.default)


def values(layout: Layout, kind: Type) -> st.SearchStrategy:
    if isinstance(kind, Struct):
        return structs(layout, kind)
    if isinstance(kind, Array):
        return st.lists(values(layout, kind.element), max_size=3)
    if kind in (STRING, BYTES):
        return ANY_STRING if kind is STRING else ANY_BYTES
    if kind is UUID:
        return ANY_UUID
    assert isinstance(kind, Fixed)
    low, high = RANGES[kind.name]
    return st.integers(low, high) | st.sampled_from([low, -1 if low else 1, 0, high])
