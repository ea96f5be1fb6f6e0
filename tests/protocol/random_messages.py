"""Writes random messages of any layout, byte by byte, at the edges of what the format allows and now and then past.

The encoder knows values; this knows the wire: varints longer than they need to be, unknown tags and tags that come
twice, strings that are not UTF-8, nulls where none may be, counts and sizes that lie.
"""

import random

from kip848_records.protocol.encode import uvarint
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.protocol.schema import STRING, UUID, Array, Field, Fixed, Layout, Struct, Type
from tests.protocol.damage import LENGTHS, mutate

TEXTS = (
    "",
    "g",
    "topic-7",
    CONSUMER_PROTOCOL_TYPE,
    "é漢😀",
    "\0",
    "\"\\/\x00\x01\b\t\n\f\r\x1f\x7f\x80\x85\u2028\ufeff\ufffe</script>&'",
    "x" * 126,
    "x" * 127,
    "é" * 200,
)
NOT_UTF8 = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"ab\xe2\x82", b"\x80" * 130)
LONG_TEXTS = (b"x" * 32767, b"x" * 32768, b"\0" * 32767, "é".encode() * 16383, "😀".encode() * 8192)
"""Around the longest that Kafka's readers take: 32767 bytes."""

LONG_COUNTS = (63, 64, 65, 130, 300)
"""Around the smallest of which the decoder guesses, and twice more."""

IDS = tuple(random.Random(16).randbytes(16) for _ in range(8))  # noqa: S311 - not for secrets


def random_message(rng: random.Random, layout: Layout, *, oddity: float = 0.0) -> bytes:
    """Return a message without its version; with `oddity`, the chance of each choice to be against the rules."""
    return _Writer(rng, layout, oddity).struct(layout.struct)


