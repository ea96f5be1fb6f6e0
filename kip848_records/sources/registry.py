"""Every kind of source that is read from files: one line each."""

from __future__ import annotations

import re
from typing import Final

from kip848_records.sources import dump, json_dump, segments
from kip848_records.sources.kinds import SourceKind

_PARQUET = re.compile(r"\.parquet$")
_JSON = re.compile(r"\.(json|jsonl|ndjson)(\.(gz|bz2|zst|zstd|lz4|snappy|deflate))?$")

KINDS: Final = {
    kind.name: kind
    for kind in (
        SourceKind(segments.FORMAT, segments.FILE_NAME, segments.read_segments, segments.may_overlap, segments.keys_of),
        SourceKind("parquet", _PARQUET, dump.read_columns, dump.may_overlap, dump.keys_of),
        SourceKind("delta", None, dump.read_columns, dump.may_overlap, None),
        SourceKind("json", _JSON, json_dump.read_lines, dump.may_overlap, json_dump.keys_of),
    )
}
"""The kinds by name, in the order in which they are recognised by file names."""

FORMATS: Final = tuple(KINDS)
"""The names of the formats."""
