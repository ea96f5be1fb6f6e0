"""`group_state.blocker` of made-up rows, as the replay finds it from the rows of a group."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from kip848_records.replay.blocker.present import present_blocker
from kip848_records.replay.diagnosis.episodes import Subject
from kip848_records.replay.diagnosis.observed import ObservedRows
from kip848_records.replay.rows import ROW_CLASSES, Blocker

Rows = list[dict[str, Any]]
_READ = ("membership", "member_state_timeline", "rebalance_lag", "task_handover", "connect_assignment")


def with_blockers(tables: dict[str, Rows], empty: dict[str, dict[str, Any]]) -> None:
    """Add the blocker to rows of `group_state` without one. `empty`: what a row of each table does not name."""
    by_group: dict[tuple[Any, ...], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for table in (*_READ, "group_state", "rebalance", "diagnosis"):
        for row in tables.get(table, ()):
            whole = empty[table] | row
            by_group[_key(whole)][table].append(_row(table, whole))
    for row in tables.get("group_state", ()):
        if "blocker" not in row:
            row["blocker"] = _blocker(by_group[_key(empty["group_state"] | row)], row.get("captured_at"))


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["group_id"], row["partition"], row["incarnation"]


def _row(table: str, row: dict[str, Any]) -> Any:
    millis = {
        name: round(value.timestamp() * 1000) if isinstance(value, datetime) else value for name, value in row.items()
    }
    return ROW_CLASSES[table](**{name: millis.get(name) for name in ROW_CLASSES[table]._fields})


def _blocker(rows: Mapping[str, list[Any]], captured_at: datetime | int | None) -> dict[str, Any] | None:
    if all(row.outcome != "open" for row in rows["rebalance"]):
        return None
    rows["connect_assignment"].sort(key=lambda row: (row.incarnation, row.generation))  # as the replay emits them
    observed = ObservedRows()
    for row in (row for table in _READ for row in rows[table]):
        observed.add(row)
    observed.state = next(iter(rows["group_state"]), None)
    ongoing = {}
    for row in (row for row in rows["rebalance"] if row.outcome == "open"):
        blockers = [Blocker(**dict.fromkeys(Blocker._fields) | each) for each in row.blockers or ()]
        of = row._replace(blockers=blockers, trigger_member_ids=row.trigger_member_ids or (), causes=row.causes or ())
        ongoing[row.group_type] = of
    millis = round(captured_at.timestamp() * 1000) if isinstance(captured_at, datetime) else captured_at
    context: Any = SimpleNamespace(ongoing=ongoing, captured_at=millis)
    episodes: Any = [
        SimpleNamespace(
            **row._asdict() | {"subject": Subject(**row.subject or {}), "words": (row.sentence, row.next_step)}
        )
        for row in rows["diagnosis"]
    ]
    found = present_blocker(context, observed, episodes)
    if found is None:
        return None
    since = None if found.since is None else found.since * 1000
    return {**found._asdict(), "since": since}
