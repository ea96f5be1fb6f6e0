"""The reader of segment files against `kafka-dump-log`, per codec, and its memory on large files.

Both read the same file in full: batches as brokers wrote them, or records of a capture in batches of another size.
`kafka-dump-log` prints every record to nowhere; the reader makes Arrow rows of all records, or of those that an audit
keeps, or decodes them too. CPU time is compared with CPU time; what starting a JVM costs is taken off.
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
from kip848_records.sources.record_filter import RecordFilter
from kip848_records.sources.segment_rows import content_of, read_file
from tests.benchmarks.dump_log import cpu_seconds, dump_log, write_segment
from tests.benchmarks.results import Measure
from tests.benchmarks.timing import best
from tests.memory import peak_memory
from tests.protocol.plain_segments import batches_of
from tests.protocol.samples import TESTS, captured_records

MB = 32
CAPTURES = ["kafka-4.3.1", "kafka-4.0.0-zstd"]
"""Their batches have 5 and 6 records on average."""

CASES = [("none", 1), ("none", 100), ("gzip", 100), ("snappy", 100), ("lz4", 100), ("zstd", 100)]
"""Codecs, and records in a batch. A quiet coordinator writes batches of one operation, a busy one of hundreds."""

LARGE = [("none", 100), ("zstd", 100), ("none", 1000)]
"""Codecs, and MB."""


def measure() -> Iterator[Measure]:
    """Yield what files of real batches and of every codec take, and how much memory large ones."""
    with tempfile.TemporaryDirectory() as folder:
        yield from of_files(Path(folder))
        yield from of_memory(Path(folder))


def of_files(folder: Path) -> Iterator[Measure]:
    dump = dump_log("--print-data-log", "--files", java=("-XX:+UseSerialGC",))
    if dump is None:
        return
    start = cpu_seconds([*dump, str(segment_of(folder / "0", "none", 3, size=1))])
    for name, file in written(folder):
        theirs = cpu_seconds([*dump, str(file)]) - start
        data = file.read_bytes()
        functions = {"read": read_all, "audit": audit_all, "read and decode": decode_all}
        times = best(*(lambda function=function, data=data: function(data) for function in functions.values()))
        rows = sum(batch.num_rows for batch in read_segment(data, base_offset=0))
        for what, seconds in zip(functions, times, strict=True):
            ratios = {"kafka-dump-log": theirs / seconds}
            yield Measure(f"{what} {name}", seconds, rows, len(data), ratios=ratios)


def written(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write a file after the other, and yield what is in it."""
    for capture in CAPTURES:
        segments = sorted((TESTS / "captures" / capture / "segments").glob("*/*.log"))
        batches = [batch for segment in segments for batch in batches_of(segment.read_bytes())]
        (folder / capture).mkdir()
        yield f"{capture}, real batches", repeated(batches, MB * 1_000_000, folder / capture / f"{0:020}.log")
    for codec, count in CASES:
        file = segment_of(folder / f"{codec}-{count}", codec, count, MB * 1_000_000)
        yield f"{codec}, {count} a batch", file


def of_memory(folder: Path) -> Iterator[Measure]:
    context = mp.get_context("spawn")
    parts: dict[str, list[bytes]] = {}
    for codec, size in LARGE:
        if codec not in parts:
            file = segment_of(folder / f"memory-{codec}", codec, 100, 1_000_000)
            parts[codec] = batches_of(file.read_bytes())
        file = repeated(parts[codec], size * 1_000_000, folder / "large.log")
        with context.Pool(1) as pool:
            start = time.perf_counter()
            peak = pool.apply(peak_of_reading, (str(file),))
            seconds = time.perf_counter() - start
        what = f"read one file of {size} MB, {codec}"
        yield Measure(what, seconds, bytes=file.stat().st_size, worker_bytes=peak)  # the file itself counts


def repeated(batches: list[bytes], size: int, file: Path) -> Path:
    """Write batches again and again, with growing offsets, until a file has a size."""
    offset = 0
    with file.open("wb") as out:
        while out.tell() < size:
            for batch in batches:
                out.write(struct.pack(">q", offset) + batch[8:])
                offset += 1 + int.from_bytes(batch[23:27], "big")
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


def audit_all(data: bytes) -> None:
    """Read as an audit does: with what the file covers, and without a row for an offset commit."""
    for _ in read_file(
        memoryview(data), "file", SegmentFile(0, 0, 0), RecordFilter(offset_commits=False, aborted=False)
    ):
        pass


def decode_all(data: bytes) -> None:
    for rows in read_segment(data, base_offset=0):
        decode_records(rows["key"].cast(pa.binary()), rows["value"].cast(pa.binary()))
