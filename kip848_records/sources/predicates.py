"""Conditions on log rows, in SQL that both engines understand, over the columns of `specs.log_columns.LOG_COLUMNS`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.sources.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

IS_READABLE: Final = "(error_code IS NULL AND control IS NULL AND file IS NULL)"
"""A record, of any transaction: no marker, no error, no coverage of a file."""

IS_RECORD: Final = f"({IS_READABLE} AND transaction IS NOT NULL AND transaction <> 'aborted')"
"""A record that counts: readable, and not of an aborted transaction."""

IS_ABORTED: Final = "(transaction IS NOT DISTINCT FROM 'aborted' AND control IS NULL AND error_code IS NULL)"
"""A record of an aborted transaction."""

IS_PENDING: Final = "(transaction IS NOT DISTINCT FROM 'pending' AND error_code IS NULL)"
"""A record of a transaction without a marker up to the end of its file."""

IS_OF_LOG: Final = f"(error_code IS DISTINCT FROM '{ErrorCode.OTHER_TOPIC.value}')"
"""A row of this log, not of another topic in the same dump."""

IS_UNREAD: Final = (
    f"coalesce(error_code NOT IN ('{ErrorCode.KEY_WITHOUT_TYPE.value}', '{ErrorCode.KEY_WITHOUT_GROUP.value}'), false)"
)
"""A row that the source could not read, or that is no record; a row with only a wrong key was read."""

MAY_DECODE: Final = (
    f"(NOT {IS_UNREAD} AND control IS NULL AND file IS NULL AND coalesce(transaction <> 'aborted', false))"
)
"""A record that counts, even with a wrong key: the decoder reports the byte."""

KEY_ENDS_AFTER_GROUP: Final = "(octet_length(key) * 8 = 32 + bit_length(group_id))"
"""The key has a type, the length of the group id, two bytes each, the group id, and nothing else."""

NEWEST_MS: Final = (
    f"max(CASE WHEN {IS_OF_LOG} AND control IS NULL THEN unix_millis(coalesce(timestamp, file.newest_skipped)) END)"
)
"""The newest time in this log, in ms since 1970: of records, of skipped ones, of unreadable bytes, but not of markers.

Readers give no row a time outside the years that can be represented.
"""


def key_of_types(key_types: Iterable[int]) -> str:
    """Return whether a row's key has one of the record types; false, not null, without a key."""
    listed = ", ".join(map(str, sorted(key_types)))
    # Parquet's readers skip rows by these comparisons, but not by one within `coalesce`.
    return f"(key_type IS NOT NULL AND key_type IN ({listed}))" if listed else "false"


IS_OFFSET_COMMIT: Final = key_of_types(OFFSET_COMMIT_TYPES)
"""The key is that of an offset commit; these are about 95 % of a real log."""

IS_OF_UNKNOWN_TYPE: Final = f"(key_type IS NOT NULL AND key_type NOT IN ({', '.join(map(str, RECORDS))}))"
"""The key has a type that this version does not know."""

WITHOUT_OFFSET_COMMITS: Final = f"(NOT {IS_OFFSET_COMMIT} OR error_code IS NOT NULL)"
"""No offset commit; a row that could not be read stays, with any key."""
