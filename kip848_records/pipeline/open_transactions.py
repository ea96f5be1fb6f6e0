"""The rows of `open_transaction`: offset commits whose transaction has no marker by the end of the log.

Only they are decoded, and there are few. What their transaction blocks is one more pass over the log.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE, PLACE, TIMES
from kip848_records.protocol.decoded_rows import typed_records
from kip848_records.queries.texts import rendered
from kip848_records.sources.predicates import IS_OFFSET_COMMIT, IS_READABLE, IS_RECORD
from kip848_records.specs.columns import STRINGS
from kip848_records.specs.tables import OPEN_TRANSACTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.replay.inputs import ReplayInputs

_PRODUCER: Final = ("partition", "producer_id")
_FOUND: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("first_offset", pa.int64()),
        ("first_at", TIMES),
        ("last_offset", pa.int64()),
        ("last_at", TIMES),
        ("records", pa.int64()),
        ("group_ids", STRINGS),
        ("keys", OPEN_TRANSACTION.type_of("keys")),
        ("is_doubtful", pa.bool_()),
    ]
)
_PARTITIONS: Final = pa.schema([("partition", pa.int32()), ("captured_at", TIMES), ("last_lost_offset", pa.int64())])


def pending_commits(engine: Engine, commits: Relation) -> Relation:
    """Return the log rows of offset commits in open transactions.

    `commits`: log rows with offset commits and markers that count, their transactions resolved. A source without
    markers has no open transaction here.
    """
    text = rendered("pipeline/sql/pending_commits.sql", is_readable=IS_READABLE, is_commit=IS_OFFSET_COMMIT)
    return engine.sql(text, commits=commits)


def open_transactions(engine: Engine, log: Relation, pending: Relation, inputs: ReplayInputs) -> Relation:
    """Return rows of `specs.tables.OPEN_TRANSACTION` without the cluster.

    `log`: all records. `pending`: those of `pending_commits`.
    """
    work = partial(transactions_of, inputs.dialect)
    found = engine.map_sorted(work, pending, _FOUND, key=_PRODUCER, order=("offset",))
    found = engine.materialize(found, "open-transactions")
    text = rendered("pipeline/sql/open_transactions.sql", is_record=IS_RECORD)
    return engine.sql(text, found=found, log=log, partitions=engine.relation(known_partitions(inputs)))


def transactions_of(dialect: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the open transactions of pending offset commits, which come one producer after another, in log order.

    A commit that does not decode counts as a record. Its key is in quarantine.
    """
    rows = chain.from_iterable(_with_keys(dialect, batch) for batch in batches)
    for _, theirs in groupby(rows, key=itemgetter(*_PRODUCER)):
        yield pa.RecordBatch.from_pylist([_transaction(theirs)], _FOUND)


def _with_keys(dialect: str, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch with the fields of their keys, and the offset that they commit."""
    decoded = typed_records(OFFSET_COMMIT_TABLE, dialect, [batch.select([*PLACE, "transaction", "key", "value"])])
    commits = {(row["partition"], row["offset"]): row for part in decoded for row in part.to_pylist()}
    for row in batch.drop_columns(["key", "value"]).to_pylist():
        yield row | {"commit": commits.get((row["partition"], row["offset"]))}


def _transaction(rows: Iterator[dict[str, Any]]) -> dict[str, Any]:
    first = last = next(rows)
    count, is_doubtful, keys = 0, False, dict[tuple[str, str, int], int]()
    for last in chain([first], rows):  # there may be hundreds of thousands, of few keys
        count += 1
        is_doubtful |= last["transaction"] == "unknown"
        if (commit := last["commit"]) is not None:
            keys[commit["group"], commit["topic"], commit["key_partition"]] = commit["value_offset"]
    named = [(*key, keys[key]) for key in sorted(keys)]
    return {
        "offsets_partition": first["partition"],
        "producer_id": first["producer_id"],
        "producer_epoch": last["producer_epoch"],
        "first_offset": first["offset"],
        "first_at": first["timestamp"],
        "last_offset": last["offset"],
        "last_at": last["timestamp"],
        "records": count,
        "group_ids": sorted({group for group, _, _ in keys}),
        "keys": [dict(zip(("group_id", "topic", "partition", "offset"), key, strict=True)) for key in named],
        "is_doubtful": is_doubtful,
    }


def known_partitions(inputs: ReplayInputs) -> pa.Table:
    """Return up to when each partition is known, and the offset of the last record that was lost there."""
    rows = [
        {
            "partition": partition,
            "captured_at": None if (ms := inputs.captured_at_of(partition)) is None else ms * 1000,
            "last_lost_offset": covered.last_loss,
        }
        for partition, covered in inputs.partitions.items()
    ]
    return pa.Table.from_pylist(rows, _PARTITIONS)
