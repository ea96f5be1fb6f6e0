"""The stops of consumption in a capture, by a plain loop over its offset commits."""

import json
from functools import cache
from typing import Any

from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import StoppedPartition
from kip848_records.replay.worker import replay_batches
from tests.protocol.plain_decoder import plain_decode
from tests.protocol.samples import read_capture, usual_record
from tests.replay.log_batches import CAPTURES, group_rows, log_batch

Row = dict[str, Any]
Commits = list[tuple[int, int, int | None]]

COVERAGE = {number: PartitionCoverage(((0, 1 << 40),), last_offset=(1 << 40) - 1) for number in range(8)}
PARTITION = ("group_id", "topic", "partition")


@cache
def of_capture(name: str) -> list[Row]:
    """Rows of `consumption_stop`: the columns that show which stop it is, and what only commits say of it."""
    (capture,) = (path for path in CAPTURES if path.name == name)
    records = list(read_capture(capture))
    inputs = ReplayInputs("kafka", None, COVERAGE, offset_commits=True)
    batches = replay_batches(inputs, [log_batch(group_rows(records))])
    stopped = [row for kind, batch in batches if kind is StoppedPartition for row in batch.to_pylist()]
    topics = json.loads((capture / "topics.json").read_text())
    commits: dict[tuple[Any, ...], Commits] = {}
    for record in records:
        if record["key"][:2] in {b"\0\0", b"\0\1"}:
            kind = usual_record(record["key"])
            key = plain_decode(kind.key_layout, record["key"][2:])
            committed = None
            if record["value"] is not None:
                (layout, *_) = kind.value_layouts(int.from_bytes(record["value"][:2], "big"))
                committed = plain_decode(layout, record["value"][2:])["offset"]
            place = (key["group"], key["topic"], key["partition"])
            commits.setdefault(place, []).append((record["offset"], record["timestamp"], committed))
    for row in stopped:
        row["topic"] = row["topic"] or topics[row["topic_id"]]
    found = (with_progress(row, commits.get(tuple(row[name] for name in PARTITION), [])) for row in stopped)
    return [row for row in found if row is not None]


def with_progress(stop: Row, commits: Commits) -> Row | None:
    """The row of a stop; None if nothing is committed."""
    current = progress_at = last_at = None
    for offset, at, committed in commits:
        if offset > stop["offset"]:
            break
        if committed is None:
            current = None
            continue
        if current is None or committed > current:
            progress_at = at
        current, last_at = committed, at
    if current is None:
        return None
    later = [(at, committed) for offset, at, committed in commits if offset > stop["offset"]]
    removed = next((nth for nth, (_, committed) in enumerate(later) if committed is None), len(later))
    first_at = next((at for at, committed in later[:removed] if committed > current), None)
    columns = ("group_id", "incarnation", "group_type", "topic", "partition", "kind", "offset", "epoch")
    return {name: stop[name] for name in columns} | {
        "last_progress_at": progress_at,
        "first_progress_at": first_at,
        "idle_before_ms": max(0, last_at - progress_at),
        "stop_max_ms": None if first_at is None or first_at < progress_at else first_at - progress_at,
    }
