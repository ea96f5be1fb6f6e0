"""The possible errors of an encoded message."""

from __future__ import annotations

from enum import IntEnum


class Error(IntEnum):
    """Why a row did not decode."""

    NONE = 0
    TRUNCATED = 1
    TRAILING_BYTES = 2
    UNEXPECTED_NULL = 3
    INVALID_LENGTH = 4
    INVALID_VARINT = 5
    INVALID_UTF8 = 6
    TAG_SIZE_MISMATCH = 7
    UNKNOWN_VERSION = 8
    MISSING_KEY = 9
    NEGATIVE_VERSION = 10

    @property
    def reason(self) -> str:
        """The error as text."""
        return _REASONS[self]

    def code(self, *, in_key: bool) -> str:
        """Return the error code of a record: the side and the error, `value_truncated`, or `missing_key`."""
        name = self.name.lower()
        return name if self is Error.MISSING_KEY else f"{'key' if in_key else 'value'}_{name}"


_REASONS = {
    Error.NONE: "",
    Error.TRUNCATED: "a field runs past the end",
    Error.TRAILING_BYTES: "bytes remain after the last field",
    Error.UNEXPECTED_NULL: "null in a field that may not be null",
    Error.INVALID_LENGTH: "a string is longer than 32767 bytes",
    Error.INVALID_VARINT: "a varint is longer than 5 bytes",
    Error.INVALID_UTF8: "a string is not UTF-8",
    Error.TAG_SIZE_MISMATCH: "a tagged field does not have the size it states",
    Error.UNKNOWN_VERSION: "no such value version",
    Error.NEGATIVE_VERSION: "a negative value version",
    Error.MISSING_KEY: "no key, or one too short to hold a record type",
}


class Malformed(Exception):  # noqa: N818 - describes the bytes
    """The error of a walk over a single row: an `Error`, and the offset at which the wrong field starts."""

    def __init__(self, error: Error, position: int) -> None:
        super().__init__(error, position)
        self.error = error
        self.position = position
