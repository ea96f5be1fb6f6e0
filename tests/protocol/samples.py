"""Real messages to try decoders on: Kafka's vectors and the records of the captures."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from kip848_records.protocol.messages import RECORDS
from kip848_records.protocol.schema import Layout
from kip848_records.protocol.segments.reader import read_segment
from tests.protocol.plain_decoder import BadMessageError, plain_decode

TESTS = Path(__file__).parent.parent
VECTOR_RELEASES = ("4.0.0", "4.4.0")


def read_vectors(release: str) -> list[dict]:
    with gzip.open(TESTS / "vectors" / f"kafka-{release}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_capture(capture: Path) -> Iterator[dict]:
    """The data records of a capture with their `partition`."""
    for segment in sorted((capture / "segments").glob("*/*.log")):
        partition = int(segment.parent.name.rpartition("-")[2])
        for batch in read_segment(segment.read_bytes(), base_offset=int(segment.stem)):
            for row in batch.to_pylist():
                assert row["error"] is None
                if row["control"] is None:
                    yield {"partition": partition, **row}


@cache
def captured_records() -> dict[str, list[tuple[bytes, bytes | None]]]:
    """Keys and values of each capture."""
    captures = sorted(path for path in (TESTS / "captures").iterdir() if path.is_dir())
    return {capture.name: [(row["key"], row["value"]) for row in read_capture(capture)] for capture in captures}


def vector_records() -> list[tuple[bytes, bytes | None]]:
    """Keys and values of all vectors."""
    return [
        (bytes.fromhex(vector["key_hex"]), None if vector["value_hex"] is None else bytes.fromhex(vector["value_hex"]))
        for release in VECTOR_RELEASES
        for vector in read_vectors(release)
    ]


@cache
def messages_by_layout() -> dict[Layout, list[bytes]]:
    """All different messages, without type and version, under the layout that decodes them; values and keys."""
    found: dict[Layout, dict[bytes, None]] = {}
    for key, value in chain(vector_records(), *captured_records().values()):
        record = RECORDS[int.from_bytes(key[:2], "big")]
        found.setdefault(record.key_layout, {})[key[2:]] = None
        if value is not None:
            layouts = record.value_layouts(int.from_bytes(value[:2], "big"))
            layout = next(layout for layout in layouts if decodes(layout, value[2:]))
            found.setdefault(layout, {})[value[2:]] = None
    return {layout: list(messages) for layout, messages in found.items()}


def decodes(layout: Layout, message: bytes) -> bool:
    try:
        plain_decode(layout, message)
    except BadMessageError:
        return False
    return True
