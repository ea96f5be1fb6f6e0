"""What `Admin.describe*Groups` answered while groups ran, and what the tables say of the same moments."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.replay.logs import Rows, inputs_of, replayed

KINDS = Path(__file__).parent / "kinds"
_ROLES = ("active", "standby", "warmup")


def read_lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(KINDS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def kinds_records(capture: str) -> list[dict[str, Any]]:
    return read_lines(f"{capture}.records")


@cache
def kinds_rows(capture: str) -> Rows:
    records = kinds_records(capture)
    captured_at = max(record["timestamp"] for record in records) + 1000
    return replayed(records, inputs_of(dict.fromkeys({record["partition"] for record in records}, 0), captured_at))


def samples(capture: str, group_type: str) -> list[dict[str, Any]]:
    return [each for each in read_lines(f"{capture}.admin") if each["type"] == group_type]


def moments(capture: str, sample: dict[str, Any]) -> list[int]:
    """Every time at which the answer may hold: of the last record before the question, and those up to the answer."""
    times = sorted({r["timestamp"] for r in kinds_records(capture) if r["key"]["groupId"] == sample["g"]})
    before = [at for at in times if at < sample["t0"]]
    return [*before[-1:], *(at for at in times if sample["t0"] <= at <= sample["t1"])]


def answer(sample: dict[str, Any]) -> dict[str, Any]:
    """What a sample says, in the form of `told`."""
    if sample["k"] == "list":
        return {"state": sample["state"]}
    if sample["type"] == "Share":
        members = {each["id"]: (each["epoch"], set(each["tp"]), set(), None) for each in sample["members"]}
    else:
        members = {
            each["id"]: (each["epoch"], _owned(each["tasks"]), _owned(each["target"]), each["process"])
            for each in sample["members"]
        }
    return {"state": sample["state"], "epochs": (sample["epoch"], sample["aepoch"]), "members": members}


def told(capture: str, sample: dict[str, Any], at: int) -> dict[str, Any]:
    """What the tables say of the group at a moment: its state, epochs, and members with epoch, tasks and targets."""
    rows = {
        table: [row for row in of_it if row.group_id == sample["g"]] for table, of_it in kinds_rows(capture).items()
    }
    states = _now(rows["GroupStateInterval"], "from_at", "to_at", at)
    if not states:
        return {"state": "gone"}
    ((state, now),) = ((row.state, row.incarnation) for row in states)
    if sample["k"] == "list":
        return {"state": state}
    epoch = max(row.group_epoch for row in rows["Epoch"] if row.bumped_at <= at and row.incarnation == now)
    assigned = [row.group_epoch for row in rows["RebalanceLag"] if row.target_at <= at and row.incarnation == now]
    members = {
        row.member_id: (row.member_epoch, set(), _tasks_of(capture, sample["g"], row.member_id, at), None)
        for row in _now(rows["MemberStateInterval"], "from_at", "to_at", at)
    }
    for row in _now(rows["OwnershipInterval"], "from_at", "to_at", at):
        members[row.member_id][1].add(_unit(row, rows.get("SharePartitionState", [])))
    for member_id, (_, owned, _, _) in members.items():
        # Kafka's answer leaves out what a member must revoke, though it still has it.
        owned.difference_update(_tasks_of(capture, sample["g"], member_id, at, revoked=True))
    for row in _now(rows["Membership"], "joined_at", "left_at", at):
        members[row.member_id] = (*members[row.member_id][:3], row.process_id)
    return {"state": state, "epochs": (epoch, max(assigned, default=1)), "members": members}


def _now(rows: list[Any], begin: str, end: str, at: int) -> list[Any]:
    return [row for row in rows if getattr(row, begin) <= at and (getattr(row, end) is None or at < getattr(row, end))]


def _tasks_of(capture: str, group_id: str, member_id: str, at: int, *, revoked: bool = False) -> set[tuple[str, str]]:
    """A member's target, or the tasks that it must revoke, by its last record: no table holds them."""
    record_type, suffix = (22, "TasksPendingRevocation") if revoked else (21, "Tasks")
    key = {"groupId": group_id, "memberId": member_id}
    records = kinds_records(capture)
    found = [r for r in records if r["type"] == record_type and r["key"] == key and r["timestamp"] <= at]
    value = found[-1]["value"] if found else None
    return {
        (role, f"{each['subtopologyId']}_{number}")
        for role in _ROLES
        for each in (value or {}).get(role + suffix, [])
        for number in each["partitions"]
    }


def _unit(row: Any, states: list[Any]) -> Any:
    """A task in its role, or a partition by its topic's name."""
    if row.topic_id is None:
        return row.role, f"{row.subtopology_id}_{row.partition}"
    return f"{next(each.topic for each in states if each.topic_id == row.topic_id)}-{row.partition}"


def _owned(tasks: dict[str, list[str]]) -> set[tuple[str, str]]:
    return {(role, task) for role in _ROLES for task in tasks[role]}
