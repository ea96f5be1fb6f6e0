"""Tables in which each column of each table takes every extreme value: made of the specs, so that a new column is too.

A scenario is a kind of group, stuck or not: one row in each table, which the reports' joins find. A variant is a group
whose rows are those of a scenario with other values in one column, in all columns of a type, or in all columns.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, NumericType, StructType, TimestampType

from kip848_records.engines.spark.tables import spark_schema
from kip848_records.specs.columns import Column
from kip848_records.tables.registry import DEFAULT, TABLES

KINDS = ("consumer", "classic", "connect", "share", "streams")
CAPTURED = datetime(2026, 11, 21, 8, 20, tzinfo=UTC)
AGO = CAPTURED - timedelta(hours=1)
FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRANGE = (
    "\x00\x1b[31m\r\n\t\x7f\x85 \"'`' '' \\' $$ :group %s {} %n {state} <script>alert('1')</script> & [a](b) | # @a "
    "\u202eabc \u2066\u200b \u2028 100 % \U0001f4a9 e\u0301 \u4e2d\u6587"
)
TEXTS = ("", "x" * 3_000, _STRANGE)
BYTES = (b"", b"\x00\xff" * 3, b"\x00\x03\x7f\xff", b"\x00\x03\x00\x01a")
NUMBERS = {"smallint": 15, "int": 31, "bigint": 63}
STATES = ("Empty", "Assigning", "Reconciling", "Stable", "NotReady", "unknown")
VALID: dict[str, tuple[str, ...]] = {
    "state": (*STATES, "reconciled", "behind", "revoking", "waiting", "away", "unknown", "initialized", "initializing"),
    "group_type": ("consumer", "classic", "share", "streams"),
    "history": ("observed", "left_censored", "right_censored", "censored"),
    "outcome": ("converged", "emptied", "deleted", "downgraded", "upgraded", "open", "unknown"),
    "status": ("open", "reconciled", "left", "superseded", "converged", "acquired", "removed", "unknown"),
    "last_state": ("behind", "revoking", "waiting", "away", "reconciled", "unknown"),
    "role": ("active", "standby", "warmup"),
    "protocol_type": ("consumer", "connect"),
    "mode": ("eager", "cooperative", "unknown"),
    "cause": ("created", "emptied", "downgraded", "member_left", "follow_up", "members_changed", "unknown"),
    "reason": ("worker_left", "delay"),
    "direction": ("upgrade", "downgrade"),
    "left_how": ("left", "upgraded", "group_deleted"),
    "kind": ("two_owners", "record_not_loadable", "epoch_went_back", "revoked", "back", "ahead", "lost"),
    "record": ("ConsumerGroupPartitionMetadata", "ConsumerGroupMetadata"),
    "ended_by": ("next_generation", "emptied"),
    "transaction": ("none", "committed", "aborted"),
}
"""Values that texts of the reports name, by column; others only have `TEXTS`. Kinds are these alone."""
_FIXED = {("log", "run"), ("audit_runs", "run"), ("audit_runs", "table_versions"), ("audit_runs", "is_archived")}
"""What stays as it is: the run names the versions that belong together, and an archive is checked on request only."""

Row = dict[str, Any]


@dataclass
class Group:
    """A variant: its scenario, its group id, and the values that differ, by table and column."""

    kind: str
    is_open: bool
    group_id: str
    changes: dict[tuple[str, str], Any] = field(default_factory=dict)


def values(name: str, kind: DataType) -> list[Any]:
    """Return the extreme values of a type, and the valid texts of a column; null is the last one."""
    text = kind.simpleString()
    if isinstance(kind, ArrayType):
        items = values(name, kind.elementType)
        return [[], [None], *([item] for item in items), [*items, *items[:1]], None]
    if isinstance(kind, StructType):
        base = {each.name: plain(each.name, each.dataType, is_open=True) for each in kind}
        found = [base | {each.name: value} for each in kind for value in values(each.name, each.dataType)]
        return [dict.fromkeys(base), *found, None]
    if isinstance(kind, MapType):
        keys, items = values(name, kind.keyType)[:-1], values(name, kind.valueType)
        return [[], *([(key, item)] for key, item in product(keys[:2], items)), None]
    if text in NUMBERS:
        return [0, -1, -(2 ** NUMBERS[text]), 2 ** NUMBERS[text] - 1, None]
    of_type = {
        "string": (*(() if name == "group_type" else TEXTS), *VALID.get(name, ())),
        "boolean": (False, True),
        "timestamp": (FIRST, EPOCH, LAST),
        "binary": BYTES,
        "double": (0.0, -1.0, 1.7e308, -1.7e308, 5e-324),
    }
    return [*of_type[text], None]


def plain(name: str, kind: DataType, *, is_open: bool) -> Any:
    """Return the value of a column in a scenario."""
    if isinstance(kind, ArrayType):
        return [plain(name, kind.elementType, is_open=is_open)]
    if isinstance(kind, StructType):
        return {each.name: plain(each.name, each.dataType, is_open=is_open) for each in kind}
    if isinstance(kind, MapType):
        return [(plain(name, kind.keyType, is_open=is_open), plain(name, kind.valueType, is_open=is_open))]
    named = (_OPEN if is_open else _DONE) | _ALWAYS
    if name in named:
        return named[name]
    if name.endswith("_ms"):
        return 60_000
    of_type = {"string": f"a {name}", "boolean": False, "timestamp": AGO, "binary": BYTES[3], "double": 1.5}
    return of_type.get(kind.simpleString(), 1)


_ALWAYS: Row = {
    "incarnation": 0,
    "partition": 1,
    "offsets_partition": 1,
    "member_id": "m",
    "leader": "m",
    "leader_id": "m",
    "generation": 4,
    "began_offset": 10,
    "converted": 1,
    "topic": "orders",
    "topic_id": "o",
    "topics": "orders",
    "error_code": "value_malformed",
    "is_base": True,
    "wanted": True,
    "has_changelogs": True,
    "standby_replicas": 1,
    "dialect": "kafka",
    "run": 1,
    "is_archived": False,
}
_OPEN: Row = {
    "history": "right_censored",
    "outcome": "open",
    "status": "open",
    "to_at": None,
    "ended_at": None,
    "left_at": None,
    "left_offset": None,
    "reconciled_at": None,
    "last_state": "revoking",
    "ended_by": None,
    "reason": "worker_left",
    "from_member": "m",
    "to_member": None,
    "owner": None,
    "cause": "member_left",
    "mode": "eager",
    "direction": "upgrade",
    "role": "active",
    "kind": "two_owners",
}
_DONE: Row = {
    "history": "observed",
    "outcome": "converged",
    "status": "acquired",
    "cause": "member_left",
    "mode": "eager",
    "direction": "downgrade",
    "role": "active",
    "kind": "two_owners",
    "left_how": "left",
}


@cache
def _scenario(table: str, kind: str, *, is_open: bool) -> Row:
    """Return the row of a table in a scenario, without a group id."""
    row = {each.name: plain(each.name, each.dataType, is_open=is_open) for each in spark_schema(TABLES[table])}
    is_classic = kind in {"classic", "connect"}
    own: Row = {"group_type": "classic" if is_classic else kind}
    own["protocol_type"] = "connect" if kind == "connect" else "consumer"
    own["connector"], own["subtopology_id"] = ("sink", None) if kind == "connect" else (None, "0")
    if table in {"group_state", "group_state_timeline"}:
        own["state"] = "Stable" if is_classic or kind == "share" or not is_open else "Reconciling"
        own["group_epoch"] = own["assignment_epoch"] = None if is_classic else 3
        own["generation"] = 4 if is_classic else None
    if table == "share_partition_state":
        own["state"] = "initialized" if is_open else "initializing"
    if table == "member_state_timeline":
        own |= {"state": "revoking" if is_open else "reconciled", "to_at": None}
    if table == "membership" and not is_open:
        own |= {"left_at": None, "left_offset": None}
    if table == "commit_progress":
        own["owner"] = "member"  # in other tables, an owner that is not there
    if table == "epoch_timeline":
        own["status"] = "open" if is_open else "converged"
    if table == "rebalance_lag":
        own["status"] = "open" if is_open else "reconciled"
    return row | {name: value for name, value in own.items() if name in row}


_OF_GROUPS = [name for name, spec in DEFAULT.items() if any(each.name == "group_id" for each in spec.columns)]
_OF_GROUPS.remove("log")  # the reports only look for its newest run
_OF_KINDS = {
    "classic_generation": ("classic", "connect"),
    "classic_member": ("classic",),
    "connect_assignment": ("connect",),
    "share_partition_state": ("share",),
    "task_handover": ("connect", "streams"),
    "ownership": ("share", "streams"),
    "rebalance_lag": ("consumer", "share", "streams"),
    "epoch_timeline": ("consumer", "share", "streams"),
}
_COMMITS = "offset_commit"
_TABLES = {name: TABLES[name] for name in (*DEFAULT, _COMMITS)}
RUNS, PARTITIONS, EMPTY, DELETED, VARIED = "runs", "partitions", "empty", "deleted", "varied"
TIMES = {"untimed": None, "first": FIRST, "last": LAST}
"""Clusters by their times of capture."""
_SEEDS = 20
_MEASURES = (NumericType, TimestampType)
"""Of a group that is not stuck, only these vary alone: the reports say little about it."""


def variants() -> list[Group]:
    """Return the scenarios, and each with other values: groups with their own ids."""
    return [*_variants()]


def write(out: Path, groups: Sequence[Group]) -> None:
    """Write the tables, with these variants as the groups of the cluster `VARIED`.

    Other clusters: one for each extreme value of `audit_runs`, of `partition_history` (all in one), and of the time of
    the capture; one whose groups are all deleted, and one without rows.
    """
    rows = {name: _varied_rows(name, groups) for name in _TABLES}
    for name in _TABLES:
        for cluster in (PARTITIONS, *TIMES, DELETED):
            if cluster != DELETED or name != "group_state":
                rows[name] += [row | {"cluster": cluster} for row in _group_rows(name, _scenarios())]
    rows["partition_history"] += [_history() | {"cluster": cluster} for cluster in (DELETED, *TIMES)]
    rows["partition_history"] += [row | {"cluster": PARTITIONS} for row in _single_rows("partition_history")]
    run = _run()
    rows["audit_runs"] += [run | {"cluster": name} for name in (PARTITIONS, EMPTY, DELETED)]
    rows["audit_runs"] += [run | {"cluster": cluster, "captured_at": at} for cluster, at in TIMES.items()]
    varied = [run | row for row in _single_rows("audit_runs", run)]
    rows["audit_runs"] += [row | {"cluster": f"{RUNS} {nth}"} for nth, row in enumerate(varied)]
    for name in _TABLES:
        deltalake.write_deltalake(str(out / name), _table(name, rows[name]), partition_by=["cluster"])


def varied_tables(groups: Sequence[Group]) -> dict[str, pa.Table]:
    """Return the tables of the cluster `VARIED`, with these variants as its groups."""
    return {name: _table(name, _varied_rows(name, groups)) for name in _TABLES}


def _varied_rows(name: str, groups: Sequence[Group]) -> list[Row]:
    """Return the rows of a table in the cluster `VARIED`."""
    if name == "audit_runs":
        rows = [_run()]
    elif name == "partition_history":
        rows = [_history()]
    elif name in _OF_GROUPS:
        rows = [*_group_rows(name, groups)]
    else:
        rows = [*_numbered(name, _single_rows(name))]
    return [row | {"cluster": VARIED} for row in rows]


def _history() -> Row:
    columns = TABLES["partition_history"].columns
    return {each.name: plain(each.name, _type(each.type), is_open=True) for each in columns}


def _run() -> Row:
    run = {each.name: plain(each.name, each.dataType, is_open=True) for each in spark_schema(TABLES["audit_runs"])}
    return run | {"captured_at": CAPTURED, "table_versions": [(name, 0) for name in _TABLES]}


def _table(name: str, rows: Sequence[Row]) -> pa.Table:
    schema = _TABLES[name].schema
    columns = [pa.array([row[each.name] for row in rows], each.type) for each in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _scenarios() -> list[Group]:
    return [Group(kind, is_open, f"{kind} {is_open}") for kind, is_open in product(KINDS, (True, False))]


def _variants() -> Iterator[Group]:
    for of in _scenarios():
        tables = [name for name in _OF_GROUPS if _has(name, of)]
        columns = [(name, each) for name in tables for each in _TABLES[name].columns if _is_varied(name, each)]
        yield of
        alone = [(name, each) for name, each in columns if of.is_open or isinstance(_type(each.type), _MEASURES)]
        changed = [{(name, each.name): value} for name, each in alone for value in _values(each)]
        changed += [*_everywhere(columns)]
        changed += [*_together(columns)]
        changed += [
            {(name, each.name): dice.choice(_values(each)) for name, each in columns}
            for dice in map(random.Random, range(_SEEDS))
        ]
        yield from (Group(of.kind, of.is_open, f"{of.group_id} {nth}", each) for nth, each in enumerate(changed))
        # One group at most has an empty id.
        yield from (Group(of.kind, of.is_open, f"{text}{of.group_id}") for text in TEXTS if text)
    yield Group("consumer", is_open=True, group_id="")


def _everywhere(columns: Iterable[tuple[str, Column]]) -> Iterator[dict[tuple[str, str], Any]]:
    """Yield the values of a column in all tables that have it, so that rows of the group still meet."""
    by_name: dict[tuple[str, str], list[tuple[str, Column]]] = defaultdict(list)
    for name, each in columns:
        by_name[each.name, str(each.type)].append((name, each))
    for alike in (each for each in by_name.values() if len(each) > 1):
        for value in _values(alike[0][1]):
            yield {(name, each.name): value for name, each in alike if value is not None or not each.required}


def _together(columns: Iterable[tuple[str, Column]]) -> Iterator[dict[tuple[str, str], Any]]:
    """Yield the values of all columns of a type, then of all columns: the first of each, the second of each ..."""
    by_type: dict[str, list[tuple[str, Column]]] = defaultdict(list)
    for name, each in columns:
        by_type[type(_type(each.type)).__name__].append((name, each))
    for alike in (*by_type.values(), [*columns]):
        for nth in range(max(len(_values(each)) for _, each in alike)):
            yield {(name, each.name): _values(each)[nth % len(_values(each))] for name, each in alike}


def _single_rows(name: str, base: Row | None = None) -> Iterator[Row]:
    """Yield rows of a table without groups: one value differs in each."""
    columns = _TABLES[name].columns
    base = base or {each.name: plain(each.name, from_arrow_type(each.type), is_open=True) for each in columns}
    yield base
    for each in columns:
        if _is_varied(name, each):
            yield from (base | {each.name: value} for value in _values(each))


def _numbered(name: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows; a producer has one open transaction in a partition."""
    for nth, row in enumerate(rows):
        yield row | {"producer_id": nth} if name == "open_transaction" and row["producer_id"] == 1 else row


def _group_rows(name: str, groups: Iterable[Group]) -> Iterator[Row]:
    if name in _OF_GROUPS:
        for group in groups:
            if _has(name, group):
                changed = {column: value for (table, column), value in group.changes.items() if table == name}
                row = _scenario(name, group.kind, is_open=group.is_open)
                row = {**row, "group_id": group.group_id, **changed}
                if "is_measured" in row and (row["duration_ms"] is None or row["duration_ms"] < 0):
                    row["is_measured"] = False  # unknown, or a clock went back
                yield row


_type = cache(from_arrow_type)


def _has(table: str, group: Group) -> bool:
    return table not in _OF_KINDS or group.kind in _OF_KINDS[table]


def _is_varied(table: str, column: Column) -> bool:
    return column.name not in {"cluster", "group_id"} and (table, column.name) not in _FIXED


@cache
def _values(column: Column) -> list[Any]:
    """Return the values of a column; a column that is required is never null."""
    found = values(column.name, _type(column.type))
    return found[:-1] if column.required else found
