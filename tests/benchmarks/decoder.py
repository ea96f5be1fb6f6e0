"""The columnar decoder against a loop over records, per record type, on real records: `make bench`.

Values of a capture, repeated to batches of Spark's default size. Both decoders take turns and each is given its best
time, so that other work on the machine counts little. Run it as `python tests/benchmarks/decoder.py [record type …]`.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2]))

from kip848_records.protocol.columnar import decode
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.protocol.records import decode_records
from tests.benchmarks.record_loop import record_loop
from tests.protocol.samples import captured_records

ROWS = 10_000
LOOP_ROWS = 1_000
SECONDS = 1.0


def main() -> None:
    chosen = {int(argument) for argument in sys.argv[1:]}
    captured = captured_values()
    print("type record                                 bytes    loop/s  columnar/s   MB/s  ratio of a copy")
    for key_type, values in sorted(captured.items()):
        if not chosen or key_type in chosen:
            bench_type(key_type, values)
    if not chosen:
        bench_mixed(captured)
        bench_long_row(captured[8])


def captured_values() -> dict[int, list[tuple[bytes, bytes]]]:
    """Keys and values by record type: of one broker, that with most records of the type, and of one value version."""
    found: dict[int, list[tuple[bytes, bytes]]] = {}
    for capture in captured_records().values():
        versions: dict[tuple[int, bytes], list[tuple[bytes, bytes]]] = {}
        for key, value in capture:
            if value is not None:
                versions.setdefault((int.from_bytes(key[:2], "big"), value[:2]), []).append((key, value))
        for (key_type, _), records in versions.items():
            found[key_type] = max(found.get(key_type, []), records, key=len)
    return found


def bench_type(key_type: int, records: list[tuple[bytes, bytes]]) -> None:
    messages = repeat([value[2:] for _, value in records], ROWS)
    version = int.from_bytes(records[0][1][:2], "big")
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


def bench_mixed(captured: dict[int, list[tuple[bytes, bytes]]]) -> None:
    """Whole records, keys and all, of every type in turn, against the same records sorted by type."""
    types = sorted(captured)
    records = [rows[place % len(rows)] for place in range(ROWS) for rows in (captured[t] for t in types)]
    mixed = batches(records)
    in_order = batches(sorted(records, key=lambda record: record[0][:2]))
    slow, fast = best(lambda: [decode_records(*b) for b in mixed], lambda: [decode_records(*b) for b in in_order])
    print(f"\n{len(types)} types in every batch: {slow / fast:.2f} times as long as the same records sorted by type")


def bench_long_row(records: list[tuple[bytes, bytes]]) -> None:
    """One member with 5,000 topics among members with few."""
    small = repeat([value for _, value in records], ROWS)
    (layout,) = RECORDS[8].value_layouts(0)
    topics = [{"topicId": f"{n:022}", "partitions": [0, 1]} for n in range(5_000)]
    value = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "assignedPartitions": topics}
    long = encode_message(layout, value | {"partitionsPendingRevocation": []})
    key = pa.array([encode_key(RECORDS[8], {"groupId": "g", "memberId": "m"})] * ROWS)
    with_long, without = pa.array([*small[:5_000], long, *small[5_001:]]), pa.array(small)
    slow, fast = best(lambda: decode_records(key, with_long), lambda: decode_records(key, without))
    share = len(long) / sum(map(len, small))
    print(f"one member with 5,000 topics in a batch: {share:.0%} more bytes, {slow / fast - 1:.0%} more time")


def batches(records: list[tuple[bytes, bytes]]) -> list[tuple[pa.Array, pa.Array]]:
    slices = (records[at : at + ROWS] for at in range(0, len(records), ROWS))
    return [(pa.array([key for key, _ in rows]), pa.array([value for _, value in rows])) for rows in slices]


def repeat(items: list, length: int) -> list:
    return [items[place % len(items)] for place in range(length)]


def best(*functions: Callable[[], object]) -> list[float]:
    """The shortest time of each function in seconds; they take turns for `SECONDS` each, three times in a row."""
    times = [float("inf")] * len(functions)
    deadline = time.perf_counter() + SECONDS * len(functions)
    while time.perf_counter() < deadline:
        for place, function in enumerate(function for function in functions for _ in range(3)):
            start = time.perf_counter()
            function()
            times[place // 3] = min(times[place // 3], time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
