"""The baseline of the decoder: one message after the other with `struct`, as such a decoder is written by hand.

A reader holds the position and has a method per wire type; per layout there is one expression of calls to them, say
`{"assignment_epoch": r.int32(), **r.tags({})}`. The expressions are generated from the message definitions.
"""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable

from kip848_records.protocol.schema import STRING, UUID, Fixed, Layout, Struct, Variable

INT8, INT16, UINT16, INT32, INT64 = (struct.Struct(">" + code) for code in "bhHiq")


class Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.pos = 0

    def take(self, size: int) -> int:
        """Move on by `size` bytes if there are so many; return where they start."""
        start = self.pos
        self.pos = start + size
        if self.pos > len(self.data):
            raise ValueError("truncated")
        return start

    def int8(self) -> int:
        return INT8.unpack_from(self.data, self.take(1))[0]

    def int16(self) -> int:
        return INT16.unpack_from(self.data, self.take(2))[0]

    def uint16(self) -> int:
        return UINT16.unpack_from(self.data, self.take(2))[0]

    def int32(self) -> int:
        return INT32.unpack_from(self.data, self.take(4))[0]

    def int64(self) -> int:
        return INT64.unpack_from(self.data, self.take(8))[0]

    def uuid(self) -> str:
        return urlsafe_b64encode(self.bytes(16))[:22].decode()

    def uvarint(self) -> int:
        value = shift = 0
        while shift < 35:
            byte = self.data[self.take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("endless varint")

    def length(self) -> int:
        return self.uvarint() - 1

    def bytes(self, size: int) -> bytes | None:
        return None if size < 0 else self.data[self.take(size) : self.pos]

    def string(self, size: int) -> str | None:
        return None if size < 0 else self.bytes(size).decode()

    def numbers(self, code: str, count: int) -> list[int] | None:
        return None if count < 0 else list(struct.unpack(f">{count}{code}", self.bytes(count * struct.calcsize(code))))

    def array(self, element: Callable, count: int) -> list | None:
        return None if count < 0 else [element() for _ in range(count)]

    def tags(self, known: dict[int, tuple[str, Callable]]) -> dict:
        values = {name: None for name, _ in known.values()}
        for _ in range(self.uvarint()):
            tag, size = self.uvarint(), self.uvarint()
            if tag in known:
                name, read = known[tag]
                values[name] = read()
            else:
                self.take(size)
        return values


def record_loop(layout: Layout) -> Callable[[bytes], dict]:
    """The decoder of one layout: bytes in, a dict by columns out; raises ValueError."""
    namespace = {"Reader": Reader}
    source = f"def decode(data):\n    r = Reader(data)\n    value = {struct_source(layout, layout.struct)}\n"
    source += "    if r.pos != len(data): raise ValueError('bytes are left')\n    return value"
    exec(source, namespace)  # noqa: S102 - our own source
    return namespace["decode"]


def struct_source(layout: Layout, kind: Struct) -> str:
    parts = [f"{field.column!r}: {field_source(layout, field, 'r.int8() >= 0')}" for field in layout.positional(kind)]
    if layout.flexible:
        tags = layout.tagged(kind).items()
        known = [f"{tag}: ({f.column!r}, lambda: {field_source(layout, f, 'r.uvarint() > 0')})" for tag, f in tags]
        parts.append(f"**r.tags({{{', '.join(known)}}})")
    absent = [f.column for f in kind.fields if layout.version not in f.exists_in]
    return f"{{{', '.join([*parts, *(f'{column!r}: None' for column in absent)])}}}"


def field_source(layout: Layout, field, exists: str) -> str:
    source = value_source(layout, field.type)
    return f"({source} if {exists} else None)" if isinstance(field.type, Struct) and layout.nullable(field) else source


def value_source(layout: Layout, kind) -> str:
    if isinstance(kind, Struct):
        return struct_source(layout, kind)
    if isinstance(kind, Fixed):
        return f"r.{kind.name}()"
    length = "r.length()" if layout.flexible else "r.int16()" if kind is STRING else "r.int32()"
    if isinstance(kind, Variable):
        return f"r.{kind.name}({length})"
    if isinstance(kind.element, Fixed) and kind.element is not UUID:
        code = {"int16": "h", "int32": "i"}[kind.element.name]
        return f"r.numbers({code!r}, {length})"
    return f"r.array(lambda: {value_source(layout, kind.element)}, {length})"
