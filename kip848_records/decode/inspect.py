"""The records of a log as JSON, in their order, for `kip848 inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.decode.records import records_as_json
from kip848_records.protocol.columns import JSON_COLUMNS
from kip848_records.protocol.messages import KAFKA
from kip848_records.queries.texts import literal
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.predicates import IS_UNREAD, key_of_types
from kip848_records.sources.transactions import with_outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.engines.engine import Engine, Relation

_ORDER: Final = "ORDER BY found.partition, found.offset"
_SHOWN: Final = {"partition", "offset", "timestamp", "error"}
_UNREAD: Final = ", ".join(f"log.{name}" if name in _SHOWN else f"NULL AS {name}" for name in JSON_COLUMNS.names)
# The conditions cover the columns of both selections: so Spark sees the same rows in both, and reads them once.
# `control` is never empty, and a type of keys has two bytes.
_SAME: Final = f" AND log.key_type IS DISTINCT FROM {1 << 16}"
_ALL: Final = f"""
SELECT found.*, unix_millis(found.timestamp) AS timestamp_ms FROM (
SELECT * FROM {{rows}}
UNION ALL
SELECT {_UNREAD} FROM {{log}} AS log
WHERE {IS_UNREAD} AND log.file IS NULL AND log.control IS DISTINCT FROM ''{{same}}
) AS found {_ORDER}
"""  # noqa: S608 - constants


def inspect_log(  # noqa: PLR0913 - what to select
    engine: Engine,
    log: Relation,
    *,
    dialect: str = KAFKA.name,
    group: str | None = None,
    types: Sequence[int] = (),
    limit: int | None = None,
) -> Relation:
    """Return the records of log rows as JSON (`JSON_COLUMNS`, and `timestamp_ms`), by partition and offset.

    `group`, `types` and `limit` select records. Rows that the source could not read (`IS_UNREAD`) are always included,
    as errors; `limit` does not count them. If a group is selected, records without a known group are
    included too, and `limit` is ignored: the caller counts the records of the group.
    """
    resolved = drop_copies(engine, with_outcomes(engine, log))
    conditions = [f"(log.error IS NULL OR NOT {IS_UNREAD})", *([key_of_types(types)] if types else [])]
    read = engine.sql(f"SELECT log.* FROM {{log}} AS log WHERE {' AND '.join(conditions)}", log=resolved)  # noqa: S608
    rows = records_as_json(engine, read, dialect)
    if group is not None:
        is_wanted = f"found.group_id = {literal(group)} OR found.group_id IS NULL"
        rows = engine.sql(f"SELECT * FROM {{rows}} AS found WHERE {is_wanted}", rows=rows)  # noqa: S608
    elif limit is not None:
        rows = engine.sql(f"SELECT * FROM {{rows}} AS found {_ORDER} LIMIT {limit}", rows=rows)  # noqa: S608
    return engine.sql(_ALL.replace("{same}", _SAME if types else ""), rows=rows, log=resolved)
