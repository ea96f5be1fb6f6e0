"""The rules of the timelines once more, one record at a time: what the Spark code is compared with.

Records are the dicts of `tests.dump_log`. Nothing here is shared with the package.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tests.timeline.plain_members import Handovers, Lags, partitions

Record = Mapping[str, Any]
Row = dict[str, Any]
_OF_LAST_ONLY = {"since_complete", "waits_for_away_only"}
GROUP_TYPES = {2, 3, 4, 5, 6, 7, 8, 16}
CAUSES = (
    "upgraded",
    "topic_metadata_changed",
    "subscription_changed",
    "static_member_replaced",
    "member_joined",
    "unknown",
    "member_left",
    "regex_resolved",
    "first or last topic",
)


class Group:
    """One incarnation of a group id."""

    def __init__(self, key: Row, incarnation: int, first: Record | None) -> None:
        self.key = {**key, "incarnation": incarnation}
        self.latest: dict[tuple[int, Any], Record] = {}  # present value by (type, member id); tombstoned ones are gone
        self.assignments: list[Row] = []
        self.epochs: dict[int, Row] = {}
        self.start_epoch: int | None = None
        self.hash: tuple[int | None, bool] = (None, False)  # of the last epoch, and whether none is missing from it on
        self.has_topics = False  # in a type 4, when the operation began
        self.bumps: list[Record] = []
        self.highest = -1
        self.known: dict[str, Row] = {}  # of every member that ever was, its last type 5
        self.deaths: dict[str, int] = defaultdict(int)
        self.target_owner: dict[Any, tuple[str, Any]] = {}
        self.assigned_owner: dict[Any, Any] = {}
        self.knows_assignment_before = bool(first and first["complete"])
        self.lags = Lags(self.key)
        place = {"offsets_partition": key["partition"], "group_id": key["group_id"], "incarnation": incarnation}
        self.handovers = Handovers(place, whole=bool(first and first["complete"]))

    def apply_operation(self, records: list[Record]) -> None:
        signs: set[str] = set()
        gone: dict[str, tuple[str, Row]] = {}  # instance id -> the member that had it, tombstoned in this operation
        self.assigned_now: list[Row] = []
        self.has_topics = (4, None) in self.latest
        for n, record in enumerate(records):
            signs |= self.signs(record, records[n + 1 :], gone)
            cause = next((cause for cause in CAUSES if cause in signs), "unknown")
            self.apply(record, "topic_metadata_changed" if cause == "first or last topic" else cause)
            if record["type"] == 3:
                signs = set()

    def signs(self, record: Record, rest: list[Record], gone: dict[str, tuple[str, Row]]) -> set[str]:
        kind, value, member = record["type"], record["value"], record["key"].get("memberId")
        if kind == 5 and value is None:
            if member in self.known and (instance := self.known[member].get("instanceId")):
                gone[instance] = (member, self.known[member])
            return {"member_left"}
        if kind == 5:
            old, before = gone.pop(value.get("instanceId"), (None, {}))
            if (5, member) in self.latest:
                return {"subscription_changed"}
            signs = set()
            if old not in {None, member}:
                signs = {"static_member_replaced"} | (
                    {"subscription_changed"} if topics(before) != topics(value) else set()
                )
            later = [r for r in rest if r["type"] == 8 and r["key"]["memberId"] == member][:1]
            first_epoch = any((r["value"] or {}).get("previousMemberEpoch") == 0 for r in later)
            return signs | {"member_joined" if record["complete"] or first_epoch else "unknown"}
        before, is_seen = self.hash
        now = value.get("metadataHash", 0) if kind == 3 and value else None
        changed = None not in {before, now} and before != now
        rehashed = changed and 0 not in {before, now}
        simple = {
            "upgraded": kind == 2 and value is None,
            "topic_metadata_changed": rehashed or (kind == 4 and value is not None),
            "regex_resolved": kind == 16,
            "first or last topic": changed and not rehashed and is_seen and not self.has_topics,
        }
        return {cause for cause, fits in simple.items() if fits}

    def apply(self, record: Record, cause: str) -> None:
        kind, value, member = record["type"], record["value"], record["key"].get("memberId")
        slot = (kind, member or record["key"].get("regularExpression"))
        before = self.latest.pop(slot, {}).get("value")
        if kind == 7:
            self.retarget(member, partitions((before or {}).get("topicPartitions")), value or {})
        if value is None:
            self.deaths[member] += kind == 5
            return
        self.latest[slot] = record
        if kind == 5:
            self.known[member] = value
        if kind == 3:
            self.latest.pop((2, None), None)
            self.hash = value.get("metadataHash", 0), record["complete"]
            self.bumps.append(record)
            fresh = {**self.key, "group_epoch": value["epoch"], "group_type": "consumer", "cause": cause}
            fresh |= {"bumped_at": record["timestamp"], "bump_offset": record["offset"], "members": len(self.members())}
            self.epochs.setdefault(value["epoch"], fresh | {"ended": False, "complete": record["complete"]})
        if kind == 6:
            self.assign(record, value["assignmentEpoch"])
        if kind == 8 and value["memberEpoch"] >= 0:
            self.start_epoch = max(value["memberEpoch"], self.start_epoch or 0)

    def retarget(self, member: str, before: set[Any], value: Row) -> None:
        now = partitions(value.get("topicPartitions"))
        for p in before - now:
            if self.target_owner.get(p, (None,))[0] == member:
                del self.target_owner[p]
        instance = self.known.get(member, {}).get("instanceId")
        self.target_owner.update(dict.fromkeys(now - before, (member, ("instance", instance) if instance else member)))

    def assign(self, record: Record, epoch: int) -> None:
        row = {"at": record["timestamp"], "epoch": epoch, "moved": None}
        self.assignments.append(row)
        if epoch <= self.highest:
            return
        answered = [bump for bump in self.bumps if self.highest < bump["value"]["epoch"] <= epoch]
        self.assigned_now.append({"group_epoch": epoch, "bump": answered[0] if answered else None})
        owner = {p: key for p, (_, key) in self.target_owner.items()}
        if self.knows_assignment_before:
            row["moved"] = sum(p in self.assigned_owner and self.assigned_owner[p] != owner[p] for p in owner)
        self.assigned_owner, self.highest, self.knows_assignment_before = owner, epoch, record["complete"]

    def end_operation(self, records: list[Record], *, deleted: bool) -> None:
        last = {r["key"]["memberId"]: r for r in records if r["type"] == 8}
        written = sorted(last.values(), key=lambda record: record["offset"])
        there = {} if deleted else self.member_rows()
        assigned = [] if deleted else self.assigned_now
        self.lags.end_operation(records[-1]["timestamp"], written, assigned, there, self.highest)
        targets = {
            p for slot, r in self.latest.items() if slot[0] == 7 for p in partitions(r["value"].get("topicPartitions"))
        }
        self.handovers.end_operation(records[-1]["timestamp"], written, targets)

    def member_rows(self) -> dict[str, Row]:
        return {
            member: {
                "life": self.deaths[member],
                "identity": self.known[member],
                "current": self.value(8, member) or {},
                "target": partitions((self.value(7, member) or {}).get("topicPartitions")),
            }
            for member in self.members()
        }

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
            row |= {"group_epoch": None, "assignment_epoch": None, "members": count, "members_away": 0}
            return row | {"waits_for_away_only": False}
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
        away = [c for c in current if c.get("memberEpoch") == -2]
        row["waits_for_away_only"] = state == "Reconciling" and len(converged) + len(away) == len(current)
        return row | {"group_epoch": group_epoch, "assignment_epoch": assignment_epoch, "members_away": len(away)}

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
            answers = [assignment for assignment in self.assignments if assignment["epoch"] >= epoch]
            row["assigned_at"] = answers[0]["at"] if answers else None
            row["partitions_moved"] = answers[0]["moved"] if answers else None
            row["converged_at"] = at if state == "Stable" else None
            lags = {
                "assign_lag_ms": _minus(row["assigned_at"], row["bumped_at"]),
                "reconcile_lag_ms": _minus(row["converged_at"], row["assigned_at"]),
                "rebalance_lag_ms": _minus(row["converged_at"], row["bumped_at"]),
            }
            row.update(lags, ended=True, clock_skew=any(lag is not None and lag < 0 for lag in lags.values()))
            row["history"] = _history(row["complete"], ended=state is not None)


def replay(records: Iterable[Record], complete_from: Mapping[int, int], captured_at: int = 0) -> dict[str, list[Row]]:
    """Returns the rows of each timeline, of last_states, and the state at the end of every operation."""
    logs: dict[tuple[int, str], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r["partition"], r["offset"])):
        if record["type"] in GROUP_TYPES:
            logs[record["partition"], record["key"].get("groupId", record["key"].get("group"))].append(record)
    told: dict[str, list[Row]] = defaultdict(list)
    for (partition, group_id), log in logs.items():
        key = {"partition": partition, "group_id": group_id}
        groups, judged = _replay_group(key, _with_complete(log, complete_from.get(partition)), captured_at)
        hidden = {"ended", "complete"}
        told["epoch_timeline"] += [
            {name: row[name] for name in row if name not in hidden} for g in groups for row in g.epochs.values()
        ]
        told["rebalance_lag"] += [row for g in groups for row in g.lags.rows]
        told["partition_handover"] += [row for g in groups for row in g.handovers.rows]
        told["group_state_timeline"] += _intervals(judged, captured_at)
        judged = [{name: row[name] for name in row if name not in {"at", "complete", "is_told"}} for row in judged]
        told["states"] += [{name: row[name] for name in row if name not in _OF_LAST_ONLY} for row in judged]
        told["group_state"] += [_last(judged[-1])] if judged[-1]["state"] != "Dead" else []
    return told


def _with_complete(log: list[Record], complete_from: int | None) -> list[Record]:
    """Tells of each record whether none is missing from it on: a jump of epochs says that some are."""
    start, epoch = complete_from, None
    for record in log:
        if record["type"] == 3:
            now = record["value"] and record["value"]["epoch"]
            if start is not None and now is not None and epoch is not None and now not in {epoch, epoch + 1}:
                start = max(start, record["offset"])
            epoch = now
    return [{**record, "complete": start is not None and record["offset"] >= start} for record in log]


def _operations(log: list[Record]) -> Iterable[tuple[list[Record], bool]]:
    """Yields each operation, with whether its last record is where it ends; a deletion cuts it in two."""
    run: list[Record] = []
    for record, following in zip(log, [*log[1:], None], strict=True):
        run.append(record)
        ends = following is None or (following["offset"], following["timestamp"]) != (
            record["offset"] + 1,
            record["timestamp"],
        )
        if ends or (record["type"] == 3 and record["value"] is None):
            yield run, ends
            run = []


def _replay_group(key: Row, log: list[Record], captured_at: int) -> tuple[list[Group], list[Row]]:
    groups, judged = [Group(key, 0, log[0])], []
    run, since, since_complete = None, None, None
    for records, ends in _operations(log):
        group, record = groups[-1], records[-1]
        group.apply_operation(records)
        deleted = record["value"] is None and record["type"] == 3
        group.end_operation(records, deleted=deleted)
        gone = deleted or (record["value"] is None and record["type"] == 2 and ends)
        row = {"state": "Dead"} if gone else group.report(complete=record["complete"])
        phase = "unconverged" if row["state"] in {"Assigning", "Reconciling"} else row["state"]
        now = (group.key["incarnation"], row.get("group_type"), phase)
        # What comes after an unknown state may have been before.
        is_seen = record["complete"] and not (judged and judged[-1]["state"] == "unknown" and not judged[-1]["is_told"])
        if now != run:
            run, since, since_complete = now, record["timestamp"], is_seen
        place = {"offset": record["offset"], "at": record["timestamp"], "complete": is_seen}
        place["is_told"] = record["complete"]
        judged.append({**group.key, **row, **place, "since": since, "since_complete": since_complete})
        if row["state"] in {"Dead", "Empty", "Stable"}:
            group.end_epochs(row["state"], record["timestamp"], row.get("group_epoch"))
        if deleted:
            groups.append(Group(key, len(groups), log[log.index(record) + 1] if record is not log[-1] else None))
    for group in groups:
        group.end_epochs(None, None, (group.value(3) or {}).get("epoch"))
        group.lags.end_log(captured_at, group.member_rows(), group.highest)
    return groups, judged


def _last(row: Row) -> Row:
    """A row of group_state."""
    kept = {name: row[name] for name in row if name != "since_complete"}
    return kept | {"history": "right_censored" if row["since_complete"] else "censored"}


def _intervals(judged: list[Row], captured_at: int) -> list[Row]:
    """The rows of group_state_timeline: runs of one state."""
    rows: list[Row] = []
    before = None
    for row in judged:
        now = (row["incarnation"], row.get("group_type"), row["state"])
        if now == before:
            continue
        if rows and before[2] != "Dead":
            rows[-1]["to_at"] = row["at"]
        before = now
        if row["state"] != "Dead":
            kept = {name: row[name] for name in ("partition", "group_id", "incarnation", "group_type", "state")}
            kept |= {"from_at": row["at"], "from_offset": row["offset"], "to_at": None, "complete": row["complete"]}
            rows.append(kept)
    for row in rows:
        end = captured_at if row["to_at"] is None else row["to_at"]
        row["duration_ms"] = end - row["from_at"]
        row["history"] = _history(row.pop("complete"), ended=row["to_at"] is not None)
        row["clock_skew"] = row["duration_ms"] < 0
    return rows


def topics(value: Row) -> tuple[list[str], str | None]:
    return sorted(value.get("subscribedTopicNames") or []), value.get("subscribedTopicRegex")


def _history(complete: bool, *, ended: bool) -> str:  # noqa: FBT001
    return {
        (True, True): "observed",
        (True, False): "right_censored",
        (False, True): "left_censored",
        (False, False): "censored",
    }[bool(complete), ended]


def _minus(end: int | None, start: int | None) -> int | None:
    return None if end is None or start is None else end - start
