"""The four timelines once more, found in the log alone, one record at a time: what the simulator's truth must equal.

Records are those of `Capture`: dicts of partition, offset, timestamp, type, key and value, all of them, from offset 0.
Nothing here is shared with the package.
"""

from collections import defaultdict
from itertools import pairwise
from typing import Any

Record = dict[str, Any]
Row = dict[str, Any]
CAUSES = ["upgraded", "topic_metadata_changed", "subscription_changed", "static_member_replaced", "member_joined"]
CAUSES += ["member_left", "regex_resolved"]
STABLE, UNREVOKED, UNRELEASED = 0, 1, 2


def replay(records: list[Record], captured_at: int, start_epoch: int) -> dict[str, list[Row]]:
    """The rows of every timeline, in no order."""
    logs: dict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r["partition"], r["offset"])):
        if record["type"] in {2, 3, 4, 5, 6, 7, 8, 16}:
            logs[record["key"].get("groupId", record["key"].get("group"))].append(record)
    rows: dict[str, list[Row]] = defaultdict(list)
    for group_id, log in logs.items():
        Replay(group_id, start_epoch, captured_at, rows).run(log)
    return rows


class Replay:
    """One group id; `latest` has the present values by (type, member id or regular expression)."""

    def __init__(self, group_id: str, start_epoch: int, captured_at: int, rows: dict[str, list[Row]]) -> None:
        self.group_id, self.start_epoch, self.captured_at, self.rows = group_id, start_epoch, captured_at, rows
        self.incarnation = 0
        self.state: Row | None = None
        self.begin()

    def begin(self) -> None:
        self.latest: dict[tuple[int, Any], Any] = {}
        self.epochs: list[Row] = []
        self.lags: list[Row] = []
        self.snapshot: dict[Any, str] | None = None
        self.bumps: list[tuple[int, int]] = []  # those that no assignment has answered
        self.hash: Any = None
        self.owners: dict[Any, str] = {}
        self.free: dict[Any, Row] = {}
        self.member_states: dict[str, tuple[int, int]] = {}

    def run(self, log: list[Record]) -> None:
        operation: list[Record] = []
        for record, following in [*pairwise(log), (log[-1], None)]:
            operation.append(record)
            if following is None or (following["offset"], following["timestamp"]) != (
                record["offset"] + 1,
                record["timestamp"],
            ):
                self.operation(operation)
                operation = []
        self.close()

    def operation(self, operation: list[Record]) -> None:
        self.at, written, self.removed, targets = operation[-1]["timestamp"], set(), {}, []
        self.left_now: list[Row] = []
        self.answered: list[int] = []
        own: list[str] = []
        for record in operation:
            kind, key, value = record["type"], record["key"], record["value"]
            name = key.get("memberId", key.get("regularExpression"))
            written |= self.cause(kind, name, value)
            before = self.latest.pop((kind, name), None)
            if value is not None:
                self.latest[kind, name] = value
            if kind == 3 and value is None:
                self.delete()
            elif kind == 3:
                self.latest.pop((2, None), None)
                self.bump(record, written)
                written = set()
            elif kind == 5 and value is None:
                self.removed[name] = before
                self.leave(name)
            elif kind == 6 and value is not None:
                targets.append(value["assignmentEpoch"])
                self.assign(targets[-1], record["timestamp"])
            elif kind == 8 and value is not None:
                own.append(name)
                self.clock(name, value)
        for epoch, first_bumped_at in zip(targets, self.answered, strict=True):
            for member in self.members():
                self.clock(member, self.current(member))
                self.lags.append(self.lag(epoch, first_bumped_at, member))
        self.hand_over(own)
        self.see_members(own, targets)
        self.judge(operation[-1])

    def members(self) -> list[str]:
        return [name for kind, name in self.latest if kind == 5]

    def current(self, member: str) -> Any:
        return self.latest.get((8, member), {"memberEpoch": None, "state": None})

    def owned(self, member: str) -> set[Any]:
        value = self.latest.get((8, member))
        names = ("assignedPartitions", "partitionsPendingRevocation")
        return set() if value is None else set().union(*(parts(value[name]) for name in names))

    def targets(self) -> dict[str, set[Any]]:
        return {name: parts(value["topicPartitions"]) for (kind, name), value in self.latest.items() if kind == 7}

    # epoch_timeline

    def cause(self, kind: int, name: str, value: Any) -> set[str]:  # noqa: PLR0911 - one return a rule
        if kind == 2 and value is None:
            return {"upgraded"}
        if kind == 4 and value is not None:
            return {"topic_metadata_changed"}
        if kind == 3 and value is not None:
            hashed, before = value.get("metadataHash", 0), self.hash
            self.hash = hashed
            return {"topic_metadata_changed"} if before and hashed and before != hashed else set()
        if kind == 5 and value is None:
            return {"member_left"}
        if kind == 5:
            if (5, name) in self.latest:
                return {"subscription_changed"}
            old = [v for v in self.removed.values() if v["instanceId"] and v["instanceId"] == value["instanceId"]]
            if not old:
                return {"member_joined"}
            same = all(old[0][f] == value[f] for f in ("subscribedTopicNames", "subscribedTopicRegex"))
            return {"static_member_replaced"} if same else {"subscription_changed"}
        return {"regex_resolved"} if kind == 16 else set()

    def bump(self, record: Record, written: set[str]) -> None:
        epoch = record["value"]["epoch"]
        self.bumps.append((epoch, record["timestamp"]))
        if any(row["group_epoch"] == epoch for row in self.epochs):
            return
        self.epochs.append(
            {
                **self.named(),
                "group_epoch": epoch,
                "group_type": "consumer",
                "bumped_at": record["timestamp"],
                "bump_offset": record["offset"],
                "cause": next((cause for cause in CAUSES if cause in written), "unknown"),
                "members": len(self.members()),
                "assigned_at": None,
                "partitions_moved": None,
                "status": None,
            }
        )

    def assign(self, epoch: int, at: int) -> None:
        owners = {}
        for member, target in self.targets().items():
            value = self.latest.get((5, member)) or {}
            owners |= dict.fromkeys(target, value.get("instanceId") or member)
        before = self.snapshot or {}
        moved = sum(before[tp] != owner for tp, owner in owners.items() if tp in before)
        self.snapshot = owners
        for row in self.epochs:
            if row["status"] is None and row["assigned_at"] is None and row["group_epoch"] <= epoch:
                row["assigned_at"], row["partitions_moved"] = at, moved
        self.answered.append(min(self.bumps)[1])
        self.bumps = []
        for row in self.lags:
            if (row["status"] == "open" or row in self.left_now) and row["group_epoch"] < epoch:
                row["superseded"] = True

    def end_epochs(self, status: str | None, at: int | None) -> None:
        last = max((row["group_epoch"] for row in self.epochs), default=None)
        for row in self.epochs:
            if row["status"] is not None:
                continue
            over = status in {"converged", "open"} and row["group_epoch"] < last
            row["status"] = "superseded" if over else status
            row["superseded_by"] = last if over else None
            row["converged_at"] = at if status == "converged" else None
            row["assign_lag_ms"] = minus(row["assigned_at"], row["bumped_at"])
            row["reconcile_lag_ms"] = minus(row["converged_at"], row["assigned_at"])
            row["rebalance_lag_ms"] = minus(row["converged_at"], row["bumped_at"])
            lags = [row["assign_lag_ms"], row["reconcile_lag_ms"], row["rebalance_lag_ms"]]
            row["clock_skew"] = any(lag is not None and lag < 0 for lag in lags)
            row["history"] = "right_censored" if status == "open" else "observed"

    # group_state_timeline

    def judge(self, last: Record) -> None:
        classic = self.latest.get((2, None))
        if classic is not None:
            state = "Stable" if classic["members"] else "Empty"
            return self.enter("classic", state, last)
        if not self.latest:
            return self.enter(None, None, last)
        group_epoch = self.latest.get((3, None), {}).get("epoch", self.start_epoch)
        assignment_epoch = self.latest.get((6, None), {}).get("assignmentEpoch", self.start_epoch)
        members = [self.current(member) for member in self.members()]
        if not members:
            state = "Empty"
        elif group_epoch > assignment_epoch:
            state = "Assigning"
        else:
            settled = all(m["state"] == STABLE and m["memberEpoch"] == assignment_epoch for m in members)
            state = "Stable" if settled else "Reconciling"
        if state == "Empty":
            self.end_epochs("emptied", None)
        if state == "Stable":
            self.end_epochs("converged", self.at)
        return self.enter("consumer", state, last)

    def enter(self, group_type: str | None, state: str | None, last: Record) -> None:
        now = (self.incarnation, group_type, state)
        if self.state and now == (self.state["incarnation"], self.state["group_type"], self.state["state"]):
            return
        self.end_state(self.at)
        if state is not None:
            self.state = {**self.named(), "group_type": group_type, "state": state}
            self.state |= {"from_at": self.at, "from_offset": last["offset"]}

    def end_state(self, at: int | None) -> None:
        if self.state is not None:
            end = self.captured_at if at is None else at
            lasted = {"to_at": at, "duration_ms": end - self.state["from_at"]}
            history = "right_censored" if at is None else "observed"
            self.rows["group_state_timeline"].append({**self.state, **lasted, "history": history})
        self.state = None

    # rebalance_lag

    def lag(self, epoch: int, first_bumped_at: int, member: str) -> Row:
        value = self.latest[5, member]
        return {
            **self.named(),
            "group_epoch": epoch,
            "member_id": member,
            "target_at": self.at,
            "first_bumped_at": first_bumped_at,
            "reconciled_at": None,
            "status": "open",
            "superseded": self.latest[6, None]["assignmentEpoch"] > epoch,
            "lag_ms": None,
            "revoke_ms": 0,
            "wait_ms": 0,
            "blocked_by": set(),
            "awaited": None,
            "instance_id": value["instanceId"],
            "client_id": value["clientId"],
            "client_host": value["clientHost"],
            "history": "observed",
            "clock_skew": False,
        }

    def clock(self, member: str, value: Any) -> None:
        """Ends the time in the state that the member was in, for all its rows."""
        state, since = self.member_states.get(member, (None, self.at))
        self.spend(member, state, self.at - since)
        self.member_states[member] = (value["state"], self.at)

    def spend(self, member: str, state: int | None, ms: int) -> None:
        for row in self.open_lags(member):
            row["revoke_ms"] += ms if state == UNREVOKED else 0
            row["wait_ms"] += ms if state == UNRELEASED else 0

    def open_lags(self, member: str) -> list[Row]:
        return [row for row in self.lags if row["status"] == "open" and row["member_id"] == member]

    def leave(self, member: str) -> None:
        state, since = self.member_states.pop(member, (None, self.at))
        self.spend(member, state, self.at - since)
        for row in self.open_lags(member):
            row["status"] = "left"
            self.left_now.append(row)

    def awaited(self, member: str) -> set[Any]:
        value = self.latest.get((8, member))
        return self.targets().get(member, set()) - (parts(value["assignedPartitions"]) if value else set())

    def blockers(self, member: str) -> set[str]:
        awaited = self.awaited(member)
        return {other for other in self.members() if other != member and self.owned(other) & awaited}

    def see_members(self, own: list[str], targets: list[int]) -> None:
        for member in self.members():
            current = self.current(member)
            for row in self.open_lags(member):
                if current["state"] == UNRELEASED and (member in own or row["group_epoch"] in targets):
                    row["blocked_by"] |= self.blockers(member)
                if member in own and current["state"] == STABLE and current["memberEpoch"] >= row["group_epoch"]:
                    lag = self.at - row["first_bumped_at"]
                    row.update(status="reconciled", reconciled_at=self.at, lag_ms=lag, clock_skew=lag < 0)

    # partition_handover

    def hand_over(self, own: list[str]) -> None:
        members = {member: self.owned(member) for member in [name for kind, name in self.latest if kind == 8]}
        now = {tp: member for member, owned in members.items() for tp in owned}
        wanted = set().union(*self.targets().values())
        for tp, owner in self.owners.items():
            if now.get(tp) != owner:
                self.free.setdefault(tp, {"from_member": owner, "released_at": self.at, "wanted": False})
        for tp, owner in now.items():
            if self.owners.get(tp) != owner:
                nobody = {"from_member": None, "released_at": None, "wanted": False}
                released = self.free.pop(tp, nobody)
                gap = minus(self.at, released["released_at"])
                taken = {"to_member": owner, "acquired_at": self.at, "unowned_ms": gap, "history": "observed"}
                epoch = self.current(owner)["memberEpoch"]
                self.handover(tp, {**released, **taken, "group_epoch": epoch})
        for member in own:
            if self.current(member)["memberEpoch"] == -2:
                for tp in members[member]:
                    self.free[tp] = {"from_member": member, "released_at": self.at, "wanted": False}
        for tp in wanted - now.keys() - self.free.keys():
            self.free[tp] = {"from_member": None, "released_at": None, "wanted": False}
        for tp, released in self.free.items():
            released["wanted"] |= tp in wanted
        self.owners = now

    def handover(self, tp: Any, row: Row) -> None:
        self.rows["partition_handover"].append({**self.named(), "topic_id": tp[0], "partition": tp[1], **row})

    # the ends

    def named(self) -> Row:
        return {"group_id": self.group_id, "incarnation": self.incarnation}

    def delete(self) -> None:
        for member in {row["member_id"] for row in self.lags if row["status"] == "open"}:
            self.leave(member)
        self.end_epochs("deleted", None)
        self.end_state(self.at)
        self.flush()
        self.incarnation += 1
        self.begin()

    def close(self) -> None:
        self.end_epochs("open", None)
        self.end_state(None)
        for member in self.members():
            state, since = self.member_states.get(member, (None, self.captured_at))
            self.spend(member, state, self.captured_at - since)
            for row in self.open_lags(member):
                row["lag_ms"] = self.captured_at - row["first_bumped_at"]
                row["clock_skew"] = row["lag_ms"] < 0
                row["history"] = "right_censored"
                row["blocked_by"] = self.blockers(member) if state == UNRELEASED else set()
                if state == UNRELEASED:
                    row["awaited"] = [
                        {"topic_id": topic, "partition": number, "owner": self.owners.get((topic, number))}
                        for topic, number in sorted(self.awaited(member))
                    ]
        self.flush()

    def flush(self) -> None:
        for row in self.lags:
            row["blocked_by"] = sorted(row["blocked_by"])
        self.rows["epoch_timeline"] += self.epochs
        self.rows["rebalance_lag"] += self.lags


def parts(arrays: Any) -> set[Any]:
    return {(array["topicId"], number) for array in arrays for number in array["partitions"]}


def minus(end: int | None, start: int | None) -> int | None:
    return None if end is None or start is None else end - start
