"""Random inputs by the batch, good and damaged, each with what it is compared with: for `fuzz.py` and the tests."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.replay.classic.streams_assignor import read_task_assignment
from kip848_records.replay.connect import workers
from kip848_records.replay.numbers import PartitionNumbers
from tests.protocol.comparisons import compare_json, compare_messages, compare_records
from tests.protocol.damage import TELLING, mutate
from tests.protocol.layouts import LAYOUTS
from tests.protocol.random_messages import random_message
from tests.protocol.random_segments import (
    random_segment,
    with_damaged_block,
    with_damaged_records,
    with_odd_records,
    with_wrong_crc,
)
from tests.protocol.samples import captured_records, messages_by_layout
from tests.protocol.segment_comparisons import compare_damaged, compare_neighbours, compare_segment, small_steps

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from kip848_records.protocol.messages import Dialect, Record
    from kip848_records.protocol.schema import Layout
    from tests.protocol.comparisons import Row

BATCH = 500
SIZES = (1, 7, 40, BATCH, BATCH, BATCH, BATCH)
"""Few rows are walked otherwise than many."""

LONGEST_REASON = 300  # characters: a reason names no bytes
SHORT = 400  # bytes: long messages cost much and show little more
NAMES = list(DIALECTS)


class Case(NamedTuple):
    """Inputs that are checked together. `check` says how many of the items it was given are good, or raises."""

    name: str
    items: list[Any]
    check: Callable[[list[Any]], int]


# --- messages ---


def message_case(rng: random.Random) -> Case:
    layout = rng.choice(list(LAYOUTS))
    oddity = rng.choice((0, 0, 0.01, 0.05))
    count = rng.choice(SIZES)
    if rng.random() < 0.05:
        messages = [noise(rng) for _ in range(count)]
    else:
        whole = [any_message(rng, layout, oddity) for _ in range(count // 3 + 1)]
        messages = [mutate(rng, rng.choice(whole), rng.choice(whole)) for _ in range(count)]
    nulls = rng.choice((0, 0, 0, 0.1))
    messages = [None if rng.random() < nulls else message for message in messages]
    form = ColumnForm.random(rng)
    return Case(LAYOUTS[layout], messages, lambda items: compare_messages(layout, items, form.column(items)))


def any_message(rng: random.Random, layout: Layout, oddity: float) -> bytes:
    real = short_messages().get(layout)
    return rng.choice(real) if real and rng.random() < 0.3 else random_message(rng, layout, oddity=oddity)


def noise(rng: random.Random) -> bytes:
    return bytes(rng.choices(TELLING, k=rng.randrange(40)))


@cache
def short_messages() -> dict[Layout, list[bytes]]:
    return {layout: [m for m in messages if len(m) < SHORT] for layout, messages in messages_by_layout().items()}


class ColumnForm(NamedTuple):
    """How rows come in: 64-bit offsets or not, and rows around them that a slice leaves out."""

    kind: pa.DataType
    around: list[bytes | None]

    @classmethod
    def random(cls, rng: random.Random) -> ColumnForm:
        around = [rng.choice((None, b"", b"\xff" * 20)) for _ in range(rng.choice((0, 0, 1, 9)))]
        return cls(rng.choice((pa.binary(), pa.binary(), pa.large_binary())), around)

    def column(self, rows: list[bytes | None]) -> pa.Array:
        return pa.array([*self.around, *rows, *self.around], self.kind).slice(len(self.around), len(rows))


# --- records and their JSON ---


def record_case(rng: random.Random) -> Case:
    dialect = DIALECTS[rng.choice(NAMES)]
    rows = random_rows(rng, dialect, rng.choice(SIZES), damage=rng.choice((0, 0.1, 0.5)))
    form = ColumnForm.random(rng)

    def check(items: list[Row]) -> int:
        columns = form.column([key for key, _ in items]), form.column([value for _, value in items])
        return compare_records(items, dialect, columns)

    return Case(dialect.name, rows, check)


def json_case(rng: random.Random) -> Case:
    dialect = DIALECTS[rng.choice(NAMES)]
    rows = random_rows(rng, dialect, rng.choice(SIZES), damage=0.02)
    return Case(dialect.name, rows, lambda items: compare_json(items, dialect))


def random_rows(rng: random.Random, dialect: Dialect, count: int, damage: float) -> list[Row]:
    """Rows of one type, of some or of all; `damage` is the share of keys and of values that are damaged."""
    records = rng.choices(dialect.records, k=rng.choice((1, 3, 100)))
    rows = []
    for _ in range(count):
        if rng.random() < 0.2:
            key, value = rng.choice(real_rows())
        else:
            record = rng.choice(records)
            key, value = random_key(rng, record), random_value(rng, record)
        if rng.random() < damage:
            key = damaged(rng, key)
        if value is not None and rng.random() < damage:
            value = damaged(rng, value)
        rows.append((key, value))
    return rows


@cache
def real_rows() -> list[Row]:
    rows = dict.fromkeys(row for records in captured_records().values() for row in records)
    return [(key, value) for key, value in rows if value is None or len(value) < SHORT]


def random_key(rng: random.Random, record: Record) -> bytes:
    return record.key_type.to_bytes(2, "big") + random_message(rng, record.key_layout)


def random_value(rng: random.Random, record: Record) -> bytes | None:
    """A tombstone or a value, now and then one as another dialect has it or of a version that no one has."""
    if rng.random() < 0.1:
        return None
    if rng.random() < 0.05:
        record = rng.choice(DIALECTS[rng.choice(NAMES)].by_type[record.key_type])
    version, layout = rng.choice([pair for message in record.values for pair in message.layouts.items()])
    if rng.random() < 0.02:
        version = rng.choice((-1, 5, 32767, -32768))
    return version.to_bytes(2, "big", signed=True) + random_message(rng, layout)


def damaged(rng: random.Random, data: bytes) -> bytes | None:
    match rng.randrange(6):
        case 0:
            return None
        case 1:
            return data[: rng.randrange(4)]
        case 2:
            return rng.choice((24, 18, 255, 0x7FFF, 0xFFFF, *KAFKA.by_type)).to_bytes(2, "big") + data[2:]
        case _:
            return mutate(rng, data, data)


# --- what clients put into classic groups ---


def payload_case(rng: random.Random) -> Case:
    """Bytes of Streams' assignor and of Connect's workers: they are read, or refused as what they are not."""
    whole = task_assignments()
    read = rng.choice((read_task_assignment, read_worker_assignment, read_worker_subscription))
    payloads = [mutate(rng, rng.choice(whole), rng.choice(whole)) for _ in range(rng.choice(SIZES))]

    def check(items: list[bytes]) -> int:
        return sum(is_read(read, payload) for payload in items)

    return Case(read.__name__, payloads, check)


def is_read(read: Callable[[bytes], object], payload: bytes) -> bool:
    try:
        read(payload)
    except ValueError as error:
        reason = str(error)
    else:
        return True
    assert len(reason) < LONGEST_REASON, reason
    return False


def read_worker_assignment(payload: bytes) -> object:
    return workers.read_assignment(payload, PartitionNumbers())


def read_worker_subscription(payload: bytes) -> object:
    return workers.read_subscription(payload, PartitionNumbers())


@cache
def task_assignments() -> list[bytes]:
    with gzip.open(Path(__file__).parent / "vectors/streams-assignor/kafka-4.4.0.jsonl.gz", "rt") as lines:
        return [bytes.fromhex(json.loads(line)["payload"]) for line in lines]


# --- segments ---


def segment_case(rng: random.Random) -> Case:
    batches = random_segment(rng)
    first = int.from_bytes(batches[0][:8], "big") if batches else 0
    base_offset = rng.choice((None, first, max(first - 1, 0)))
    batch_rows = rng.choice((1, 7, 10_000))
    steps = rng.choice((1, 3, 1000)), rng.choice((1, 150, 300, 1000, 4_000_000))

    def case(name: str, items: list[bytes], check: Callable[[list[bytes]], bool]) -> Case:
        def checked(given: list[bytes]) -> int:
            with small_steps(*steps):
                return check(given)

        return Case(name, items, checked)

    mode = rng.choice(("records", "records", "records", "block", "file")) if batches else "file"
    if mode == "records":
        change = rng.choice((with_damaged_records, with_odd_records, with_wrong_crc))
        damaged_batches = [change(rng, batch) if rng.random() < 0.4 else batch for batch in batches]
        return case(mode, damaged_batches, lambda given: compare_segment(given, base_offset, batch_rows))
    if mode == "block":
        original = rng.choice(batches)
        changed = with_damaged_block(rng, original)
        items = [changed if batch is original else batch for batch in batches]
        return case(mode, items, lambda given: compare_neighbours(given, changed, original, base_offset))
    whole = b"".join(batches)
    segment = mutate(rng, whole, whole) + rng.choice((b"", b"", bytes(100), noise(rng)))
    return case(mode, [segment], lambda given: compare_damaged(given[0], batches, base_offset, batch_rows))


CASES: dict[str, Callable[[random.Random], Case]] = {
    "messages": message_case,
    "records": record_case,
    "json": json_case,
    "payloads": payload_case,
    "segments": segment_case,
}
"""What makes a case of each kind out of random numbers."""
