"""Random dumps with rows in error: what their coverage counts, which rows are left, and what is there twice."""

import random
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.sources.listing import find_copies
from kip848_records.sources.registry import KINDS
from kip848_records.sources.source_kind import ReadOptions
from kip848_records.specs.log_columns import TOPIC
from tests.seeds import daily_seeds, nightly

EPOCH, COMMIT, EARLY_COMMIT = b"\0\3\0\1g", b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\0\0\1g\0\1t\0\0\0\0"
KEYS = (EPOCH, COMMIT, COMMIT, EARLY_COMMIT, None, b"\0")
ERRORS = (
    {"topic": "orders"},
    {"topic": None},
    {"topic": f"a.{TOPIC}"},
    {"partition": None},
    {"partition": 3_000_000_000},
    {"offset": None},
    {"timestamp": None},
    {"timestamp": 400_000_000_000_000_000},
)
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("topic", pa.string()),
    ]
)


def dump(chance):
    """Rows of two partitions, half of the dumps with errors; offsets are repeated, missing, and below zero."""
    has_errors, is_repeated = chance.random() < 0.5, chance.random() < 0.5
    times = chance.choice([[-1], [1000, 5000, -1, 0]])
    for number in range(chance.randrange(140)):
        row = {
            "key": chance.choice(KEYS),
            "value": chance.choice([None, b"v"]),
            "partition": chance.choice([0, 1]),
            "offset": number - 70 - (chance.choice([0, 0, 30]) if is_repeated else 0),
            "timestamp": chance.choice(times) * 1000 + chance.choice([0, 999]),
            "topic": TOPIC,
        }
        yield row | chance.choice(ERRORS) if has_errors and chance.random() < 0.1 else row


@pytest.mark.parametrize("seed", [*range(4), *nightly(daily_seeds(24, "dumps"))])
def test_coverage_and_rows_of_random_dumps(tmp_path, seed):
    path = tmp_path / "dump.parquet"
    pq.write_table(pa.Table.from_pylist(list(dump(random.Random(seed))), SCHEMA), path)  # noqa: S311 - no secret
    every, _ = read(path, ReadOptions())
    wanted = [row for row in every if not is_skipped(row)]
    assert in_order(read(path, ReadOptions(offset_commits=False))[0]) == in_order(wanted)
    for offset_commits in (False, True):
        rows, may_overlap = read(path, ReadOptions(offset_commits=offset_commits, coverage=True))
        assert in_order(row for row in rows if row["file"] is None) == in_order(every if offset_commits else wanted)
        files = {row["partition"]: row["file"] for row in rows if row["file"] is not None}
        assert {at: covered(file) for at, file in files.items()} == expected(every, offset_commits=offset_commits)
        places = Counter((row["partition"], row["offset"]) for row in of_log(every))
        assert may_overlap == (max(places.values(), default=1) > 1)


def read(path, options):
    engine = EmbeddedEngine()
    (copy,) = find_copies(engine.listing(), str(path))
    rows, may_overlap = KINDS[copy.format].read(engine, copy, options)
    return pa.Table.from_batches(rows.batches(), rows.schema).to_pylist(), may_overlap


def in_order(rows):
    return sorted(map(repr, rows))


def is_skipped(row):
    return row["key_type"] in {0, 1} and row["error_code"] is None


def of_log(rows):
    return [row for row in rows if row["error_code"] != "other_topic" and None not in {row["partition"], row["offset"]}]


def covered(file):
    counts = {each["key_type"]: each["count"] for each in file["skipped"]}
    return file["first_offset"], file["last_offset"], file["has_gap"], counts, file["newest_skipped"]


def expected(rows, *, offset_commits):
    """Return what the dump covers of each partition, counted row by row."""
    found = {}
    for partition in {row["partition"] for row in of_log(rows)}:
        here = [row for row in of_log(rows) if row["partition"] == partition]
        offsets = {row["offset"] for row in here}
        skipped = [] if offset_commits else [row for row in here if is_skipped(row)]
        times = [row["timestamp"] for row in skipped if row["timestamp"] is not None]
        newest = max((at.replace(microsecond=at.microsecond // 1000 * 1000) for at in times), default=None)
        has_gap = len(offsets) <= max(offsets) - min(offsets)
        counts = Counter(row["key_type"] for row in skipped)
        found[partition] = (min(offsets), max(offsets), has_gap, dict(counts), newest)
    return found
