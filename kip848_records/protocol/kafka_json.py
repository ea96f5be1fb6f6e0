"""Decoded records as the JSON that Kafka's own tools print, one column at a time.

Names and forms are those of the generated `*JsonConverter` classes: camelCase, uuids as URL-safe base64, bytes as
base64. A tagged field that is null is omitted, unless it is a struct. In classic groups of protocol type `consumer`,
embedded subscriptions and assignments are printed decoded if they parse, as `kafka-dump-log --offsets-decoder` prints
them. One that ends before a field of its version, which that tool prints as base64, is printed with the fields that it
has, and `endsBefore` names the first that it lacks.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Encoded, Error, decode_spans
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.protocol.schema import STRING, UUID, Array, Field, Fixed, Layout, Message, Struct, Type
from kip848_records.protocol.short import VERSION_BYTES, short_messages

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.decoder import RecordGroup

_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(0x20)} | {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
"""Control characters as Kafka's JSON writer escapes them, with upper-case hexadecimal digits."""


def key_json(group: RecordGroup) -> pa.StringArray:
    """Return the keys of a group as JSON objects."""
    return _Printer(group.record.key_layout).struct(group.record.key, group.key)


def value_json(group: RecordGroup) -> pa.StringArray:
    """Return the values of a group as JSON objects; null for tombstones."""
    if group.layout is None or group.value is None:
        return pa.nulls(len(group.rows), pa.string())
    plain, embedding = _Printer(group.layout), _Printer(group.layout, embedded=True)
    kind = group.layout.struct
    names = [field.column for field in kind.fields]
    if "protocol_type" not in names:
        return plain.struct(kind, group.value)
    consumer = pc.equal(group.value.flatten()[names.index("protocol_type")], CONSUMER_PROTOCOL_TYPE)
    texts = [
        embedding.struct(kind, group.value.filter(consumer)),
        plain.struct(kind, group.value.filter(pc.invert(consumer))),
    ]
    order = np.argsort(np.argsort(~consumer.to_numpy(zero_copy_only=False), kind="stable"))
    return pa.concat_arrays(texts).take(pa.array(order))


class _Printer:
    """Prints the types of one layout; null values print as null, which the caller replaces."""

    def __init__(self, layout: Layout, *, embedded: bool = False) -> None:
        self.layout = layout
        self.embedded = embedded

    def struct(self, kind: Struct, values: pa.StructArray) -> pa.StringArray:
        children = dict(zip((field.name for field in kind.fields), values.flatten(), strict=True))
        positional = self.layout.positional(kind)
        parts: list[pa.Array | str] = []
        for field in positional:
            lead = "{" if field is positional[0] else ","
            parts += [f'{lead}"{field.name}":', pc.coalesce(self.field(field, children[field.name]), "null")]
        for field in self.layout.tagged(kind).values():
            text = self.field(field, children[field.name])
            if isinstance(field.type, Struct):  # Kafka writes these even if they are null
                text = pc.coalesce(text, "null")
            parts.append(pc.coalesce(pc.binary_join_element_wise(f',"{field.name}":', text, ""), ""))
        text = pc.binary_join_element_wise(*parts, "}", "")
        return pc.if_else(values.is_valid(), text, None) if values.null_count else text

    def field(self, field: Field, values: pa.Array) -> pa.StringArray:
        if field.embeds and self.embedded:
            return embedded_json(field.embeds, values)
        return self.value(field.type, values)

    def value(self, kind: Type, values: pa.Array) -> pa.StringArray:
        if isinstance(kind, Struct):
            return self.struct(kind, values)
        if isinstance(kind, Array):
            return self.array(kind, values)
        if kind is UUID:
            return _quoted(values)
        if isinstance(kind, Fixed):
            return values.cast(pa.string())
        return _quoted(_escaped(values)) if kind is STRING else _base64(values)

    def array(self, kind: Array, values: pa.ListArray) -> pa.StringArray:
        elements = self.value(kind.element, values.values)
        lists = pa.ListArray.from_arrays(values.offsets, elements)
        text = pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")
        return pc.if_else(values.is_valid(), text, None) if values.null_count else text


def _quoted(text: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise('"', text, '"', "")


def _escaped(text: pa.StringArray) -> pa.StringArray:
    if not pc.any(pc.match_substring_regex(text, r'[\x00-\x1f"\\]'), min_count=0).as_py():
        return text
    text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
    for character, escape in _ESCAPES.items():
        if pc.any(pc.match_substring(text, character), min_count=0).as_py():
            text = pc.replace_substring(text, character, escape)
    return text


def _base64(values: pa.BinaryArray) -> pa.StringArray:
    return pa.array([None if v is None else f'"{b64encode(v).decode()}"' for v in values.to_pylist()], pa.string())


def embedded_json(message: Message, values: pa.BinaryArray) -> pa.StringArray:
    """Return bytes as JSON: an int16 version and a message, or its first fields, as an object; others as base64.

    As in Kafka's tool, a negative version counts as 0, and bytes after the message are ignored.
    """
    text = _base64(values)
    encoded = Encoded(values)
    long = np.flatnonzero(encoded.ends - encoded.starts >= VERSION_BYTES)
    versions = np.maximum(encoded.view(">i2")[encoded.starts[long]], 0)
    for version in np.unique(versions):
        if (layout := message.at(int(version))) is None:
            continue
        rows = long[versions == version]
        starts, ends = encoded.starts[rows] + VERSION_BYTES, encoded.ends[rows]
        decoded = decode_spans(layout, encoded, starts, ends, exact=False)
        good = decoded.errors == Error.NONE
        text = _replaced(text, rows[good], _Printer(layout).struct(layout.struct, decoded.values.filter(good)))
        for short in short_messages(layout, encoded, rows[~good], cut=False):
            if short.layout.positional(short.layout.struct):
                fields = _Printer(short.layout).struct(short.layout.struct, short.values)
                mark = f',"endsBefore":"{short.lacking}"}}'
                text = _replaced(text, short.rows, pc.replace_substring_regex(fields, r"\}$", mark))
    return text


def _replaced(text: pa.StringArray, rows: NDArray[np.int64], by: pa.StringArray) -> pa.StringArray:
    mask = np.zeros(len(text), bool)
    mask[rows] = True
    return pc.replace_with_mask(text, mask, by)
