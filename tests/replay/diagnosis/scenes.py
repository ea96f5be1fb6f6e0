"""Labelled logs of Kafka's own coordinator under simulated clients, as the rows that the patterns read of each group.

`scenes/NAME.json.xz` has them, with what really happened to each group (`labels`). They are packed from the tables of
an audit by ``python -m tests.replay.diagnosis.scenes TABLES EXPECT NAME``, where EXPECT has a label a line, as JSON.
"""

import json
import lzma
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import astuple, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.limits import DEFAULTS
from kip848_records.replay.diagnosis.observed import Gap, Generation, ObservedRows, Owned, Rebalance, Resolution
from kip848_records.replay.rows import ROW_CLASSES

FOLDER = Path(__file__).parent / "scenes"
TABLES = (
    *("membership", "rebalance", "member_state_timeline", "partition_handover", "epoch_timeline", "regex_resolution"),
    *("classic_generation", "classic_member", "group_migration", "group_state", "task_handover"),
)
STAY = (
    *("member_id", "instance_id", "client_id", "client_host", "server_assignor", "rebalance_timeout_ms"),
    *("session_timeout_ms", "topics", "regex", "joined_at", "joined_offset", "joined_how", "left_at", "left_offset"),
    *("left_how", "returned", "away_ms", "history", "group_type", "incarnation", "partition"),
)
BLOCKER = ("member_id", "client_id", "client_host", "instance_id", "revoke_ms")
_OF_OWNED = ("begin", "end", "settled_from", "settled_to")
UNSETTLED = ("member_id", "state", "from_at", "from_offset", "is_classic", "group_type", "history")
MIGRATION = ("offset", "at", "direction", "to_type")
ORDERS = {
    "membership": lambda row: (row.left_offset is None, row.left_offset or 0),
    "classic_member": lambda row: (row.incarnation, row.generation),
    "classic_generation": lambda row: row.offset,
    "member_state_timeline": lambda row: row.from_offset,
    "regex_resolution": lambda row: row.offset,
    "epoch_timeline": lambda row: row.bump_offset,
}
"""The order in which the replay emits the rows of a table, where it matters."""


class Scene(NamedTuple):
    """The groups of a log, and their labels; `group_id` of a label is None if it is about several groups."""

    groups: dict[str, GroupHistory]
    labels: list[dict[str, Any]]
    captured_at: int


Clock = Callable[[int], int]
"""What a broker's clock says at a time."""


def scene(name: str, clock: Clock | None = None) -> Scene:
    """Return a scene of the folder; `clock`: as its brokers would have written it."""
    clock = clock or (lambda at: at)
    packed = json.loads(lzma.decompress((FOLDER / f"{name}.json.xz").read_bytes()))
    newest = {int(partition): at for partition, at in packed["newest"].items()}
    groups = {}
    for group_id, rows in packed["groups"].items():
        partition = rows["stays"][0][-1]
        groups[group_id] = GroupHistory(
            _observed(rows, clock),
            clock(packed["captured_at"]),
            DEFAULTS,
            partition=partition,
            partition_last_at=clock(newest[partition]),
            newest_at=max(map(clock, newest.values())),
        )
    return Scene(groups, packed["labels"], packed["captured_at"])


def _observed(packed: dict[str, Any], clock: Clock) -> ObservedRows:
    rows = ObservedRows()
    member = [f"member-{number}" for number in range(packed["members"])].__getitem__
    _add_members(rows, packed, member, clock)
    for values in packed["rebalances"]:
        row = _timed(Rebalance(*values), clock, "began_at", "ended_at")
        revoked = tuple(
            SimpleNamespace(**dict(zip(BLOCKER, [member(each[0]), *each[1:]], strict=True))) for each in row.revoked
        )
        rows.rebalances.append(row._replace(trigger_member_ids=tuple(map(member, row[6])), revoked=revoked))
    for values in packed["generations"]:
        rows.generations.append(_timed(Generation(*values), clock, "joined_at", "completed_at", "ended_at"))
    rows.sizes.extend((clock(at), size) for at, size in packed["sizes"])
    for regex, offset, at, _, topics in packed["resolutions"]:
        rows.resolutions.add(regex, _timed(Resolution(offset, at, None, frozenset(topics)), clock, "at"))
    for number, begin, end, *gap in packed["gaps"]:
        rows.gaps[member(number), clock(begin), clock(end)] = Gap(*gap)
    for each in packed["migrations"]:
        migration = SimpleNamespace(**dict(zip(MIGRATION, each, strict=True)))
        migration.at = None if migration.at is None else clock(migration.at)
        rows.migrations.append(migration)
    if packed["state"] is not None:
        rows.state = SimpleNamespace(state=packed["state"], known_since=None)
    return rows


