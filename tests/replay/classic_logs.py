"""Classic groups of real brokers, replayed from the bytes of their records.

`classic/` has the records of the classic groups of three more captures of Kafka 4.3.1 (`group-kinds`: eager,
cooperative and static groups, and a migration up and down; `connect`: two Connect workers, one of which is killed;
`streams-not-ready`: a leader whose assignor sleeps), and what an admin client was told of them, several times a second.
"""

import gzip
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import ROW_CLASSES
from kip848_records.replay.worker import replay_batches
from tests.protocol.samples import read_capture
from tests.replay.log_batches import CAPTURES, group_rows, log_batch

FOLDER = Path(__file__).parent / "classic"
END = 1 << 40
CAPTURED_AT = 1_795_700_000_000

Tables = dict[str, list[dict[str, Any]]]


@cache
def batch_of(name: str) -> pa.RecordBatch:
    """The log rows of a capture, sorted by group."""
    for capture in CAPTURES:
        if capture.name == name:
            return log_batch(group_rows(read_capture(capture)))
    (batch,) = pq.read_table(FOLDER / f"{name}.parquet").combine_chunks().to_batches()
    return batch


def tables_of(
    batch: pa.RecordBatch,
    complete_from: int = 0,
    captured_at: int = CAPTURED_AT,
    ranges: Sequence[tuple[int, int]] | None = None,
    **known: Any,
) -> Tables:
    """The rows of a log by table, in the order of the replay; times in ms. `ranges`: the complete ones, if several."""
    coverage = PartitionCoverage(tuple(ranges or [(complete_from, END)]), last_offset=END - 1, **known)
    inputs = ReplayInputs("kafka", captured_at, dict.fromkeys(range(50), coverage))
    names = {row_class: name for name, row_class in ROW_CLASSES.items()}
    found: Tables = {name: [] for name in ROW_CLASSES}
    for row_class, rows in replay_batches(inputs, [batch]):
        found[names[row_class]] += map(_in_ms, rows.to_pylist())
    return found


@cache
def tables(name: str) -> Tables:
    return tables_of(batch_of(name))


def rows_of(name: str, table: str, group_id: str, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of a group's rows in a capture."""
    return chosen(tables(name)[table], group_id, *columns)


def chosen(rows: Iterable[dict[str, Any]], group_id: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in rows if row["group_id"] == group_id]


@cache
def admin_answers(name: str) -> list[dict[str, Any]]:
    """What `Admin.describeClassicGroups` and `describeConsumerGroups` answered between `t0` and `t1`."""
    with gzip.open(FOLDER / f"{name}-admin.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _in_ms(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_ms(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_in_ms(item) for item in value]
    return round(value.timestamp() * 1000) if hasattr(value, "timestamp") else value
