"""The types that describe record layouts as data.

It mirrors the JSON message definitions inside Kafka's jars (`common/message/*.json`): a struct has fields. A field has
a type, the versions that carry it and the versions in which it may be null; a tagged field also has a tag. `Message.at`
resolves a definition for one version; everything that reads or writes bytes works on that `Layout`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Versions:
    """A range of message versions, both ends included; an end below the start is the empty range."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Return the range that Kafka's definitions write as `none`, `3`, `0-4` or `3+`."""
        if text == "none":
            return cls(0, -1)
        low, _, high = text.rstrip("+").partition("-")
        return cls(int(low), 32767 if text.endswith("+") else int(high or low))

    def __contains__(self, version: int) -> bool:
        """Whether `version` lies in the range."""
        return self.low <= version <= self.high


@dataclass(frozen=True)
class Fixed:
    """A value of `size` bytes: a big-endian integer of NumPy type `wire`, or a uuid (`wire` V16, text in Arrow)."""

    name: str
    wire: str
    size: int
    arrow: pa.DataType

    @cached_property
    def native(self) -> np.dtype[np.generic]:
        """The NumPy type of an integer in memory."""
        return np.dtype(str(self.arrow))  # `to_pandas_dtype` would import pandas


@dataclass(frozen=True)
class Variable:
    """A length and that many bytes: a string (UTF-8) or raw bytes."""

    name: str
    arrow: pa.DataType


INT8 = Fixed("int8", ">i1", 1, pa.int8())
INT16 = Fixed("int16", ">i2", 2, pa.int16())
INT32 = Fixed("int32", ">i4", 4, pa.int32())
INT64 = Fixed("int64", ">i8", 8, pa.int64())
UINT16 = Fixed("uint16", ">u2", 2, pa.int32())  # Spark has no unsigned types
UUID = Fixed("uuid", "V16", 16, pa.string())  # text, as Kafka prints it
STRING = Variable("string", pa.string())
BYTES = Variable("bytes", pa.binary())

NO_UUID = "A" * 22
"""The uuid of sixteen zeros, Kafka's default."""


@dataclass(frozen=True)
class Array:
    """A count and that many elements."""

    element: Type

    @cached_property
    def arrow(self) -> pa.DataType:
        """The Arrow list type."""
        return pa.list_(self.element.arrow)


@dataclass(frozen=True)
class Field:
    """One field of a struct: `name` as in Kafka's JSON, version ranges as in Kafka's definitions."""

    name: str
    type: Type
    versions: str = "0+"
    nullable: str = "none"
    tag: int | None = None
    default: Any = field(default=None, hash=False)
    """The value of an absent tagged field; Kafka does not write a tagged field with its default value.

    As in Kafka's generated classes, a definition's `"default": null`, without quotes, means empty.
    """

    embeds: Message | None = None
    """The content of a bytes field in groups with the consumer protocol: an int16 version and this message."""

    @cached_property
    def column(self) -> str:
        """The field's name in snake_case, as in tables."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()

    @cached_property
    def exists_in(self) -> Versions:
        """The versions that carry the field."""
        return Versions.parse(self.versions)

    @cached_property
    def nullable_in(self) -> Versions:
        """The versions in which the field may be null."""
        return Versions.parse(self.nullable)


@dataclass(frozen=True)
class Struct:
    """A sequence of fields, the same for all versions: each field has its range of versions."""

    fields: tuple[Field, ...]

    @cached_property
    def arrow(self) -> pa.DataType:
        """The Arrow struct type over the fields of all versions; a field is null in versions that lack it."""
        return pa.struct([pa.field(f.column, f.type.arrow) for f in self.fields])


Type = Fixed | Variable | Array | Struct


def struct(*fields: Field) -> Struct:
    """Return a `Struct` of `fields`."""
    return Struct(fields)


@dataclass(frozen=True, eq=False)
class Layout:
    """The wire format of one version of a message; a message has one `Layout` per version, equal only to itself.

    `flexible` versions have compact (uvarint) lengths and a section of tagged fields at the end of every struct.
    """

    struct: Struct
    version: int
    flexible: bool

    def positional(self, of: Struct) -> list[Field]:
        """Return the fields of `of` that this version writes one after the other."""
        return [f for f in of.fields if f.tag is None and self.version in f.exists_in]

    def tagged(self, of: Struct) -> dict[int, Field]:
        """Return the fields of `of` that this version may write in the tagged section, by tag."""
        return {f.tag: f for f in of.fields if f.tag is not None and self.version in f.exists_in}

    def nullable(self, field: Field) -> bool:
        """Whether `field` may be null in this version."""
        return self.version in field.nullable_in


@dataclass(frozen=True)
class Message:
    """A versioned message: the value of a record, or a structure embedded in one."""

    struct: Struct
    versions: str = "0"
    flexible: str = "0+"

    @cached_property
    def layouts(self) -> dict[int, Layout]:
        """The layouts by version."""
        versions, flexible = Versions.parse(self.versions), Versions.parse(self.flexible)
        return {
            version: Layout(self.struct, version, version in flexible)
            for version in range(versions.low, versions.high + 1)
        }

    def at(self, version: int) -> Layout | None:
        """Return the layout of `version`, or None if there is no such version."""
        return self.layouts.get(version)