def _add_members(rows: ObservedRows, packed: dict[str, Any], member: Callable[[int], str], clock: Clock) -> None:
    empty = dict.fromkeys(ROW_CLASSES["membership"]._fields)
    for values in packed["stays"]:
        stay = ROW_CLASSES["membership"](**empty | dict(zip(STAY, [member(values[0]), *values[1:]], strict=True)))
        rows.add(_timed(stay, clock, "joined_at", "left_at"))
    for number, *values in packed["owned"]:
        owned = Owned(member(number), *(tuple(each) if isinstance(each, list) else each for each in values))
        rows.owned.add(owned.member_id, replace(owned, **_times(owned, clock, *_OF_OWNED)))
    for number, _, _, place, topics in packed["subscriptions"]:
        rows.subscriptions.add(member(number), Resolution(0, None, tuple(place), frozenset(topics)))
    for each in packed["unsettled"]:
        state = SimpleNamespace(**dict(zip(UNSETTLED, [member(each[0]), *each[1:]], strict=True)))
        state.from_at = None if state.from_at is None else clock(state.from_at)
        rows.unsettled.append(state)


def _timed(row: Any, clock: Clock, *names: str) -> Any:
    return row._replace(**_times(row, clock, *names))


def _times(row: Any, clock: Clock, *names: str) -> dict[str, int]:
    return {name: clock(at) for name in names if isinstance(at := getattr(row, name), int)}


def pack(tables: str, expected: str, name: str) -> None:
    """Write a scene of an audit's tables."""
    from deltalake import DeltaTable  # noqa: PLC0415 - only here

    groups: dict[str, ObservedRows] = defaultdict(ObservedRows)
    for table in TABLES:
        rows_of = DeltaTable(f"{tables}/{table}").to_pyarrow_table()
        made = [ROW_CLASSES[table](*values) for values in zip(*_columns(rows_of, table), strict=True)]
        for row in sorted(made, key=ORDERS.get(table, lambda _: 0)):
            if table == "group_state":
                groups[row.group_id].state = row
            else:
                groups[row.group_id].add(row)
    history = DeltaTable(f"{tables}/partition_history").to_pyarrow_table()
    at = {column: _millis(history[column]) for column in ("last_at", "captured_at")}
    packed = {
        "captured_at": max(at["captured_at"]),
        "newest": dict(zip(history["partition"].to_pylist(), at["last_at"], strict=True)),
        "labels": [json.loads(line) for line in Path(expected).read_text(encoding="utf-8").splitlines()],
        "groups": {group_id: _packed(rows) for group_id, rows in groups.items() if rows.stays},
    }
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(packed, separators=(",", ":"))
    (FOLDER / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _packed(rows: ObservedRows) -> dict[str, Any]:
    """Return the rows of a group, with numbers for member ids: these are random, and most of the bytes."""
    numbers: dict[str, int] = {}

    def number(member_id: str) -> int:
        return numbers.setdefault(member_id, len(numbers))

    def fields(row: Any, names: tuple[str, ...]) -> list[Any]:
        return [getattr(row, name) for name in names]

    rebalances = [
        row._replace(
            trigger_member_ids=[number(each) for each in row.trigger_member_ids or ()],
            revoked=[[number(each.member_id), *fields(each, BLOCKER[1:])] for each in row.revoked],
        )
        for row in rows.rebalances
    ]
    packed = {
        "stays": [[number(row.member_id), *fields(row, STAY[1:])] for row in rows.stays],
        "rebalances": rebalances,
        "generations": list(rows.generations),
        "sizes": list(rows.sizes),
        "owned": [[number(each.member_id), *astuple(each)[1:]] for each in rows.owned.values()],
        "resolutions": [[key, *each[:3], sorted(each.topics)] for key, each in rows.resolutions.items()],
        "subscriptions": [[number(key), *each[:3], sorted(each.topics)] for key, each in rows.subscriptions.items()],
        "gaps": [[number(member_id), begin, end, *gap] for (member_id, begin, end), gap in rows.gaps.items()],
        "migrations": [fields(row, MIGRATION) for row in rows.migrations],
        "unsettled": [[number(row.member_id), *fields(row, UNSETTLED[1:])] for row in rows.unsettled],
        "state": None if rows.state is None else rows.state.state,
    }
    return packed | {"members": len(numbers)}


def _columns(rows: pa.Table, table: str) -> list[list[Any]]:
    found = [
        _millis(rows[name]) if pa.types.is_timestamp(rows[name].type) else rows[name].to_pylist()
        for name in ROW_CLASSES[table]._fields
    ]
    if table == "rebalance":
        place = ROW_CLASSES[table]._fields.index("blockers")
        found[place] = [[SimpleNamespace(**each) for each in blockers or ()] for blockers in found[place]]
    if table == "classic_generation":
        place = ROW_CLASSES[table]._fields.index("unapplied")
        found[place] = [_unapplied(members or ()) for members in found[place]]
    return found


def _unapplied(members: Iterable[dict[str, Any]]) -> list[Any]:
    """Return a value of `unapplied` as the replay has it."""
    return [
        (each["member_id"], *([tuple(t.values()) for t in each[of]] for of in ("kept", "missing"))) for each in members
    ]


def _millis(column: pa.ChunkedArray) -> list[int | None]:
    return pc.divide(column.cast(pa.int64()), 1000).to_pylist()


if __name__ == "__main__":
    pack(*sys.argv[1:])
