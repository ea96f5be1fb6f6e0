"""Decodes one message at a time, byte by byte: what the columnar decoder is compared with.

Values are what Arrow's `to_pylist` gives: structs as dicts by column, None for what is absent.
"""

import struct
from base64 import urlsafe_b64encode

from kip848_records.protocol.schema import STRING, UUID, Array, Fixed, Layout, Struct

FORMATS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q", "uint16": ">H"}


class BadMessageError(Exception):
    pass


def plain_decode(layout: Layout, data: bytes):
    """The message in all of `data`; raises BadMessageError."""
    decoder = PlainDecoder(layout, data)
    value = decoder.struct(layout.struct)
    decoder.expect(decoder.pos == len(data))
    return value


class PlainDecoder:
    def __init__(self, layout, data):
        self.layout = layout
        self.data = data
        self.pos = 0

    def expect(self, fact):
        if not fact:
            raise BadMessageError

    def take(self, size):
        self.expect(self.pos + size <= len(self.data))
        self.pos += size
        return self.data[self.pos - size : self.pos]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def uvarint(self):
        value = 0
        for place in range(5):
            byte = self.take(1)[0]
            value += (byte % 128) << (7 * place)
            if byte < 128:
                return value
        raise BadMessageError

    def length(self, form, nullable):
        length = self.uvarint() - 1 if self.layout.flexible else self.number(form)
        self.expect(length >= 0 or nullable)
        return length if length >= 0 else None

    def value(self, kind, *, nullable=False):
        if isinstance(kind, Struct):
            return self.struct(kind)
        if isinstance(kind, Array):
            count = self.length(">i", nullable)
            return None if count is None else [self.value(kind.element) for _ in range(count)]
        if kind is UUID:
            return urlsafe_b64encode(self.take(16)).decode().rstrip("=")
        if isinstance(kind, Fixed):
            return self.number(FORMATS[kind.name])
        length = self.length(">h" if kind is STRING else ">i", nullable)
        if length is None or kind is not STRING:
            return None if length is None else self.take(length)
        self.expect(length <= 32767)
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise BadMessageError from None

    def struct(self, kind):
        values = {field.column: None for field in kind.fields}
        for field in self.layout.positional(kind):
            nullable = self.layout.nullable(field)
            absent = isinstance(field.type, Struct) and nullable and self.number(">b") < 0
            values[field.column] = None if absent else self.value(field.type, nullable=nullable)
        if self.layout.flexible:
            payloads = {tag: self.take(size) for tag, size in self.tags()}
            for tag, field in self.layout.tagged(kind).items():
                if tag in payloads:
                    values[field.column] = self.payload(field, payloads[tag])
        return values

    def tags(self):
        for _ in range(self.uvarint()):
            yield self.uvarint(), self.uvarint()

    def payload(self, field, data):
        inner = PlainDecoder(self.layout, data)
        nullable = self.layout.nullable(field)
        absent = isinstance(field.type, Struct) and nullable and inner.uvarint() == 0
        value = None if absent else inner.value(field.type, nullable=nullable)
        inner.expect(inner.pos == len(data))
        return value
