"""A record type as data: its key and the layouts of its value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from kip848_records.protocol.schema import Layout

if TYPE_CHECKING:
    from kip848_records.protocol.schema import Message, Struct


@cache
def _key_layout(key: Struct) -> Layout:
    return Layout(key, 0, flexible=False)


@dataclass(frozen=True)
class Record:
    """One record type.

    `values` holds the layouts of the value in all releases, newest first. More than one means that a layout changed
    without a new version number: a value has the newest layout that consumes every byte of it.
    """

    key_type: int
    name: str
    key: Struct
    values: tuple[Message, ...]

    @cached_property
    def table(self) -> str:
        """The record's name in snake_case, the name of its table."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()

    @cached_property
    def key_layout(self) -> Layout:
        """The key's layout: never flexible, and without a version (the type is in its position).

        Records with equal keys share it.
        """
        return _key_layout(self.key)

    def value_layouts(self, version: int) -> list[Layout]:
        """Return the layouts that a value of `version` may have, newest first; none if the version is unknown."""
        return [layout for message in self.values if (layout := message.at(version))]
