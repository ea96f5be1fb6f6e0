"""How each format is read from files: one line each."""

from __future__ import annotations

from typing import Final

from kip848_records.sources import dump, json_dump, segment_rows, segments
from kip848_records.sources.formats import SEGMENTS
from kip848_records.sources.source_kind import SourceKind

KINDS: Final = {
    SEGMENTS: SourceKind(segments.read_segments, segment_rows.keys_of),
    "parquet": SourceKind(dump.read_columns, dump.keys_of),
    "delta": SourceKind(dump.read_columns, None),
    "json": SourceKind(json_dump.read_lines, json_dump.keys_of),
}
"""The kinds by the names of `formats.FORMATS`."""
