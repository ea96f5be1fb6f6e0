"""The rows that the replay emits. A row's fields are the columns of its table: without the cluster, `history` last.

`specs/` says what each column means. Times are ms since 1970 (UTC), lists are tuples, structs in them are tuples too.
"""

from __future__ import annotations

from collections import namedtuple
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.specs.tables import (
    ANOMALY,
    AWAITED_PARTITION,
    BLOCKER,
    CLASSIC_GENERATION,
    CLASSIC_MEMBER,
    CLUSTER,
    CONNECT_ASSIGNMENT,
    DIAGNOSIS,
    EPOCH_TIMELINE,
    FOUND_JUMP,
    FOUND_PROGRESS,
    FOUND_STOP,
    GROUP_MIGRATION,
    GROUP_OUTLINE,
    GROUP_STATE,
    GROUP_STATE_TIMELINE,
    HISTORY,
    LATEST_STATE,
    MEMBER_ASSIGNMENT,
    MEMBER_STATE_TIMELINE,
    MEMBERSHIP,
    OWNED_PARTITION,
    OWNERSHIP,
    PARTITION_HANDOVER,
    PRESENT_BLOCKER,
    QUARANTINE,
    REBALANCE,
    REBALANCE_LAG,
    RECORDED_TOPIC_NAME,
    REFUSED_RECORD,
    REGEX_RESOLUTION,
    SHARE_PARTITION_STATE,
    STOPPED_PARTITION,
    TASK_HANDOVER,
    UNKNOWN_RECORD,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kip848_records.specs.columns import TableSpec

    Row = Any
    """A named tuple of one of the classes."""

OFFSETS_PARTITION: Final = "offsets_partition"
"""The partition of `__consumer_offsets` where `partition` is that of a topic or a task."""

_AT_THE_END: Final = ("is_proven", "known_bug", "releases")
"""Columns of `anomaly` that are known at the end of a group only, as `history` is."""

_PRESENT: Final = {"incarnation": "context.incarnation if incarnation is None else incarnation"}

_TYPES: dict[type[Any], pa.StructType] = {}
_TABLES: dict[str, type[Any]] = {}


def row_type(row_class: type[Any]) -> pa.StructType:
    """Return the Arrow type of a class of rows, all columns nullable."""
    return _TYPES[row_class]


def row_class(name: str, spec: TableSpec) -> type[Any]:
    """Return a class of named tuples for the rows of a table."""
    return _TABLES.setdefault(spec.name, _class(name, [spec.schema.field(column) for column in _names(spec)]))


def table_of(row_class: type[Any]) -> str:
    """Return the table of a class of rows."""
    return next(name for name, each in _TABLES.items() if each is row_class)


def row_writer(spec: TableSpec, *absent: str, **parts: Sequence[str]) -> Callable[..., None]:
    """Return a function that takes the replay's context and columns by name, and keeps a row until the group's end.

    The function takes neither columns that are known at the group's end, nor `group_id`, nor the partition of
    `__consumer_offsets`, nor those that are `absent`: null, because only other kinds of groups have them. `incarnation`
    is the present one by default. A wrong name raises TypeError.

    `parts`: by argument, the columns that it has as a tuple. Python passes more than 14 arguments by name in a dict,
    which takes longer than all else that is done for a row.

    It also takes, behind the context, the offset of the first record that the row depends on. `end`: that of the last
    one, the operation's latest by default. `has_end`: the subject of the row has ended. `extra`: see `history`. A row
    in `Context.rows` is the table's name, the fields but for `history`, and these four.
    """
    names = [name for name in _names(spec) if name != HISTORY.name]
    known = {OFFSETS_PARTITION if OFFSETS_PARTITION in names else "partition": "context.partition"}
    known |= {"group_id": "context.group_id", **dict.fromkeys((*_AT_THE_END, *absent), "None")}
    given = [name for name in names if name not in {*known, *chain(*parts.values())}]
    fields = ", ".join((known | _PRESENT).get(name, name) for name in names)
    given = [f"{name}=None" if name in _PRESENT else name for name in given]
    return _function(
        f"context, begin, *, {', '.join([*parts, *given])}, end=None, has_end=True, extra=()",
        *(f"{', '.join(columns)}, = {part}" for part, columns in parts.items()),
        "_rows = context.rows.rows",
        "_last = context.operation.last if end is None else end",
        f"_rows.append(({spec.name!r}, ({fields}), begin, _last, has_end, extra))",
        "if len(_rows) >= context.limit: context.rows.write()",
    )


def new_struct(struct: pa.StructType) -> Callable[..., tuple[Any, ...]]:
    """Return a function that takes the fields of a struct by name, and returns them in order."""
    return _function(f"*, {', '.join(struct.names)}", f"return {', '.join(struct.names)},")


def _function(parameters: str, *lines: str) -> Callable[..., Any]:
    """Compile a function, as `namedtuple` does: nothing else that takes names is as fast, for millions of rows."""
    made: dict[str, Callable[..., Any]] = {}
    exec("\n    ".join((f"def function({parameters}):", *lines)), made)  # noqa: S102 - names of columns
    return made["function"]


def _names(spec: TableSpec) -> list[str]:
    """Return the fields of a row. `history` is last, because it is added to the others."""
    names = [column.name for column in spec.columns if column.name != CLUSTER.name]
    return sorted(names, key=HISTORY.name.__eq__)


def _class(name: str, fields: Iterable[pa.Field]) -> type[Any]:
    kind = pa.struct([field.with_nullable(True) for field in fields])  # noqa: FBT003
    made: type[Any] = namedtuple(name, kind.names)  # type: ignore[misc]  # noqa: PYI024 - made of a spec
    _TYPES[made] = kind
    return made


Epoch: Final = row_class("Epoch", EPOCH_TIMELINE)
RebalanceLag: Final = row_class("RebalanceLag", REBALANCE_LAG)
AwaitedPartition: Final = _class("AwaitedPartition", AWAITED_PARTITION)
PartitionHandover: Final = row_class("PartitionHandover", PARTITION_HANDOVER)
TaskHandover: Final = row_class("TaskHandover", TASK_HANDOVER)
OwnershipInterval: Final = row_class("OwnershipInterval", OWNERSHIP)
SharePartitionState: Final = row_class("SharePartitionState", SHARE_PARTITION_STATE)
GroupStateInterval: Final = row_class("GroupStateInterval", GROUP_STATE_TIMELINE)
GroupState: Final = row_class("GroupState", GROUP_STATE)
Rebalance: Final = row_class("Rebalance", REBALANCE)
Blocker: Final = _class("Blocker", BLOCKER)
PresentBlocker: Final = _class("PresentBlocker", PRESENT_BLOCKER)
MemberStateInterval: Final = row_class("MemberStateInterval", MEMBER_STATE_TIMELINE)
Membership: Final = row_class("Membership", MEMBERSHIP)
MemberAssignment: Final = row_class("MemberAssignment", MEMBER_ASSIGNMENT)
RegexResolution: Final = row_class("RegexResolution", REGEX_RESOLUTION)
Anomaly: Final = row_class("Anomaly", ANOMALY)
RefusedRecord: Final = row_class("RefusedRecord", REFUSED_RECORD)
ClassicGeneration: Final = row_class("ClassicGeneration", CLASSIC_GENERATION)
ClassicMember: Final = row_class("ClassicMember", CLASSIC_MEMBER)
ConnectAssignment: Final = row_class("ConnectAssignment", CONNECT_ASSIGNMENT)
GroupMigration: Final = row_class("GroupMigration", GROUP_MIGRATION)
Diagnosis: Final = row_class("Diagnosis", DIAGNOSIS)
GroupOutline: Final = row_class("GroupOutline", GROUP_OUTLINE)
LatestState: Final = row_class("LatestState", LATEST_STATE)
Quarantine: Final = row_class("Quarantine", QUARANTINE)
UnknownRecord: Final = row_class("UnknownRecord", UNKNOWN_RECORD)
StoppedPartition: Final = row_class("StoppedPartition", STOPPED_PARTITION)
FoundProgress: Final = row_class("FoundProgress", FOUND_PROGRESS)
FoundJump: Final = row_class("FoundJump", FOUND_JUMP)
FoundStop: Final = row_class("FoundStop", FOUND_STOP)
OwnedPartition: Final = row_class("OwnedPartition", OWNED_PARTITION)
TopicName: Final = row_class("TopicName", RECORDED_TOPIC_NAME)

ROW_CLASSES: Final = dict(_TABLES)
"""The classes of the rows that a worker returns, by table."""
