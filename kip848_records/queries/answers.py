"""What answers for programs hold: their columns, and the JSON Schema of what `--json` prints of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.queries.questions import questions
from kip848_records.specs.columns import BIGINT, BOOLEAN, STRING, TIMESTAMP, Column
from kip848_records.specs.tables import DIAGNOSIS, GROUP_ID, REBALANCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.specs.columns import TableSpec

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = {pa.types.is_string: "string", pa.types.is_boolean: "boolean", pa.types.is_integer: "integer"} | {
    pa.types.is_floating: "number",
    pa.types.is_timestamp: "string",
}
_VALUES: Final[Mapping[str, Sequence[str]]] = {
    "event": ("rebalance_finished", "trouble_began", "trouble_ended"),
    "outcome": ("converged", "emptied", "deleted", "downgraded", "upgraded"),
    "severity": ("error", "warning", "info"),
}
"""All values of a column; a pattern or a cause may be one that a later version knows."""

_SUBJECT: Final = Column(
    "subject",
    STRING,
    "Whom or what the trouble is about: an instance id, else a client id, a member id, or a word of the pattern. Null: "
    "the whole group",
)
_HOST: Final = Column("client_host", STRING, "Host of the subject's client; null: it has several hosts, or none")


def _columns(spec: TableSpec, *names: str) -> Iterator[Column]:
    """Yield columns of a table."""
    by_name = {column.name: column for column in spec.columns}
    yield from (by_name[name] for name in names)


def _of_some(spec: TableSpec, *names: str) -> Iterator[Column]:
    """Yield columns of the table that has some events; those of the others have null there."""
    what = {REBALANCE.name: "Rebalances", DIAGNOSIS.name: "Troubles"}[spec.name]
    for column in _columns(spec, *names):
        yield replace(column, comment=f"{what}: {column.comment[0].lower()}{column.comment[1:]}", required=False)


ANSWERS: Final[Mapping[str, Sequence[Column]]] = {
    "diagnosis": (
        *_columns(DIAGNOSIS, "severity", "group_id", "pattern", "probable_cause"),
        *(_SUBJECT, _HOST),
        *_columns(DIAGNOSIS, "is_present", "count", "at_least", "first_seen", "last_seen", "recognized_at", "ended_at"),
        *_columns(DIAGNOSIS, "cost_share", "sentence", "next_step"),
    ),
    "events": (
        Column("event", STRING, "What happened", required=True),
        Column(
            "at",
            TIMESTAMP,
            "When it could be known: a rebalance ended, a trouble was recognized, or nothing of it had come for too "
            "long (UTC)",
            required=True,
        ),
        *_columns(DIAGNOSIS, "group_id", "incarnation", "partition"),
        *_of_some(REBALANCE, "outcome"),
        Column("began_at", TIMESTAMP, "When the rebalance began, or the first event of the trouble came (UTC)"),
        Column("ended_at", TIMESTAMP, "When it ended (UTC); null: the trouble is present"),
        *_of_some(REBALANCE, "duration_ms", "duration_is_minimum"),
        Column("causes", STRING, "Rebalances: distinct causes of its epochs, in their order, with commas between"),
        *_of_some(REBALANCE, "members", "unowned_ms"),
        Column(
            "worst_blocker",
            STRING,
            "Rebalances: client id of the member that blocked it most; Connect: URL of the worker that left most "
            "connectors and tasks behind",
        ),
        *_of_some(DIAGNOSIS, "pattern", "probable_cause", "severity", "explained_by"),
        *(_SUBJECT, _HOST),
        *_of_some(DIAGNOSIS, "sentence"),
    ),
    "lost_time": (
        GROUP_ID,
        Column("pattern", STRING, "Pattern of the troubles that caused the loss; null: the other rebalances"),
        *(_SUBJECT, _HOST),
        Column("is_present", BOOLEAN, "Whether one of these troubles lasts at the capture", required=True),
        Column("rebalances", BIGINT, "How many rebalances it began; null: the pattern begins none"),
        Column(
            "partition_seconds",
            BIGINT,
            "For how long partitions had no owner that a member was to have: ten for a second are ten. No time is in "
            "two rows",
            required=True,
        ),
        Column(
            "is_minimum", BOOLEAN, "Whether a part of it is not known, or began before the history does", required=True
        ),
        Column("empty_seconds", BIGINT, "For how long the group had no member, in s; null: not known"),
    ),
}
"""The columns of the answers that have a schema, by the name of the question."""


def json_schema(question: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a line that `kip848 query DIR QUESTION --json` prints.

    Each line has every property. Another one may come with a later version, so the schema does not refuse it.
    """
    columns = ANSWERS[question]
    return {
        "$schema": _DIALECT,
        "title": f"kip848 query DIR {question} --json",
        "description": f"A line of the answer to: {questions()[question].words}",
        "type": "object",
        "required": [column.name for column in columns],
        "properties": {column.name: _property(column) for column in columns},
    }


def _property(column: Column) -> dict[str, Any]:
    kind = next(name for is_kind, name in _TYPES.items() if is_kind(column.type))
    found: dict[str, Any] = {"description": column.comment, "type": kind if column.required else [kind, "null"]}
    if column.name in _VALUES:
        found["enum"] = [*_VALUES[column.name], *([] if column.required else [None])]
    return found | ({"format": "date-time"} if pa.types.is_timestamp(column.type) else {})
