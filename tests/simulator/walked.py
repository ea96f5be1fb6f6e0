"""Random walks of groups, replayed from the bytes of their records, beside the truth."""

import pyarrow as pa

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.encoding import encode
from tests.equal_rows import Rows
from tests.replay.classic_logs import tables_of
from tests.replay.log_batches import log_batch

CAPTURED_AFTER_MS = 1_000


def walked(walk, steps):
    """Run a walk; the tables of its log, and its truth by table."""
    rows, captured_at, truth = written(walk, steps)
    return replayed(rows, captured_at), truth


def written(walk, steps, damage=lambda _: None):
    """Run a walk; the rows of its log, when it was captured, and its truth by table. `damage` may change records."""
    walk.run(steps)
    rows, operations = [], list(walk.take_operations())
    damage([record for operation in operations for record in operation.records])
    for operation in operations:
        operation.base_offset = len(rows)
        for record in operation.records:
            key, value = encode(record, KAFKA_4_3)
            place = {"offset": len(rows), "timestamp": operation.timestamp, "group_id": walk.group_id}
            rows.append({"key": key, "value": value, **place})
    captured_at = walk.now + CAPTURED_AFTER_MS
    walk.close(captured_at)
    return rows, captured_at, walk.take()


def replayed(rows, captured_at, ranges=None):
    """The tables of a log of one group."""
    return tables_of(log_batch(rows, pa.schema(LOG_SCHEMA)), captured_at=captured_at, ranges=ranges)


def assert_same(found, true, columns, at_least=0):
    """Compare some columns of rows in any order; `at_least`: how many there are."""
    ours, theirs = (Rows(dict(chosen(row, columns)) for row in rows) for rows in (found, true))
    assert ours == theirs
    assert len(ours) >= at_least


def chosen(row, columns):
    return tuple((name, _plain(row.get(name))) for name in columns)


def _plain(value):
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return tuple(sorted((name, _plain(each)) for name, each in value.items())) if isinstance(value, dict) else value
