"""The simulator's records as bytes, and as rows of Spark's Kafka source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS

if TYPE_CHECKING:
    from kip848_records.simulate.broker.operation import Record
    from kip848_records.simulate.broker.releases import Release

_GROUP_METADATA_VERSION = 3  # as Kafka 4 writes it; the records of KIP-848 have version 0 only


def encode(record: Record, release: Release) -> tuple[bytes, bytes | None]:
    """Return the key and value of a record as `release` writes them."""
    kind = RECORDS[record.key_type]
    key = encode_key(kind, record.key)
    if record.value is None:
        return key, None
    version = _GROUP_METADATA_VERSION if record.key_type == KeyType.GROUP_METADATA else 0
    if record.key_type in OFFSET_COMMIT_TYPES:
        version = release.offset_commit_version
    return key, encode_message(kind.value_layouts(version)[0], record.value)
