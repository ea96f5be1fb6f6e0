"""The rules of rebalance_lag and partition_handover once more, one operation at a time, for one incarnation of a group.

Nothing here is shared with the package.
"""

from typing import Any

Row = dict[str, Any]
TopicPartition = tuple[str, int]
IDENTITY = {
    "instance_id": "instanceId",
    "client_id": "clientId",
    "client_host": "clientHost",
    "rebalance_timeout_ms": "rebalanceTimeoutMs",
}
TOPICS = {"FJ2munaASl6B3Z5txvfjpw": "clicks", "t0": "orders"}
"""The topics whose names somebody knows."""
SPENT = {1: "revoke_ms", 2: "wait_ms"}


def partitions(topics: list[Row] | None) -> set[TopicPartition]:
    return {(topic["topicId"], number) for topic in topics or [] for number in topic["partitions"]}


def owned(current: Row) -> set[TopicPartition]:
    return partitions(current.get("assignedPartitions")) | partitions(current.get("partitionsPendingRevocation"))


class Owners:
    """Who owns which partition: who acquired it last, unless that member has released it since."""

    def __init__(self) -> None:
        self.has: dict[str, set[TopicPartition]] = {}
        self.owner: dict[TopicPartition, str | None] = {}

    def update(self, member: str, now: set[TopicPartition]) -> tuple[set[TopicPartition], set[TopicPartition]]:
        """Releases at once; returns what was released by its owner, and what is to be acquired."""
        before, self.has[member] = self.has.get(member, set()), now
        released = {p for p in before - now if self.owner.get(p) == member}
        self.owner.update(dict.fromkeys(released))
        return released, now - before


class Handovers:
    def __init__(self, key: Row, *, whole: bool) -> None:
        self.key, self.whole = key, whole
        self.owners = Owners()
        self.claims: dict[TopicPartition, int] = {}
        self.last: dict[TopicPartition, str] = {}
        self.released: dict[TopicPartition, Row] = {}
        self.wanted: set[TopicPartition] = set()
        self.unmet: set[TopicPartition] = set()
        self.missed: dict[TopicPartition, int] = {}
        self.at = 0
        self.rows: list[Row] = []

    def end_operation(self, at: int, written: list[Row], targets: set[TopicPartition]) -> None:
        """`written`: the last type 8 of each member in this operation, by offset."""
        for p in self.unmet:
            self.missed[p] = self.missed.get(p, 0) + at - self.at
        self.at = at
        acquired: list[tuple[Row, TopicPartition]] = []
        for record in written:
            value = record["value"] or {}
            now = set() if value.get("memberEpoch") == -2 else owned(value)
            gone = self.owners.has.get(record["key"]["memberId"], set()) - now
            self.claims.update({p: self.claims[p] - 1 for p in gone})
            released, new = self.owners.update(record["key"]["memberId"], now)
            self.released.update(dict.fromkeys(released, record))
            acquired += [(record, p) for p in new]
        for record, p in acquired:
            self.acquire(record, p)
        self.wanted |= {p for p in targets if not self.claims.get(p)}
        self.wanted = {p for p in self.wanted if not self.claims.get(p)}
        self.unmet = {p for p in targets if not self.claims.get(p)}

    def acquire(self, record: Row, p: TopicPartition) -> None:
        member, at = record["key"]["memberId"], record["timestamp"]
        before = self.last.get(p)
        is_free = before is not None and self.owners.owner[p] is None
        self.claims[p] = self.claims.get(p, 0) + 1
        begin = self.released[p] if is_free else record
        complete = self.whole if before is None else is_free and begin["complete"]
        released_at = begin["timestamp"] if is_free else None
        row = {
            **self.key,
            "topic_id": p[0],
            "topic": TOPICS.get(p[0], p[0]),
            "partition": p[1],
            "from_member": before,
            "to_member": member,
        }
        row |= {"released_at": released_at, "acquired_at": at, "acquired_offset": record["offset"]}
        row["unowned_ms"] = None if released_at is None else at - released_at
        missed = self.missed.pop(p, 0)
        row["wanted_ms"] = missed if is_free else None
        row |= {"wanted": p in self.wanted, "group_epoch": record["value"]["memberEpoch"]}
        row["history"] = "observed" if complete and self.claims[p] == 1 else "left_censored"
        row["clock_skew"] = (row["unowned_ms"] or 0) < 0
        self.owners.owner[p] = self.last[p] = member
        self.rows.append(row)


