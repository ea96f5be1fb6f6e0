"""Checks that a source is `__consumer_offsets` at all: some key must be one that a group coordinator writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.errors import InputError
from kip848_records.machine.paths import is_file_uri, without_scheme
from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.messages import DIALECTS, RECORDS
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.predicates import IS_READABLE
from kip848_records.sources.registry import KINDS
from kip848_records.sources.source_kind import ReadOptions
from kip848_records.specs.log_columns import TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.sources.listing import Copy

_KEYS: Final = pa.schema([("key", pa.binary())])
_MAY_BE_KNOWN: Final = f"{IS_READABLE} AND key_type IN ({', '.join(map(str, RECORDS))})"
_OF_OTHERS: Final = (ErrorCode.OTHER_TOPIC, ErrorCode.KEY_WITHOUT_TYPE, ErrorCode.KEY_WITHOUT_GROUP)
_HAS_KEY: Final = f"{IS_READABLE} OR error_code IN ({', '.join(repr(code.value) for code in _OF_OTHERS)})"


def check_is_log(engine: Engine, copies: Sequence[Copy]) -> None:
    """Raise InputError for a copy with readable rows, none of which has a key that a group coordinator writes.

    Nothing of such a copy should be written anywhere. A copy without any readable row passes: it is empty or damaged.
    Files on this machine are read up to the first such key, without the engine. A known key has a type in `RECORDS` and
    decodes as that type's key in some dialect, to the last byte.
    """
    for copy in copies:
        if not _has_local_known_key(copy):
            check_rows_are_log(engine, KINDS[copy.format].read(engine, copy, ReadOptions()).rows, copy.name)


def check_rows_are_log(engine: Engine, rows: Relation, name: str) -> None:
    """Check the rows (`COPY_COLUMNS` or more) of a source of this name, by queries that stop at the first match."""
    candidates = engine.sql(f"SELECT key FROM {{rows}} WHERE {_MAY_BE_KNOWN}", rows=rows)  # noqa: S608 - ours
    known = engine.map(known_keys, candidates, _KEYS)
    if engine.collect(engine.sql("SELECT * FROM {known} LIMIT 1", known=known)):
        return
    shown = engine.sql(f"SELECT 1 AS one FROM {{rows}} WHERE {_HAS_KEY} LIMIT 1", rows=rows)  # noqa: S608 - ours
    if engine.collect(shown):
        raise InputError(
            f"{name} has no record with a key that a group coordinator writes",
            f"check that it is `{TOPIC}`: pass a copy of that topic, or the topic itself",
        )


def known_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one known key of each batch that has one."""
    for batch in batches:
        if (key := known_key(batch["key"])) is not None:
            yield pa.RecordBatch.from_arrays([pa.array([key], pa.binary())], ["key"])


def known_key(keys: pa.Array) -> bytes | None:
    """Return one of these keys that decodes as the key of its type; None if none does.

    Keys of groups with an empty id do not count: four bytes of a number may look like such a key.
    """
    values = pa.nulls(len(keys), pa.binary())
    for dialect in DIALECTS.values():
        for group in decode_records(keys, values, dialect).groups:
            names = group.key.field(0).to_pylist()
            found = (row for row, name in zip(group.rows.tolist(), names, strict=True) if name)
            if (row := next(found, None)) is not None:
                key: bytes = keys[row].as_py()
                return key
    return None


def _has_local_known_key(copy: Copy) -> bool:
    """Return whether a file on this machine has a known key; false if the files are elsewhere or unreadable."""
    keys_of = KINDS[copy.format].local_keys
    if keys_of is None or not all(map(is_file_uri, copy.files)):
        return False
    try:
        return any(known_key(keys) is not None for file in copy.files for keys in keys_of(without_scheme(file)))
    except (EOFError, OSError, InputError, KeyError, ValueError):
        return False
