"""Why a row of a source does not count as a record: codes on which the code decides."""

from __future__ import annotations

from enum import StrEnum

from kip848_records.protocol.segments.faults import Fault


class ErrorCode(StrEnum):
    """The column `error_code` of a log row; the column `error` has the same as text, with location and value."""

    OTHER_TOPIC = "other_topic"
    """A row of another topic, which a dump may contain: skipping it loses nothing of this log."""
    NOT_JSON = "not_json"
    """A line of a JSON dump that is not a JSON object."""
    NOT_BASE64 = "not_base64"
    """A key or a value of a JSON dump that is not base64."""
    INCOMPLETE_ROW = "incomplete_row"
    """A row of a dump without a partition, an offset or a timestamp."""
    TIMESTAMP_OUT_OF_RANGE = "timestamp_out_of_range"
    """A record with a time before the year 1 or after the year 9999."""
    CONFLICT = "conflict"
    """Another row has the same partition and offset, but other bytes."""
    KEY_WITHOUT_TYPE = "key_without_type"
    """A record without a key, or with one that is too short to hold a record type."""
    KEY_WITHOUT_GROUP = "key_without_group"
    """A record of a group's type whose group id cannot be read."""

    NOT_A_SEGMENT = Fault.NOT_A_SEGMENT.value
    UNSUPPORTED_MAGIC = Fault.UNSUPPORTED_MAGIC.value
    NO_BATCH = Fault.NO_BATCH.value
    CUT_OFF = Fault.CUT_OFF.value
    BAD_HEADER = Fault.BAD_HEADER.value
    BAD_LENGTH = Fault.BAD_LENGTH.value
    BAD_CRC = Fault.BAD_CRC.value
    OVERLAPPING_OFFSETS = Fault.OVERLAPPING_OFFSETS.value
    NOT_DECOMPRESSED = Fault.NOT_DECOMPRESSED.value
    TOO_LARGE = Fault.TOO_LARGE.value
    BAD_RECORDS = Fault.BAD_RECORDS.value


UNREAD_BYTES = tuple(ErrorCode(fault.value) for fault in Fault)
"""The codes of unreadable bytes that may contain any number of records: those of segment files."""