class Lags:
    def __init__(self, key: Row) -> None:
        self.key = key
        self.owners = Owners()
        self.released: dict[TopicPartition, int] = {}
        self.open: list[Row] = []
        self.rows: list[Row] = []

    def end_operation(
        self, at: int, written: list[Row], assigned: list[Row], members: dict[str, Row], highest: int
    ) -> None:
        """`assigned`: what this operation's assignments were, with the bump they answer; `members`: those there are."""
        acquired: dict[TopicPartition, str] = {}
        for name, now in _changes(written):
            released, new = self.owners.update(name, now)
            self.released.update(dict.fromkeys(released, at))
            acquired.update(dict.fromkeys(new, name))
        self.owners.owner.update(acquired)
        wrote = {record["key"]["memberId"] for record in written}
        for row in self.open:
            self.pass_time(row, at)
        for assignment in assigned:
            for name, member in members.items():
                new = {**self.key, **assignment, "member_id": name, "target_at": at, "revoke_ms": 0, "wait_ms": 0}
                self.open.append(new | {"life": member["life"], "now": at, "seen": set(), "is_new": True})
        for row in self.open:
            name = row["member_id"]
            member = members.get(name)
            if member is None or member["life"] != row["life"]:
                self.close(row, "left", at, highest)
                continue
            current = member["current"]
            is_away = current.get("memberEpoch") == -2
            row["identity"], row["state"] = member["identity"], "away" if is_away else current.get("state")
            if row["state"] == 0 and current["memberEpoch"] >= row["group_epoch"]:
                self.close(row, "reconciled", at, highest)
            elif row["state"] == 2 and (row["is_new"] or name in wrote):
                row["seen"] |= {owner for _, owner in self.awaited(member)} - {name, None}
            row["is_new"] = False
        self.open = [row for row in self.open if "status" not in row]

    def end_log(self, captured_at: int, members: dict[str, Row], highest: int) -> None:
        for row in self.open:
            self.pass_time(row, captured_at)
            waits = row["state"] == 2
            awaited = self.awaited(members[row["member_id"]]) if waits else []
            row["seen"] = {owner for _, owner in awaited} - {row["member_id"], None}
            told = [(p[0], TOPICS.get(p[0], p[0]), p[1], owner, self.released_at(p)) for p, owner in awaited]
            row["awaited"] = told or None
            self.close(row, "open", captured_at, highest)

    def pass_time(self, row: Row, at: int) -> None:
        if spent := SPENT.get(row["state"]):
            row[spent] += at - row["now"]
        row["now"] = at

    def awaited(self, member: Row) -> list[tuple[TopicPartition, str | None]]:
        waits_for = member["target"] - partitions(member["current"].get("assignedPartitions"))
        return [(p, self.owners.owner.get(p)) for p in sorted(waits_for)]

    def released_at(self, p: TopicPartition) -> int | None:
        """When it got free, if nobody has it and somebody was seen to have had it."""
        return self.released.get(p) if self.owners.owner.get(p) is None else None

    def close(self, row: Row, status: str, at: int, highest: int) -> None:
        row |= {"status": status, "superseded": highest > row["group_epoch"], "blocked_by": sorted(row["seen"])}
        row["reconciled_at"] = at if status == "reconciled" else None
        bump = row["bump"]
        row["first_bumped_at"] = bump and bump["timestamp"]
        row["lag_ms"] = None if status == "left" or not bump else at - bump["timestamp"]
        censored = ("" if bump and bump["complete"] else "left_") + ("right_" if status == "open" else "")
        names = {"": "observed", "left_": "left_censored", "right_": "right_censored", "left_right_": "censored"}
        row["history"] = names[censored]
        row["clock_skew"] = any((row[name] or 0) < 0 for name in ("lag_ms", "revoke_ms", "wait_ms"))
        row |= {ours: (row["identity"] or {}).get(name) for ours, name in IDENTITY.items()}
        hidden = ("life", "now", "seen", "is_new", "identity", "state", "bump")
        self.rows.append({"awaited": None} | {name: row[name] for name in row if name not in hidden})


def _changes(written: list[Row]) -> list[tuple[str, set[TopicPartition]]]:
    return [(record["key"]["memberId"], owned(record["value"] or {})) for record in written]
