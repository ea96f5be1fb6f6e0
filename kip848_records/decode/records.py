"""Log rows -> typed records, records as JSON, and the rows that did not decode: the rules, for either engine.

The engine drops unneeded rows before Python sees them; functions get Arrow batches and decode them as columns.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kip848_records.protocol.columns import (
    CHECKED_COLUMNS,
    FAILURE_COLUMNS,
    JSON_COLUMNS,
    OFFSET_COMMIT_TABLE,
    PLACE,
    record_columns,
)
from kip848_records.protocol.decoded_rows import checked_commits as commits_checked
from kip848_records.protocol.decoded_rows import failures, json_records, typed_records
from kip848_records.protocol.messages import DIALECTS
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.sources.predicates import (
    IS_OF_UNKNOWN_TYPE,
    IS_OFFSET_COMMIT,
    IS_RECORD,
    IS_UNREAD,
    KEY_ENDS_AFTER_GROUP,
    MAY_DECODE,
    key_of_types,
)
from kip848_records.sources.transactions import with_outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.engines.engine import Engine, Relation

_UNDECODED: Final = f"""
SELECT {", ".join(f"log.{name}" for name in PLACE)}, log.key, log.value, log.error_code, log.error AS reason,
    CAST(NULL AS int) AS position
FROM {{log}} AS log WHERE {IS_UNREAD}
UNION ALL
SELECT * FROM {{failed}} AS failed
"""  # noqa: S608 - constants


def records_of_table(engine: Engine, log: Relation, table: str, dialect: str) -> Relation:
    """Return the records of a table from log rows (`record_columns`); rows that do not decode are skipped."""
    transaction = []
    if table == OFFSET_COMMIT_TABLE:
        log, transaction = with_outcomes(engine, log), ["transaction"]
    condition = f"{IS_RECORD} AND {key_of_types(record.key_type for record in DIALECTS[dialect].of_table(table))}"
    if table == GROUP_CONFIGURATION.table:  # workers need not read the other records of its type
        condition += f" AND {KEY_ENDS_AFTER_GROUP}"
    rows = _selected(engine, log, (*PLACE, *transaction, "key", "value"), condition)
    return engine.map(partial(typed_records, table, dialect), rows, record_columns(table))


def checked_commits(engine: Engine, commits: Relation, dialect: str) -> Relation:
    """Return the offset commits among log rows as `CHECKED_COLUMNS`: those that do not decode have an `error_code`."""
    columns = (*PLACE, "transaction", "producer_id", "key", "value")
    rows = _selected(engine, commits, columns, f"{IS_RECORD} AND {IS_OFFSET_COMMIT}")
    return engine.map(partial(commits_checked, dialect), rows, CHECKED_COLUMNS)


def records_as_json(engine: Engine, log: Relation, dialect: str) -> Relation:
    """Return the records among log rows as the JSON that Kafka's tools print (`JSON_COLUMNS`), unordered."""
    rows = _selected(engine, log, (*PLACE, "transaction", "key", "value"), MAY_DECODE)
    return engine.map(partial(json_records, dialect), rows, JSON_COLUMNS)


def undecoded(engine: Engine, log: Relation, dialect: str) -> Relation:
    """Return the log rows that could not be read, or did not decode, with the reasons (`FAILURE_COLUMNS`)."""
    readable = _selected(engine, log, (*PLACE, "key", "value"), f"{MAY_DECODE} AND NOT {IS_OF_UNKNOWN_TYPE}")
    failed = engine.map(partial(failures, dialect), readable, FAILURE_COLUMNS)
    return engine.sql(_UNDECODED, log=log, failed=failed)


def records_of_unknown_types(engine: Engine, log: Relation) -> Relation:
    """Return the records whose key has a type that this version does not know (`UNKNOWN_COLUMNS`)."""
    return _selected(engine, log, (*PLACE, "key_type", "key", "value"), f"{IS_RECORD} AND {IS_OF_UNKNOWN_TYPE}")


def _selected(engine: Engine, log: Relation, columns: Iterable[str], condition: str) -> Relation:
    named = ", ".join(f"log.{name}" for name in columns)
    return engine.sql(f"SELECT {named} FROM {{log}} AS log WHERE {condition}", log=log)  # noqa: S608 - constants
