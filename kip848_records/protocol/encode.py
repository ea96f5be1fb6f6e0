"""The inverse of the decoder, one record at a time, for simulation, and for keys that are looked up.

Values have the form of Kafka's JSON: mappings by camelCase names, uuids as URL-safe base64, bytes as base64 or bytes.
"""

from __future__ import annotations

import struct
from base64 import b64decode, urlsafe_b64decode
from typing import TYPE_CHECKING, Any

from kip848_records.protocol.schema import STRING, UUID, Array, Field, Fixed, Layout, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.protocol.messages import Record

_MORE = 0x80  # another byte of the varint follows
_FORMATS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q", "uint16": ">H"}


def encode_key(record: Record, key: Mapping[str, Any]) -> bytes:
    """Return the bytes of a record's key: its type, then the key."""
    return struct.pack(">h", record.key_type) + _Writer(record.key_layout).struct(record.key, key)


def encode_message(layout: Layout, message: Mapping[str, Any]) -> bytes:
    """Return the bytes of a versioned message, such as a record's value: its version, then the message.

    Tagged fields are written if `message` has them and they differ from Kafka's default. Raises KeyError for any other
    missing field.
    """
    return struct.pack(">h", layout.version) + _Writer(layout).struct(layout.struct, message)


def uvarint(value: int) -> bytes:
    """Return an unsigned varint: seven bits per byte, the lowest first."""
    encoded = bytearray()
    while value >= _MORE:
        encoded.append(value & 0x7F | _MORE)
        value >>= 7
    return bytes([*encoded, value])


class _Writer:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def struct(self, kind: Struct, value: Mapping[str, Any]) -> bytes:
        parts = [self.field(field, value[field.name]) for field in self.layout.positional(kind)]
        if self.layout.flexible:
            fields = sorted(self.layout.tagged(kind).items())
            present = [(tag, field) for tag, field in fields if value.get(field.name, field.default) != field.default]
            parts.append(uvarint(len(present)))
            for tag, field in present:
                payload = self.tagged(field, value[field.name])
                parts += [uvarint(tag), uvarint(len(payload)), payload]
        return b"".join(parts)

    def field(self, field: Field, value: Any) -> bytes:  # noqa: ANN401 - JSON
        if isinstance(field.type, Struct) and self.layout.nullable(field):
            return b"\xff" if value is None else b"\x01" + self.struct(field.type, value)
        return self.value(field.type, value)

    def tagged(self, field: Field, value: Any) -> bytes:  # noqa: ANN401 - JSON
        """Write a tagged nullable struct after a varint, 0 for null; any other has an int8, -1 for null."""
        if isinstance(field.type, Struct) and value is None:
            return b"\x00"
        return self.field(field, value)

    def value(self, kind: Type, value: Any) -> bytes:  # noqa: ANN401 - JSON
        if kind is UUID:
            return urlsafe_b64decode(value + "==")
        if isinstance(kind, Fixed):
            return struct.pack(_FORMATS[kind.name], value)
        if isinstance(kind, Struct):
            return self.struct(kind, value)
        if isinstance(kind, Array) and value and kind.element is not UUID and isinstance(kind.element, Fixed):
            # The longest arrays contain numbers: all of them are written at once.
            return self.length(value, ">i") + struct.pack(f">{len(value)}{_FORMATS[kind.element.name][1]}", *value)
        if isinstance(kind, Array):
            elements = b"" if value is None else b"".join(self.value(kind.element, element) for element in value)
            return self.length(value, ">i") + elements
        raw = value.encode() if isinstance(value, str) and kind is STRING else value
        raw = b64decode(raw) if isinstance(raw, str) else raw
        return self.length(raw, ">h" if kind is STRING else ">i") + (raw or b"")

    def length(self, value: Any, fixed: str) -> bytes:  # noqa: ANN401 - JSON
        length = -1 if value is None else len(value)
        return uvarint(length + 1) if self.layout.flexible else struct.pack(fixed, length)
