"""The formats of copies, and how they are recognised by file names."""

from __future__ import annotations

import re
from typing import Final

SEGMENTS: Final = "segments"
SWAP: Final = ".swap"
"""The suffix of a result that the cleaner is about to put in place."""
SEGMENT_NAME: Final = re.compile(rf"(\.log|(^|/)\d{{20}}\.log\{SWAP})$")
"""The end of the name of a file that may be a segment."""

FILE_NAMES: Final = {
    SEGMENTS: SEGMENT_NAME,
    "parquet": re.compile(r"\.parquet$"),
    "delta": None,
    "json": re.compile(r"\.(json|jsonl|ndjson)(\.(gz|bz2|zst|zstd|lz4|snappy|deflate))?$"),
}
"""The end of a file's name by format, in the order in which they are recognised; None if names do not show it."""

FORMATS: Final = tuple(FILE_NAMES)
"""The names of the formats."""
