"""Every record that a group coordinator writes to `__consumer_offsets`, as data.

Source: the message definitions in Kafka's group-coordinator and clients jars, releases 3.5.2 to 4.4.0, and KIP-848. A
module holds the records of one kind of group; `early` holds those of consumer groups before Kafka 3.8. The decoder, the
encoder and the tables derive from `DIALECTS`, the only map from writers to records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kip848_records.protocol.messages.classic import CLASSIC_RECORDS, OFFSET_COMMIT_TYPES
from kip848_records.protocol.messages.consumer import CONSUMER_RECORDS
from kip848_records.protocol.messages.early import (
    GROUP_CONFIGURATION,
    KAFKA_3_7_RECORDS,
    KIP_848_DRAFT_RECORDS,
    KIP_848_RECORDS,
)
from kip848_records.protocol.messages.record import Record
from kip848_records.protocol.messages.share import SHARE_RECORDS
from kip848_records.protocol.messages.streams import STREAMS_RECORDS

__all__ = ["AUTO", "DIALECTS", "KAFKA", "OFFSET_COMMIT_TYPES", "RECORDS", "Dialect", "Record"]


@dataclass(frozen=True, eq=False)
class Dialect:
    """The records of one family of writers. The ends of their keys distinguish two records with one key type."""

    name: str
    records: tuple[Record, ...]

    @cached_property
    def by_type(self) -> dict[int, tuple[Record, ...]]:
        """The records of each key type, the usual one first."""
        types = dict.fromkeys(record.key_type for record in self.records)
        return {key_type: tuple(r for r in self.records if r.key_type == key_type) for key_type in types}

    def of_table(self, table: str) -> list[Record]:
        """Return the records that share a table: offset commits have two types, other tables one or none."""
        return [record for record in self.records if record.table == table]


_KAFKA_RECORDS = (*CLASSIC_RECORDS, *CONSUMER_RECORDS, *SHARE_RECORDS, *STREAMS_RECORDS)


def _early(name: str, records: tuple[Record, ...]) -> Dialect:
    """Return a dialect with `records` instead of Kafka's own of the same types, and all the others."""
    types = {record.key_type for record in records}
    others = (record for record in _KAFKA_RECORDS if record.key_type not in types)
    ours = (*records, *others)
    return Dialect(name, ours if GROUP_CONFIGURATION in ours else (*ours, GROUP_CONFIGURATION))


KAFKA = Dialect("kafka", (*_KAFKA_RECORDS, GROUP_CONFIGURATION))
"""Kafka 3.8 and later."""

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        KAFKA,
        _early("kafka-3.7", KAFKA_3_7_RECORDS),
        _early("kip-848", KIP_848_RECORDS),
        _early("kip-848-draft", KIP_848_DRAFT_RECORDS),
    )
}
"""The dialects by name, the usual one first."""

AUTO = "auto"
"""The value that requests the dialect that decodes most records."""

RECORDS = {key_type: records[0] for key_type, records in KAFKA.by_type.items()}
"""The usual record of each key type, as Kafka 3.8 and later write it. Every dialect has the same key types."""
