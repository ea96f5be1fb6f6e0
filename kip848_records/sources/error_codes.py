"""Why a row of a source does not count as a record: codes on which the code decides."""

from __future__ import annotations

from enum import StrEnum


class ErrorCode(StrEnum):
    """The column `error_code` of a log row; the column `error` has the same as text, with location and value.

    Bytes of a segment file that cannot be read have a `protocol.segments.faults.Fault` there.
    """

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
