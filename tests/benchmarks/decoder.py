"""The columnar decoder against a loop over records, per record type, on real records: `make bench`.

Values of a capture, repeated to batches of Spark's default size. Then two things that a decoder of columns could be bad
at: batches of many record types, and a row that is a thousand times as long as the others. What is compared takes turns
and each is given its best CPU time, so that other work on the machine counts little. Run it as
`python tests/benchmarks/decoder.py [record type …]`.
"""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2]))

from kip848_records.protocol.columnar import decode
from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.protocol.records import decode_records, join_batches
from tests.benchmarks.record_loop import record_loop
from tests.benchmarks.timing import best
from tests.protocol.samples import captured_records

Row = tuple[bytes, bytes]
"""Key and value."""

ROWS = 10_000
FEW_BATCHES = 5
LOOP_ROWS = 1_000
LONG_ROW = 5_000  # partitions


def main() -> None:
    chosen = {int(argument) for argument in sys.argv[1:]}
    captured = captured_values()
    print(f"Values of one type, {ROWS:,} a batch")
    print("type record                                 bytes    loop/s  columnar/s   MB/s  ratio of a copy")
    for key_type, rows in sorted(captured.items()):
        if not chosen or key_type in chosen:
            bench_type(key_type, rows)
    if not chosen:
        bench_mixed(captured)
        bench_long_rows(captured[8])


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


def bench_type(key_type: int, rows: list[Row]) -> None:
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
    size = len(b"".join(messages))
    rates = LOOP_ROWS / slow, ROWS / fast
    print(
        f"{key_type:4} {RECORDS[key_type].name:38} {size / ROWS:5.0f} {rates[0]:9,.0f} {rates[1]:11,.0f}"
        f" {size / fast / 1e6:6.0f} {rates[1] / rates[0]:6.1f} {copy / fast:9.1%}"
    )


def bench_mixed(captured: dict[int, list[Row]]) -> None:
    """Whole rows, keys and all, of every type in turn, against the same rows sorted by type; joined as in a job."""
    types = sorted(captured)
    rows = [captured[key_type][place % len(captured[key_type])] for place in range(ROWS) for key_type in types]
    mixed, in_order = batches(rows), batches(sorted(rows, key=lambda row: row[0][:2]))
    times = best(partial(decode_joined, mixed), partial(decode_joined, in_order))
    print(f"\nRows of {len(types)} types, {ROWS:,} a batch, joined before they are decoded")
    print("order             rows/s  time")
    for name, seconds in zip(("in turn", "sorted by type"), times, strict=True):
        print(f"{name:14} {len(rows) / seconds:9,.0f} {seconds / times[1]:5.2f}")


def bench_long_rows(rows: list[Row]) -> None:
    """One member with many partitions among members with few: what of the bytes is its own, and what of the time.

    Its time is what its batch takes longer than one without it. Batches are not joined: in large ones the same rows
    at another place in memory take a fifth more or less, which is many times what is measured.
    """
    small = repeat(rows, ROWS)
    shapes = {f"1 topic with {LONG_ROW:,}": [LONG_ROW], f"{LONG_ROW:,} topics with 1": [1] * LONG_ROW}
    longs = [long_value(sizes) for sizes in shapes.values()]
    given = [batches([*small[1:], (rows[0][0], value)]) for value in (small[0][1], *longs)]
    without, *times = best(*(partial(decode_batches, batch) for batch in given))
    size = FEW_BATCHES * sum(len(key) + len(value) for key, value in small)
    print(f"\nOne member with {LONG_ROW:,} partitions among {FEW_BATCHES * ROWS:,} members with few")
    print("its partitions           bytes   of all bytes   of the time  ratio")
    for name, long, seconds in zip(shapes, longs, times, strict=True):
        more = seconds - without
        of_bytes, of_time = len(long) / (size + len(long)), more / (FEW_BATCHES * without + more)
        print(f"{name:20} {len(long):9,} {of_bytes:14.2%} {of_time:13.2%} {of_time / of_bytes:6.1f}")


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


if __name__ == "__main__":
    main()
