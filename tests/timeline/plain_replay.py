"""The rules of the timelines once more, one record at a time: what the Spark code is compared with.

Records are the dicts of `tests.dump_log`. Nothing here is shared with the package.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]
Row = dict[str, Any]
GROUP_TYPES = {2, 3, 4, 5, 6, 7, 8, 16}


class Group:
    """One incarnation of a group id."""

    def __init__(self, key: Row, incarnation: int) -> None:
        self.key = {**key, "incarnation": incarnation}
        self.latest: dict[tuple[int, Any], Record] = {}  # present value by (type, member id); tombstoned ones are gone
        self.assignments: list[Record] = []
        self.epochs: dict[int, Row] = {}
        self.start_epoch: int | None = None

    def apply(self, record: Record) -> None:
        kind, value = record["type"], record["value"]
        slot = (kind, record["key"].get("memberId") or record["key"].get("regularExpression"))
        self.latest.pop(slot, None)
        if value is None:
            return
        self.latest[slot] = record
        if kind == 3:
            self.latest.pop((2, None), None)
            fresh = {
                **self.key,
                "group_epoch": value["epoch"],
                "group_type": "consumer",
                "bumped_at": record["timestamp"],
            }
            fresh |= {"bump_offset": record["offset"], "members": len(self.members()), "ended": False}
            self.epochs.setdefault(value["epoch"], fresh)
        if kind == 6:
            self.assignments.append(record)
        if kind == 8 and value["memberEpoch"] >= 0:
            self.start_epoch = max(value["memberEpoch"], self.start_epoch or 0)

    def members(self) -> list[str]:
        return [member for kind, member in self.latest if kind == 5]

    def value(self, kind: int, member: str | None = None) -> Any:
        return self.latest.get((kind, member), {}).get("value")

    def report(self, *, complete: bool) -> Row:
        if (classic := self.value(2)) is not None:
            count = len(classic["members"])
            row = {
                "group_type": "classic",
                "state": "Stable" if count else "Empty",
                "generation": classic["generation"],
            }
            return row | {"group_epoch": None, "assignment_epoch": None, "members": count, "members_away": 0}
        bumped = (self.value(3) or {}).get("epoch")
        assigned = (self.value(6) or {}).get("assignmentEpoch")
        start = self.start_epoch if complete and assigned is None else None
        group_epoch = start if bumped is None else bumped
        assignment_epoch = start if assigned is None else assigned
        current = [self.value(8, member) or {} for member in self.members()]
        converged = [c for c in current if c.get("state") == 0 and c["memberEpoch"] == assignment_epoch]
        if (bumped is None and assigned is not None) or (assigned is None and not complete):
            state = "unknown"
        elif not current:
            state = "Empty"
        elif bumped is not None and (assigned is None or bumped > assigned):
            state = "Assigning"
        elif any("memberEpoch" in c and c["state"] is None for c in current):
            state = "unknown"
        else:
            state = "Stable" if len(converged) == len(current) else "Reconciling"
        row = {"group_type": "consumer", "state": state, "generation": None, "members": len(current)}
        away = sum(c.get("memberEpoch") == -2 for c in current)
        return row | {"group_epoch": group_epoch, "assignment_epoch": assignment_epoch, "members_away": away}

    def end_epochs(self, state: str | None, at: int | None, epoch_then: int | None) -> None:
        """Ends every epoch that is under way; a state of None is the end of the log."""
        for epoch, row in self.epochs.items():
            if row["ended"]:
                continue
            later = epoch_then is not None and epoch_then > epoch
            stable = "superseded" if later else "converged"
            left = "superseded" if later else "open"
            row["status"] = {"Dead": "deleted", "Empty": "emptied", "Stable": stable, None: left}[state]
            row["superseded_by"] = epoch_then if row["status"] == "superseded" else None
            answers = [a["timestamp"] for a in self.assignments if a["value"]["assignmentEpoch"] >= epoch]
            row["assigned_at"] = answers[0] if answers else None
            row["converged_at"] = at if state == "Stable" else None
            lags = {
                "assign_lag_ms": _minus(row["assigned_at"], row["bumped_at"]),
                "reconcile_lag_ms": _minus(row["converged_at"], row["assigned_at"]),
                "rebalance_lag_ms": _minus(row["converged_at"], row["bumped_at"]),
            }
            row.update(lags, ended=True, clock_skew=any(lag is not None and lag < 0 for lag in lags.values()))


def replay(records: Iterable[Record], complete_from: Mapping[int, int]) -> tuple[list[Row], list[Row], list[Row]]:
    """Returns the rows of epoch_timeline, of last_states, and the state at the end of every operation."""
    logs: dict[tuple[int, str], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r["partition"], r["offset"])):
        if record["type"] in GROUP_TYPES:
            logs[record["partition"], record["key"].get("groupId", record["key"].get("group"))].append(record)
    epochs, lasts, states = [], [], []
    for (partition, group_id), log in logs.items():
        key = {"partition": partition, "group_id": group_id}
        groups, judged = _replay_group(key, log, complete_from.get(partition))
        epochs += [{name: row[name] for name in row if name != "ended"} for g in groups for row in g.epochs.values()]
        states += judged
        lasts += [judged[-1]] if judged[-1]["state"] != "Dead" else []
    return epochs, lasts, states


def _replay_group(key: Row, log: list[Record], complete_from: int | None) -> tuple[list[Group], list[Row]]:
    groups, judged = [Group(key, 0)], []
    run, since = None, None

    def judge(record: Record, row: Row) -> None:
        nonlocal run, since
        group = groups[-1]
        phase = "unconverged" if row["state"] in {"Assigning", "Reconciling"} else row["state"]
        now = (group.key["incarnation"], row.get("group_type"), phase)
        run, since = now, (since if now == run else record["timestamp"])
        judged.append({**group.key, **row, "offset": record["offset"], "since": since})
        if row["state"] in {"Dead", "Empty", "Stable"}:
            group.end_epochs(row["state"], record["timestamp"], row.get("group_epoch"))

    for record, following in zip(log, [*log[1:], None], strict=True):
        groups[-1].apply(record)
        ends = following is None or (following["offset"], following["timestamp"]) != (
            record["offset"] + 1,
            record["timestamp"],
        )
        gone = record["value"] is None and (record["type"] == 3 or (record["type"] == 2 and ends))
        if gone:
            judge(record, {"state": "Dead"})
        elif ends:
            complete = complete_from is not None and record["offset"] >= complete_from
            judge(record, groups[-1].report(complete=complete))
        if record["type"] == 3 and record["value"] is None:
            groups.append(Group(key, len(groups)))
    for group in groups:
        group.end_epochs(None, None, (group.value(3) or {}).get("epoch"))
    return groups, judged


def _minus(end: int | None, start: int | None) -> int | None:
    return None if end is None or start is None else end - start
