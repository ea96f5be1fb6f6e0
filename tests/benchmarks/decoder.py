"""The columnar decoder against a loop over records and `kafka-dump-log`, per record type, on real records.

Values of a capture, repeated to batches of Spark's default size. The decoder is given them in memory; of
`kafka-dump-log` that counts which more records of the type add, so it also reads their file, decodes their keys and
prints. Then two things that a decoder of columns could be bad at: batches of many record types, and a row
that is a thousand times as long as the others. What is compared takes turns and each is given its best CPU time, so
that other work on the machine counts little.
"""

import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar import decode
from kip848_records.protocol.decoder import decode_records, join_batches
from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.messages import RECORDS
from tests.benchmarks.dump_log import cpu_seconds, dump_log, write_segment
from tests.benchmarks.record_loop import record_loop
from tests.benchmarks.results import Measure
from tests.benchmarks.timing import best
from tests.protocol.samples import captured_records

Row = tuple[bytes, bytes]
"""Key and value."""

ROWS = 10_000
LOOP_ROWS = 1_000
DUMPED = (5, 7, 8)
DUMP_ROWS = (200_000, 1_000_000)
"""What the second file takes longer is counted: by then `kafka-dump-log` has started and is compiled."""
LONG_ROW = 5_000  # partitions


def measure(types: Iterable[int] = ()) -> Iterator[Measure]:
    """Yield what values of these record types take, of all and in all ways if none is named."""
    captured = captured_values()
    dump = None if types else dump_log("--offsets-decoder", "--files", java=("-XX:+UseSerialGC",))
    for key_type in sorted(types or captured):
        measured = of_type(key_type, captured[key_type])
        if dump is not None and key_type in DUMPED:
            measured.ratios["kafka-dump-log"] = seconds_dumped(dump, captured[key_type]) * ROWS / measured.seconds
        yield measured
    if not types:
        yield of_mixed(captured)
        yield from of_long_rows(captured[8])


def captured_values() -> dict[int, list[Row]]:
    """Rows by record type: of one broker, that with most records of the type, and of one value version."""
    found: dict[int, list[Row]] = {}
    for capture in captured_records().values():
        versions: dict[tuple[int, bytes], list[Row]] = {}
        for key, value in capture:
            if value is not None:
                versions.setdefault((int.from_bytes(key[:2], "big"), value[:2]), []).append((key, value))
        for (key_type, _), rows in versions.items():
            found[key_type] = max(found.get(key_type, []), rows, key=len)
    return found


def of_type(key_type: int, rows: list[Row]) -> Measure:
    messages = repeat([value[2:] for _, value in rows], ROWS)
    version = int.from_bytes(rows[0][1][:2], "big")
    layouts = RECORDS[key_type].value_layouts(version)
    column = pa.array(messages)
    layout = next(layout for layout in layouts if not decode(layout, column).errors.any())
    loop = record_loop(layout)
    few = messages[:LOOP_ROWS]
    assert [loop(message) for message in few] == decode(layout, column[:LOOP_ROWS]).values.to_pylist()
    data = np.frombuffer(column.buffers()[2], np.uint8)
    slow, fast, copy = best(lambda: [loop(m) for m in few], lambda: decode(layout, column), data.copy)
    ratios = {"a loop": slow * ROWS / LOOP_ROWS / fast, "a copy of the bytes": copy / fast}
    return Measure(f"decode {key_type} {RECORDS[key_type].name}", fast, ROWS, len(b"".join(messages)), ratios=ratios)


def seconds_dumped(dump: list[str], rows: list[Row]) -> float:
    """Return the CPU seconds that one more of these records takes `kafka-dump-log`."""
    with tempfile.TemporaryDirectory() as folder:
        files = [write_segment(Path(folder, f"{n}"), islice(cycle(rows), n), "none", 100) for n in DUMP_ROWS]
        turns = [[cpu_seconds([*dump, str(file)]) for file in files] for _ in range(3)]
    few, many = (min(times) for times in zip(*turns, strict=True))
    return (many - few) / (DUMP_ROWS[1] - DUMP_ROWS[0])


def of_mixed(captured: dict[int, list[Row]]) -> Measure:
    """Whole rows, keys and all, of every type in turn, against the same rows sorted by type; joined as in a job."""
    types = sorted(captured)
    rows = [captured[key_type][place % len(captured[key_type])] for place in range(ROWS) for key_type in types]
    mixed, in_order = batches(rows), batches(sorted(rows, key=lambda row: row[0][:2]))
    in_turn, by_type = best(partial(decode_joined, mixed), partial(decode_joined, in_order))
    size = sum(len(key) + len(value) for key, value in rows)
    ratios = {"the same sorted by type": by_type / in_turn}
    return Measure(f"decode rows of {len(types)} types in turn", in_turn, len(rows), size, ratios=ratios)


def of_long_rows(rows: list[Row]) -> Iterator[Measure]:
    """One member with many partitions among members with few: what of the bytes is its own, and what of the time.

    Its time is what its batch takes longer than one without it. Batches are not joined: in large ones the same rows
    at another place in memory take a fifth more or less, which is many times what is measured.
    """
    small = repeat(rows, ROWS)
    shapes = {f"1 topic with {LONG_ROW:,}": [LONG_ROW], f"{LONG_ROW:,} topics with 1": [1] * LONG_ROW}
    longs = [long_value(sizes) for sizes in shapes.values()]
    given = [batches([*small[1:], (rows[0][0], value)]) for value in (small[0][1], *longs)]
    without, *times = best(*(partial(decode_batches, batch) for batch in given))
    size = sum(len(key) + len(value) for key, value in small)
    for name, long, seconds in zip(shapes, longs, times, strict=True):
        rate = size / without  # bytes/s of members with few
        ratios = {"as many bytes of short rows": len(long) / rate / (seconds - without)}
        yield Measure(f"decode one member of {name}", seconds - without, 1, len(long), ratios=ratios)


def long_value(sizes: list[int]) -> bytes:
    """A member's assignment: a topic with so many partitions for each of the sizes."""
    (layout,) = RECORDS[8].value_layouts(0)
    topics = [{"topicId": f"{number:021}A", "partitions": list(range(size))} for number, size in enumerate(sizes)]
    value = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "assignedPartitions": topics}
    return encode_message(layout, value | {"partitionsPendingRevocation": []})


def decode_joined(given: list[pa.RecordBatch]) -> None:
    decode_batches(join_batches(given))


def decode_batches(given: Iterable[pa.RecordBatch]) -> None:
    for batch in given:
        decode_records(batch["key"], batch["value"])


def batches(rows: list[Row]) -> list[pa.RecordBatch]:
    """The rows in batches as Spark hands them over."""
    slices = (rows[at : at + ROWS] for at in range(0, len(rows), ROWS))
    return [
        pa.RecordBatch.from_pydict({"key": [key for key, _ in part], "value": [value for _, value in part]})
        for part in slices
    ]


def repeat(items: list, length: int) -> list:
    return [items[place % len(items)] for place in range(length)]