class _Writer:
    def __init__(self, rng: random.Random, layout: Layout, oddity: float) -> None:
        self.rng = rng
        self.layout = layout
        self.oddity = oddity
        self.depth = 0

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def odd(self) -> bool:
        return self.rng.random() < self.oddity

    def struct(self, kind: Struct) -> bytes:
        fields = b"".join(self.field(field) for field in self.layout.positional(kind))
        return fields + self.tags(self.layout.tagged(kind)) if self.layout.flexible else fields

    def field(self, field: Field) -> bytes:
        nullable = self.layout.nullable(field)
        if isinstance(field.type, Struct) and nullable:
            exists = self.chance(0.5)
            marker = self.rng.choice((0, 1, 127) if exists else (128, 255))
            return bytes([marker]) + (self.struct(field.type) if exists else b"")
        if field.name == "protocolType" and self.chance(0.5):
            return self.sized(CONSUMER_PROTOCOL_TYPE.encode(), 2)
        if field.embeds and self.chance(0.8):
            return self.sized(self.embedded(field.embeds), 4)
        return self.value(field.type, nullable=nullable)

    def embedded(self, message) -> bytes:
        version, layout = self.rng.choice(list(message.layouts.items()))
        version = self.rng.choice((version, version, version, 0, -1, 4))
        writer, fields = _Writer(self.rng, layout, self.oddity), layout.positional(layout.struct)
        written = self.rng.randrange(len(fields)) if self.chance(0.2) else len(fields)
        inner = b"".join(writer.field(field) for field in fields[:written])
        if self.chance(0.2):
            inner = mutate(self.rng, inner, inner)
        return version.to_bytes(2, "big", signed=True) + inner + self.rng.choice((b"", b"", b"", b"\0", b"trail"))

    def value(self, kind: Type, *, nullable: bool = False) -> bytes:
        if isinstance(kind, Struct):
            return self.struct(kind)
        if kind is UUID:
            return self.rng.choice(IDS) if self.chance(0.8) else self.rng.randbytes(16)
        if isinstance(kind, Fixed):
            return self.number(kind)
        if self.chance(0.25) if nullable else self.odd():
            return self.length(None, 2 if kind is STRING else 4)
        if isinstance(kind, Array):
            return self.array(kind)
        return self.sized(self.text(), 2) if kind is STRING else self.sized(self.content(), 4)

    def number(self, kind: Fixed) -> bytes:
        edges = (
            b"\0" * kind.size,
            b"\0" * (kind.size - 1) + b"\7",
            b"\xff" * kind.size,
            b"\x80" + b"\0" * (kind.size - 1),
        )
        return self.rng.choice(edges) if self.chance(0.7) else self.rng.randbytes(kind.size)

    def array(self, kind: Array) -> bytes:
        if self.chance(0.0 if self.depth > 1 else 0.002 if self.depth else 0.01):
            return self.long_array(kind)
        counts = (0, 1, 1, 2, 3, 30) if not self.depth and self.chance(0.2) else (0, 1, 1, 2)
        count = self.rng.choice(counts)
        self.depth += 1
        elements = b"".join(self.value(kind.element) for _ in range(count))
        self.depth -= 1
        return self.length(count, 4) + elements

    def long_array(self, kind: Array) -> bytes:
        """One of few different elements, most of them alike: the decoder guesses where those start."""
        count = self.rng.choice(LONG_COUNTS)
        self.depth += 2  # not one within another: that makes megabytes
        elements = [self.value(kind.element) for _ in range(self.rng.randint(1, 5))]
        self.depth -= 2
        weights = [8 ** -self.rng.randrange(5) for _ in elements]
        return self.length(count, 4) + b"".join(self.rng.choices(elements, weights, k=count))

    def text(self) -> bytes:
        if self.odd():
            return self.rng.choice(NOT_UTF8)
        if self.chance(0.0005):
            return self.rng.choice(LONG_TEXTS)
        return self.rng.choice(TEXTS).encode()

    def content(self) -> bytes:
        return self.rng.choice((b"", b"\0", b"\xff" * 130, self.rng.randbytes(5)))

    def sized(self, content: bytes, width: int) -> bytes:
        return self.length(len(content), width) + content

    def length(self, length: int | None, width: int) -> bytes:
        """A length or count; `width` is what versions that are not flexible use, null there any negative number."""
        if self.odd():
            return self.rng.choice(LENGTHS)
        if self.layout.flexible:
            return self.varint(0 if length is None else length + 1)
        null = self.rng.choice((-1, -1, -1, -2, -(2**15)))
        return (null if length is None else min(length, 2 ** (8 * width - 1) - 1)).to_bytes(width, "big", signed=True)

    def varint(self, value: int) -> bytes:
        """Now and then in more bytes than it needs, up to five, or six where it is odd."""
        encoded = uvarint(value)
        if not self.chance(0.02):
            return encoded
        longest = 6 if self.odd() else 5
        extra = self.rng.randint(0, max(longest - len(encoded), 0))
        return encoded[:-1] + bytes([encoded[-1] | 0x80]) + b"\x80" * (extra - 1) + b"\0" if extra else encoded

    def tags(self, known: dict[int, Field]) -> bytes:
        """Known tags or not, in any order; some come twice, and then the last counts."""
        tags = [tag for tag in known if self.chance(0.6)]
        if self.chance(0.1):
            tags += self.rng.choices([*known, len(known), 7, 127, 128, 2**31], k=self.rng.choice((1, 2, 3, 12)))
            self.rng.shuffle(tags)
        count = self.varint(len(tags)) if not self.odd() else self.rng.choice(LENGTHS)
        return count + b"".join(self.tag(tag, known.get(tag)) for tag in tags)

    def tag(self, tag: int, field: Field | None) -> bytes:
        payload = self.rng.randbytes(self.rng.choice((0, 1, 5, 200))) if field is None else self.tagged(field)
        size = len(payload) if not self.odd() else max(len(payload) + self.rng.choice((-1, 1, 2**31)), 0)
        return self.varint(tag) + self.varint(size) + payload

    def tagged(self, field: Field) -> bytes:
        """A tagged nullable struct has a varint in front where any other has an int8."""
        if not isinstance(field.type, Struct) or not self.layout.nullable(field):
            return self.field(field)
        exists = self.chance(0.7)
        return self.varint(self.rng.choice((1, 2, 300)) if exists else 0) + (self.struct(field.type) if exists else b"")
