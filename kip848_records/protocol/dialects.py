"""The choice of the dialect in which a log was written, by what decodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from kip848_records.protocol.messages import DIALECTS, KAFKA

if TYPE_CHECKING:
    from collections.abc import Mapping

DISPUTED_TYPES: Final = [
    key_type
    for key_type, records in KAFKA.by_type.items()
    if any(dialect.by_type[key_type] != records for dialect in DIALECTS.values())
]
"""The record types on which dialects differ."""


@dataclass(frozen=True)
class DialectChoice:
    """The dialect that decodes most records.

    `records`: the number of records of the types on which dialects differ. `undecoded`: those that this dialect does
    not decode.
    """

    name: str
    records: int
    undecoded: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Self:
        """Return the choice from sums of `decoded_counts`; Kafka's own on a tie."""
        name = max(DIALECTS, key=lambda dialect: counts[dialect])
        return cls(name, counts["records"], counts["records"] - counts[name])

    def __str__(self) -> str:
        """Return the choice and its reason as text for the user."""
        types = f"types {DISPUTED_TYPES[0]} to {DISPUTED_TYPES[-1]}"
        return f"dialect {self.name}: leaves {self.undecoded:,} of {self.records:,} records of {types} undecoded"
