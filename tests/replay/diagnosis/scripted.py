"""Scripted groups of the simulator, and their diagnosis by the replay."""

from typing import Any

import pyarrow as pa

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import Diagnosis, GroupOutline
from kip848_records.replay.worker import replay_batches
from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.encoding import encode
from tests.replay.log_batches import log_batch
from tests.simulator.scripted.script import Script

Log = list[dict[str, Any]]
END = 1 << 40
_SCHEMA = pa.schema(LOG_SCHEMA)


def written(group: Script, until: int) -> Log:
    """Run a group up to a time (ms); the rows of its log."""
    group.run_until(until)
    rows: Log = []
    for operation in group.take_operations():
        operation.base_offset = len(rows)
        for record in operation.records:
            key, value = encode(record, KAFKA_4_3)
            place = {"offset": len(rows), "timestamp": operation.timestamp, "group_id": group.group_id}
            rows.append({"key": key, "value": value, **place})
    group.close(until)
    return rows


def compacted(log: Log, end: int) -> tuple[Log, int]:
    """What the cleaner leaves below an offset, and from which offset on the log is complete."""
    last = {row["key"]: row["offset"] for row in log if row["offset"] < end}
    return [row for row in log if row["offset"] >= end or last[row["key"]] == row["offset"]], end


def diagnosed(log: Log, captured_at: int, complete_from: int = 0, newest: int | None = None) -> Log:
    """The rows of `diagnosis` of a log of one group. `newest`: the time of the newest record of all partitions."""
    return [row for kind, row in outcome(log, captured_at, complete_from, newest) if kind is Diagnosis]


def outcome(log: Log, captured_at: int, complete_from: int = 0, newest: int | None = None) -> list[tuple[type, Any]]:
    """The rows of `diagnosis`, and the outline for the comparison with other groups; times in ms."""
    coverage = PartitionCoverage(((complete_from, END),), last_offset=END - 1)
    partitions = {row.get("partition", 0) for row in log}
    times = dict.fromkeys(partitions, newest or captured_at)
    inputs = ReplayInputs("kafka", captured_at, dict.fromkeys(partitions, coverage), newest=times)
    return [
        (kind, _in_ms(row))
        for kind, rows in replay_batches(inputs, [log_batch(log, _SCHEMA)])
        if kind in {Diagnosis, GroupOutline}
        for row in rows.to_pylist()
    ]


def _in_ms(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(v.timestamp() * 1000) if hasattr(v, "timestamp") else v for name, v in row.items()}
