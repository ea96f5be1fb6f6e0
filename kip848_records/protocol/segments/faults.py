"""The possible faults of a segment file, or of one of its batches."""

from enum import StrEnum
from typing import NamedTuple


class Fault(StrEnum):
    """Why bytes of a segment file cannot be read as records."""

    NOT_A_SEGMENT = "not_a_segment"
    """The file holds no record batch."""
    UNSUPPORTED_MAGIC = "unsupported_magic"
    """The file holds messages of magic 0 or 1, which Kafka wrote before 0.11."""
    NO_BATCH = "no_batch"
    """Other bytes stand at the expected start of a batch."""
    CUT_OFF = "cut_off"
    """The file ends within a batch, as in a copy of a file that was being written."""
    BAD_HEADER = "bad_header"
    """A header has values that no broker writes."""
    BAD_LENGTH = "bad_length"
    """A batch's length reaches past the file's end, but other batches follow it."""
    BAD_CRC = "bad_crc"
    """A batch's CRC does not match its bytes."""
    OVERLAPPING_OFFSETS = "overlapping_offsets"
    """A batch's offsets overlap those of the neighbouring batch."""
    NOT_DECOMPRESSED = "not_decompressed"
    """A batch's records do not decompress."""
    TOO_LARGE = "too_large"
    """A batch holds more bytes or more records than the reader accepts."""
    BAD_RECORDS = "bad_records"
    """A batch's records do not parse."""


class BatchError(NamedTuple):
    """Why a batch could not be read: the fault, and the reason as text."""

    fault: Fault
    reason: str


class UnreadableBatchError(ValueError):
    """A batch that cannot be read; its text has the reason."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.error = BatchError(fault, reason)
