"""The reader of segment files against `kafka-dump-log`, per codec, and its memory on large files.

Both read the same file of a capture's records, each in full: `kafka-dump-log` prints every record to nowhere; the
reader makes Arrow rows, and in the last columns decodes them too. CPU time is compared with CPU time; what starting a
JVM costs is taken off.
"""

import multiprocessing as mp
import struct
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa

from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.segments.reader import read_segment
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.segment_rows import content_of, read_file
from tests.benchmarks.dump_log import cpu_seconds, dump_log, write_segment
from tests.benchmarks.results import Measure
from tests.benchmarks.timing import best
from tests.memory import peak_memory
from tests.protocol.samples import captured_records

MB = 32
CASES = [("none", 3), ("none", 100), ("gzip", 100), ("snappy", 100), ("lz4", 100), ("zstd", 100)]
"""Codecs, and records in a batch. A quiet coordinator writes batches of one operation, a busy one of hundreds."""

LARGE = [("none", 100), ("zstd", 100), ("none", 1000)]
"""Codecs, and MB."""


def measure() -> Iterator[Measure]:
    """Yield what files of every codec take, and how much memory large ones."""
    with tempfile.TemporaryDirectory() as folder:
        yield from of_codecs(Path(folder))
        yield from of_memory(Path(folder))


def of_codecs(folder: Path) -> Iterator[Measure]:
    dump = dump_log("--print-data-log", "--files", java=("-XX:+UseSerialGC",))
    if dump is None:
        return
    start = cpu_seconds([*dump, str(segment_of(folder / "0", "none", 3, size=1))])
    for codec, count in CASES:
        file = segment_of(folder / f"{codec}-{count}", codec, count, MB * 1_000_000)
        theirs = cpu_seconds([*dump, str(file)]) - start
        data = file.read_bytes()
        ours, decoded = best(lambda data=data: read_all(data), lambda data=data: decode_all(data))
        rows = sum(batch.num_rows for batch in read_segment(data, base_offset=0))
        name = f"{codec}, {count} records a batch"
        for what, seconds in (("read", ours), ("read and decode", decoded)):
            yield Measure(f"{what} {name}", seconds, rows, MB * 1_000_000, ratios={"kafka-dump-log": theirs / seconds})


def of_memory(folder: Path) -> Iterator[Measure]:
    context = mp.get_context("spawn")
    parts: dict[str, bytes] = {}
    for codec, size in LARGE:
        if codec not in parts:
            parts[codec] = segment_of(folder / f"memory-{codec}", codec, 100, MB * 1_000_000).read_bytes()
        file = repeated(parts[codec], size * 1_000_000, folder / "large.log")
        with context.Pool(1) as pool:
            start = time.perf_counter()
            peak = pool.apply(peak_of_reading, (str(file),))
            seconds = time.perf_counter() - start
        what = f"read one file of {size} MB, {codec}"
        yield Measure(what, seconds, bytes=file.stat().st_size, worker_bytes=peak)  # the file itself counts


def repeated(segment: bytes, size: int, file: Path) -> Path:
    """Write the batches of a segment again and again, with growing offsets."""
    heads = []
    at = 0
    while at < len(segment):
        base, length = struct.unpack_from(">qi", segment, at)
        heads.append((at, base))
        at += 12 + length
    records = heads[-1][1] + 100
    with file.open("wb") as out:
        for turn in range(-(-size // len(segment))):
            batches = bytearray(segment)
            for at, base in heads:
                struct.pack_into(">q", batches, at, base + turn * records)
            out.write(batches)
    return file


def peak_of_reading(path: str) -> int:
    """Read a file as a Spark worker does and return the most bytes that the process has had in use."""
    for _ in read_file(content_of(path), path, SegmentFile(0, 0, 0)):
        pass
    return peak_memory()


def segment_of(folder: Path, codec: str, count: int, size: int) -> Path:
    """Write records of a capture, in its order, `size` bytes of keys and values in all."""
    captured = captured_records()["kafka-4.3.1"]
    return write_segment(folder, islice(cycle(captured), records_of(captured, size)), codec, count)


def records_of(captured: list[tuple[bytes, bytes | None]], size: int) -> int:
    together = sum(len(key) + len(value or b"") for key, value in captured)
    return max(size * len(captured) // together, 1)


def read_all(data: bytes) -> None:
    for _ in read_segment(data, base_offset=0):
        pass


def decode_all(data: bytes) -> None:
    for rows in read_segment(data, base_offset=0):
        decode_records(rows["key"].cast(pa.binary()), rows["value"].cast(pa.binary()))
