"""The rows of `consumption_stop` without Spark: offset commits and the partitions that rebalances stopped, sorted."""

import json
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Any

import pyarrow as pa

from kip848_records.pipeline.consumption import marks_of_stop
from kip848_records.replay.commits.consumption import (
    COMMIT,
    TOMBSTONE,
    consumption_stops,
)
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import StoppedPartition
from kip848_records.replay.worker import replay_batches
from tests.protocol.plain_decoder import plain_decode
from tests.protocol.samples import read_capture, usual_record
from tests.replay.log_batches import CAPTURES, cut, group_rows, log_batch

Row = dict[str, Any]

COVERAGE = {number: PartitionCoverage(((0, 1 << 40),), last_offset=(1 << 40) - 1) for number in range(8)}
SCHEMA = pa.schema(
    [
        ("what", pa.int32()),
        ("at_offset", pa.int64()),
        ("committed", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("offsets_partition", pa.int32()),
        ("number", pa.int64()),
        ("mark", pa.string()),
    ]
)
PARTITION = ("group_id", "topic", "partition")
ORDER = ("offsets_partition", "number", "at_offset", "what")


def stops(rows: Iterable[Row], coverage: dict[int, PartitionCoverage] | None = None, size: int = 7) -> list[Row]:
    """The rows of `consumption_stop` of commits and marks, in batches of a few rows."""
    numbers: dict[tuple[Any, ...], int] = {}
    numbered = [
        row | {"number": numbers.setdefault(tuple(row[name] for name in PARTITION), len(numbers))} for row in rows
    ]
    every = chain.from_iterable(marks_of_stop(row) if "kind" in row else [row] for row in numbered)
    ordered = sorted(every, key=lambda row: [row[name] for name in ORDER])
    batch = pa.RecordBatch.from_pylist([{name: row.get(name) for name in SCHEMA.names} for row in ordered], SCHEMA)
    found = consumption_stops(COVERAGE if coverage is None else coverage, cut(batch, size))
    return list(chain.from_iterable(each.to_pylist() for each in found))


@cache
def of_capture(name: str) -> list[Row]:
    (capture,) = (path for path in CAPTURES if path.name == name)
    records = list(read_capture(capture))
    inputs = ReplayInputs("kafka", None, COVERAGE, offset_commits=True)
    batches = replay_batches(inputs, [log_batch(group_rows(records))])
    stopped = [row for kind, batch in batches if kind is StoppedPartition for row in batch.to_pylist()]
    topics = json.loads((capture / "topics.json").read_text())
    commits = []
    for record in records:
        if record["key"][:2] in {b"\0\0", b"\0\1"}:
            kind = usual_record(record["key"])
            key = plain_decode(kind.key_layout, record["key"][2:])
            commit = {"offsets_partition": record["partition"], "group_id": key["group"], "topic": key["topic"]}
            commit |= {"partition": key["partition"], "at_offset": record["offset"], "what": TOMBSTONE}
            commit |= {"timestamp": record["timestamp"] * 1000}
            if record["value"] is not None:
                version = int.from_bytes(record["value"][:2], "big")
                (layout, *_) = kind.value_layouts(version)
                value = plain_decode(layout, record["value"][2:])
                commit |= {"what": COMMIT, "committed": value["offset"]}
            commits.append(commit)
    for row in stopped:
        row["topic"] = row["topic"] or topics[row["topic_id"]]
    return stops(chain(commits, stopped), size=1000)
