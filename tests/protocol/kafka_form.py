"""Decoded values in the form of Kafka's JSON, to compare with what Kafka itself printed."""

from base64 import b64encode
from typing import Any

from kip848_records.protocol.schema import BYTES, Array, Layout, Struct, Type


def kafka_form(layout: Layout, kind: Type, value: Any):
    """A value out of Arrow's `to_pylist` under Kafka's names; absent tagged fields are left out."""
    if value is None:
        return None
    if isinstance(kind, Array):
        return [kafka_form(layout, kind.element, element) for element in value]
    if isinstance(kind, Struct):
        tagged = layout.tagged(kind).values()
        present = [*layout.positional(kind), *(field for field in tagged if value[field.column] is not None)]
        return {field.name: kafka_form(layout, field.type, value[field.column]) for field in present}
    return b64encode(value).decode() if kind is BYTES else value


def without_defaults(layout: Layout, kind: Type, expected: Any, ours: Any):
    """`expected`, less the tagged fields that `ours` leaves out and that are null or at Kafka's default."""
    if isinstance(kind, Array) and expected and ours and len(expected) == len(ours):
        return [without_defaults(layout, kind.element, *pair) for pair in zip(expected, ours, strict=True)]
    if not isinstance(kind, Struct) or not expected or not ours:
        return expected
    fields = {field.name: field for field in [*layout.positional(kind), *layout.tagged(kind).values()]}
    return {
        name: without_defaults(layout, fields[name].type, value, ours.get(name))
        for name, value in expected.items()
        if name in ours or fields[name].tag is None or value not in (None, fields[name].default)
    }
