"""Real messages to try decoders on: Kafka's vectors and the records of the captures."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from kip848_records.protocol.messages import DIALECTS, KAFKA, Record
from kip848_records.protocol.schema import Layout
from kip848_records.protocol.segments.reader import read_segment
from tests.protocol.plain_decoder import BadMessageError, plain_decode

TESTS = Path(__file__).parent.parent
VECTOR_RELEASES = {"3.5.2": "kip-848", "3.7.2": "kafka-3.7", "4.0.0": "kafka", "4.4.0": "kafka"}
"""Releases whose serializers wrote the vectors, and their dialects."""


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
    captures = sorted(oracle.parent for oracle in (TESTS / "captures").glob("*/oracle"))
    return {capture.name: [(row["key"], row["value"]) for row in read_capture(capture)] for capture in captures}


def vector_records(release: str) -> list[tuple[bytes, bytes | None]]:
    """Keys and values of a release's vectors."""
    return [
        (bytes.fromhex(vector["key_hex"]), None if vector["value_hex"] is None else bytes.fromhex(vector["value_hex"]))
        for vector in read_vectors(release)
    ]


@cache
def messages_by_layout() -> dict[Layout, list[bytes]]:
    """All different messages, without type and version, under the layout that decodes them; values and keys."""
    found: dict[Layout, dict[bytes, None]] = {}
    of_vectors = ([(dialect, *record) for record in vector_records(r)] for r, dialect in VECTOR_RELEASES.items())
    captured = ([(KAFKA.name, *record) for record in records] for records in captured_records().values())
    for dialect, key, value in chain(*of_vectors, *captured):
        record = usual_record(key, dialect)
        found.setdefault(record.key_layout, {})[key[2:]] = None
        if value is not None:
            layouts = record.value_layouts(int.from_bytes(value[:2], "big"))
            layout = next(layout for layout in layouts if decodes(layout, value[2:]))
            found.setdefault(layout, {})[value[2:]] = None
    return {layout: list(messages) for layout, messages in found.items()}


def usual_record(key: bytes, dialect: str = KAFKA.name) -> Record:
    return DIALECTS[dialect].by_type[int.from_bytes(key[:2], "big")][0]


def decodes(layout: Layout, message: bytes) -> bool:
    try:
        plain_decode(layout, message)
    except BadMessageError:
        return False
    return True
