"""The records of the log that decide which offset of a key was committed at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar import Error
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.protocol.decoded_rows import reason
from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.messages import DIALECTS
from kip848_records.protocol.schema import NO_UUID
from kip848_records.queries.tables import named_rows
from kip848_records.queries.texts import rendered
from kip848_records.sources.predicates import IS_OFFSET_COMMIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.queries.tables import Row, Run, Tables

_KEYS: Final = "report/offsets/sql/offsets_of_keys.sql"
_PARTITIONS: Final = "report/offsets/sql/offsets_partitions.sql"
_ROLES: Final = {
    "then_offset": "then",
    "last_offset": "last",
    "pending_offset": "pending",
    "removed_offset": "removed",
}


class Key(NamedTuple):
    """A partition of a topic for which a group commits."""

    group_id: str
    topic: str
    partition: int


class Commit(NamedTuple):
    """A record of a key.

    `place`: its offset in the log. `committed`: the offset that it commits, a negative one for none; None for a
    tombstone. `topic_id`: None if the record has none. `at_ms`: its time, in ms since 1970. `error`: why it cannot be
    read; None for all others.
    """

    place: int
    committed: int | None
    topic_id: str | None
    at_ms: int | None
    producer_id: int | None
    transaction: str | None
    error: str | None


@dataclass
class KeyHistory:
    """The records of a key that matter for a time; None if there is none.

    `log_partition`: the partition of the log. `then`: the last one that counted then. `last`: the last one of all that
    counts. `pending`: the last one in a transaction that was open then. `removed`: the last tombstone since then.
    """

    key: Key
    log_partition: int
    then: Commit | None = None
    last: Commit | None = None
    pending: Commit | None = None
    removed: Commit | None = None

    @property
    def had_offset(self) -> bool:
        """Whether an offset was committed then, as far as the log shows."""
        return self.then is not None and self.then.committed is not None and self.then.committed >= 0


class Scope(NamedTuple):
    """The run over a cluster that is asked, and the time: in ms since 1970, None for the end of the log.

    `group`, `partition`: a group and its partition of the log; None: all.
    """

    tables: Tables
    run: Run
    at_ms: int | None
    group: str | None = None
    partition: int | None = None

    def rows(self, text: str) -> pa.Table:
        """Return the answer to a query about this scope."""
        named = {} if self.group is None else {"group": self.group, "partition": self.partition}
        return self.tables.arrow(text, self.run.cluster, at=self.at_ms, **named)


def partitions(scope: Scope) -> dict[int, Row]:
    """Return what is known of the partitions of the log at the scope's time."""
    found = scope.rows(rendered(_PARTITIONS, of_group=scope.group is not None))
    return {row.partition: row for row in named_rows(found)}


def histories(scope: Scope, topics: Collection[str] = ()) -> list[KeyHistory]:
    """Return the histories of the keys of a scope, or of those of some topics; those whose key cannot be read are not.

    The keys are those that have a record of any time.
    """
    text = rendered(
        _KEYS,
        of_group=scope.group is not None,
        topics=[_in_key(topic) for topic in topics],
        is_offset_commit=IS_OFFSET_COMMIT.replace("key_type", "log.key_type"),
    )
    rows = scope.rows(text)
    found: dict[tuple[int, Key], KeyHistory] = {}
    for row, key, commit in _decoded(rows, scope.run.dialect):
        history = found.setdefault((row["partition"], key), KeyHistory(key, row["partition"]))
        for column, role in _ROLES.items():
            if row[column] == commit.place and _counts_more(commit, getattr(history, role)):
                setattr(history, role, commit)
    return [*found.values()]


def _counts_more(commit: Commit, known: Commit | None) -> bool:
    """Return whether a commit is later than another of the same key, or one copy holds what another could not read.

    The two types of offset commits name the same key, in other bytes.
    """
    if known is None or commit.place > known.place:
        return True
    return commit.place == known.place and known.error is not None


def _in_key(topic: str) -> str:
    name = topic.encode()
    return (len(name).to_bytes(2, "big") + name).hex().upper()


def _decoded(rows: pa.Table, dialect: str) -> Iterable[tuple[dict[str, Any], Key, Commit]]:
    keys, values = (rows[name].combine_chunks().cast(pa.binary()) for name in ("key", "value"))
    named = _fields(keys, pa.nulls(len(keys), pa.binary()), dialect)
    committed = _fields(keys, values, dialect)
    failed = decode_records(keys, values, DIALECTS[dialect])
    reasons = {row: reason(failed, row) for row in np.flatnonzero(failed.errors != Error.NONE).tolist()}
    for number, row in enumerate(rows.drop_columns(["key", "value"]).to_pylist()):
        if number not in named:
            continue
        topic, partition, _, _ = named[number]
        _, _, offset, topic_id = committed.get(number, named[number])
        yield (
            row,
            Key(row["group_id"], topic, partition),
            Commit(
                row["record_offset"],
                offset,
                None if topic_id == NO_UUID else topic_id,
                row["at_ms"],
                row["producer_id"],
                row["transaction"],
                row["error_code"] or reasons.get(number),
            ),
        )


def _fields(keys: pa.Array, values: pa.Array, dialect: str) -> dict[int, tuple[str, int, int | None, str | None]]:
    """Return topic, partition, offset and topic id of the rows that decode, by their numbers."""
    found: dict[int, tuple[str, int, int | None, str | None]] = {}
    for group in decode_records(keys, values, DIALECTS[dialect]).groups:
        if group.record.table != OFFSET_COMMIT_TABLE:
            continue
        nothing = [None] * len(group.rows)
        offsets, ids = (
            nothing if group.value is None else group.value.field(name).to_pylist() for name in ("offset", "topic_id")
        )
        names = (group.key.field(name).to_pylist() for name in ("topic", "partition"))
        found |= zip(group.rows.tolist(), zip(*names, offsets, ids, strict=True), strict=True)
    return found
