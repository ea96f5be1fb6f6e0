"""Both engines, and functions over batches that other processes can load."""

import json
import os
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.errors import InputError
from kip848_records.replay.rows import TopicName, row_type
from tests.commands import eventually

EMBEDDED, SPARK = "embedded", "spark"

NUMBERS = pa.schema([("n", pa.int64()), ("twice", pa.int64())])
TYPES = pa.schema([("types", pa.list_(pa.string()))])
NAMES = pa.schema(list(row_type(TopicName)))


def new_engine(kind, spark, out=""):
    return EmbeddedEngine(str(out)) if kind == EMBEDDED else SparkEngine(spark, str(out))


def doubled(batches):
    """Rows with a number `n`, and twice of it."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays([batch["n"], pc.multiply(batch["n"], 2)], schema=NUMBERS)


def types(batches):
    """The types of the columns of each batch."""
    for batch in batches:
        found = [str(kind).replace(" not null", "") for kind in batch.schema.types]
        yield pa.RecordBatch.from_arrays([pa.array([found], TYPES.field(0).type)], schema=TYPES)


SIZES = pa.schema([("size", pa.int64()), ("process", pa.int64())])


def sizes(batches):
    """The size of each file."""
    for batch in batches:
        found = [len(Path(path.removeprefix("file:")).read_bytes()) for path in batch["path"].to_pylist()]
        yield pa.RecordBatch.from_pydict({"size": found, "process": [os.getpid()] * len(found)}, SIZES)


def counted(batches):
    """A row for each key `k` in sorted rows: how many rows it had, in which order, and whether it came once."""
    seen: dict[str | None, list[int]] = {}
    last = None
    for batch in batches:
        for key, number in zip(batch["k"].to_pylist(), batch["n"].to_pylist(), strict=True):
            assert key == last or key not in seen, "a key came twice"
            seen.setdefault(key, []).append(number)
            last = key
    assert all(numbers == sorted(numbers) for numbers in seen.values())
    yield pa.RecordBatch.from_pydict(
        {"k": pa.array(seen, pa.string()), "rows": pa.array(map(len, seen.values()), pa.int64())}
    )


def waiting(folder, batches):
    """Read no rows behind the first of the key `a` until those of another key have come to another process."""
    other = Path(folder, "other")
    for batch in batches:
        if batch["k"][0].as_py() == "a":
            assert eventually(other.exists)
        else:
            other.touch()
    yield from ()


def named(batches):
    """A topic name for each key, as a replay yields rows, and rows of a class that is no table's."""
    for counts in counted(batches):
        names = [
            {"topic_id": str(key), "topic": str(rows)} for key, rows in zip(*counts.to_pydict().values(), strict=True)
        ]
        yield TopicName, pa.RecordBatch.from_pylist(names, NAMES)
        yield str, counts


def refused(batches):
    for _ in batches:
        raise InputError.unreadable("x.log")
    yield from ()


def refused_at_the_end(batches):
    yield from named(batches)
    raise InputError.unreadable("x.log")


class OddError(Exception):
    def __init__(self, one, two):
        super().__init__(f"odd {one} {two}")


def odd(batches):
    next(iter(batches))
    raise OddError(1, two=2)
    yield


def refused_at_length(batches):
    """Fail in the first batch with more text than a pipe holds."""
    next(iter(batches))
    raise InputError("x" * 1_000_000, "hint")
    yield


def truncated(batches):
    next(iter(batches))
    os.kill(os.getpid(), signal.SIGBUS)
    yield


def killed(batches):
    next(iter(batches))
    os.kill(os.getpid(), signal.SIGKILL)
    yield


def printing(batches):
    print("printed")  # noqa: T201
    return named(batches)


BEGUN = "KIP848_TESTS_BEGUN"
"""The variable that names the folder in which work that takes long makes a file when it begins."""


def begin(batches):
    next(iter(batches))
    Path(os.environ[BEGUN], str(os.getpid())).touch()


def slow(batches):
    """Sleep in the first batch."""
    begin(batches)
    time.sleep(600)
    yield from ()


def busy(batches):
    """Count, as a replay of one large group does."""
    begin(batches)
    until = time.monotonic() + 600
    while time.monotonic() < until:
        pass
    yield from ()


def passed(batches):
    """A topic name for each row, which checks the order."""
    last = -1
    for batch in batches:
        numbers = batch["n"].to_numpy()
        assert numbers[0] > last
        assert (numbers[1:] > numbers[:-1]).all()
        last = numbers[-1]
        columns = [pa.nulls(batch.num_rows, field.type) for field in NAMES]
        yield TopicName, pa.RecordBatch.from_arrays(columns, schema=NAMES)


def described_by_log(table):
    """What the Delta log says of a table."""
    about, protocol = table.metadata(), table.protocol()
    return {
        "schema": json.loads(table.schema().to_json()),
        "partitions": about.partition_columns,
        "description": about.description,
        "properties": about.configuration,
        "protocol": (protocol.min_reader_version, protocol.min_writer_version),
        "features": (protocol.reader_features, protocol.writer_features),
    }
