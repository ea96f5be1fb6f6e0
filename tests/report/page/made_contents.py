"""Tables of groups that no audit found, with ids and sizes that a test chooses."""

import random
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta

from kip848_records.expectations.results import Finding, Result, Verdict
from kip848_records.report.group_sections import SECTIONS
from kip848_records.report.page import contents as bounds
from kip848_records.tables.registry import TABLES
from tests.made_tables import OF_KINDS, write

CAPTURED = datetime(2026, 11, 21, 8, 20, tzinfo=UTC)
_EPOCH_MS = 60_000


def failed(group_id, cluster="demo", message="expected Stable"):
    finding = Finding(cluster, group_id, 2, "member-1", 7, 1000, "error", message)
    result = Result("group_stable", "A group is stable", "error", 1, 1, 0, 0, (finding,), ())
    return Verdict("out", {cluster: CAPTURED}, [result])


def write_groups(out, groups, *, cluster="demo", members=3, rebalances=3, **more):
    """Write the tables of groups: `groups` has their ids, and for how many seconds each is stuck, or 0.

    `more`: further rows of tables, by their names.
    """
    rows = {name: [] for name in TABLE_NAMES}
    rows["audit_runs"].append({"run": 1, "captured_at": CAPTURED, "sources": ["made"], "dialect": "kafka",
                               "version": "1", "offset_commits": False, "is_copy": True,
                                   "is_archived": False})  # fmt: skip
    for group_id, stuck_s in groups.items():
        _group(rows, group_id, stuck_s, members, rebalances)
    for name, found in more.items():
        rows[name] = [*rows.get(name, ()), *found]
    write(out, cluster, **{name: [known(name, row) for row in found] for name, found in rows.items()})


TABLE_NAMES = (
    *("audit_runs", "group_state", "group_state_timeline", "rebalance", "rebalance_lag", "member_state_timeline"),
    *("membership", "partition_handover", "anomaly", "quarantine", "regex_resolution"),
    *OF_KINDS,
)


def _group(rows, group_id, stuck_s, members, rebalances):
    dice = random.Random(group_id)  # noqa: S311 - no secret
    ids = [urlsafe_b64encode(dice.randbytes(16)).decode()[:22] for _ in range(members)]
    start = CAPTURED - timedelta(milliseconds=3_600_000 - dice.randrange(600_000))
    group = {"group_id": group_id, "incarnation": 0, "group_type": "consumer", "partition": 7}
    client = {"client_id": f"{group_id}-client", "client_host": f"/10.0.0.{dice.randrange(9)}"}
    offset, states = 0, []
    times = [start + timedelta(milliseconds=n * _EPOCH_MS) for n in range(rebalances)]
    if stuck_s:
        times[-1] = CAPTURED - timedelta(seconds=stuck_s)
    for member in ids:
        rows["membership"].append(group | client | {"member_id": member, "joined_offset": offset, "joined_at": start,
                                  "topics": ["orders"], "rebalance_timeout_ms": 300_000,
                                      "history": "right_censored"})  # fmt: skip
        offset += 1
    for number, at in enumerate(times):
        is_open = bool(stuck_s) and number == rebalances - 1
        lasted = timedelta(milliseconds=dice.randrange(1, 50_000))
        end = None if is_open else at + lasted
        until = times[number + 1] if number + 1 < rebalances else None
        blocker = client | {"member_id": ids[0], "late_ms": 1, "blocked_ms": 1, "held_up": members - 1,
                            "last_state": "revoking", "late_now": True, "waiting_now": members - 1}  # fmt: skip
        rows["rebalance"].append(group | {
            "began_at": at, "began_offset": offset, "first_epoch": number + 2, "last_epoch": number + 2, "epochs": 1,
            "causes": ["member_joined"], "ended_at": end, "outcome": "open" if is_open else "converged",
            "duration_ms": stuck_s * 1000 if is_open else lasted // timedelta(milliseconds=1),
                "members_before": members,
            "members": members, "members_waited": members - 1, "assigning_ms": 0, "started_empty": False,
            "blockers": [blocker], "blockers_count": 1, "history": "right_censored" if is_open else "observed",
            "clock_skew": False})  # fmt: skip
        spells = [(at, end, "Reconciling")] + ([] if is_open else [(end, until, "Stable")])
        for begins, ends, state in spells:
            states.append(group | {"state": state, "from_at": begins, "from_offset": offset, "to_at": ends,
                                   "history": "observed" if ends else "right_censored"})  # fmt: skip
            for member in ids:
                does = "reconciled" if state == "Stable" else "revoking" if member == ids[0] else "waiting"
                rows["member_state_timeline"].append(group | {
                    "member_id": member, "state": does, "member_epoch": number + 2, "from_at": begins,
                    "from_offset": offset, "to_at": ends,
                    "duration_ms": ((ends or CAPTURED) - begins) // timedelta(milliseconds=1),
                        "history": "observed" if ends else "right_censored"})  # fmt: skip
                offset += 1
        rows["partition_handover"].append({
            "group_id": group_id, "incarnation": 0, "topic_id": "t", "topic": "orders", "partition": number,
            "offsets_partition": 7, "acquired_offset": offset, "from_member": ids[0], "to_member": ids[-1],
            "released_at": at, "acquired_at": at + lasted, "unowned_ms": 5, "wanted_ms": 5, "history": "observed",
            "clock_skew": False})  # fmt: skip
        if is_open:
            for member in ids:
                rows["rebalance_lag"].append(group | client | {
                    "member_id": member, "group_epoch": number + 2, "status": "open", "superseded": False,
                    "behind_since": at, "rebalance_timeout_ms": 300_000, "history": "right_censored",
                    "blocked_by": [] if member == ids[0] else [ids[0]],
                    "awaited": [] if member == ids[0] else [{"topic_id": "t", "topic": "orders", "owner": ids[0],
                                                             "partition": ids.index(member)}]})  # fmt: skip
    rows["group_state_timeline"] += states
    last = states[-1]
    rows["group_state"].append(group | {
        "state": last["state"], "since": last["from_at"], "offset": offset, "group_epoch": rebalances + 1,
        "assignment_epoch": rebalances + 1, "members": members, "converged_members": 0 if stuck_s else members,
        "members_away": 0, "waits_for_away_only": False, "history": "right_censored"})  # fmt: skip


def known(table, row):
    """Leave out what another table has."""
    names = TABLES[table].schema.names
    return {name: value for name, value in row.items() if name in names}


def limit_sections(monkeypatch, **limits):
    """Let the page have fewer rows of some sections, by their names."""
    sections = tuple(each._replace(limit=limits.get(each.name, each.limit)) for each in SECTIONS)
    monkeypatch.setattr(bounds, "SECTIONS", sections)


def troubled(group_id, client, *, pattern="restart_loop", explained_by=None, **others):
    """Return a row of `diagnosis` about a client of a group of `write_groups`: present, for an hour."""
    first = CAPTURED - timedelta(hours=1)
    subject = {"client_id": client, "client_host": "/10.0.0.9"}
    return {
        "group_id": group_id, "incarnation": 0, "partition": 7, "pattern": pattern, "severity": "warning", "count": 60,
        "at_least": False, "subject": subject, "first_seen": first, "last_seen": CAPTURED, "recognized_at": first,
        "is_present": True, "sentence": f"{client} @ 10.0.0.9: {pattern}.", "next_step": "Read its log.",
        "evidence": [3], "explained_by": explained_by, "episode": 1} | others  # fmt: skip


def stays_of(group_id, client, *, number=1, every=timedelta(minutes=1), lasting=None):
    """Return rows of `membership` and `member_state_timeline`: members of one client that follow each other."""
    stays, intervals = [], []
    for n in range(number):
        at = CAPTURED - timedelta(hours=1) + n * every
        until = None if lasting is None else at + lasting
        member = {"group_id": group_id, "incarnation": 0, "group_type": "consumer", "partition": 7,
                  "member_id": f"{client}-{n:05}", "history": "observed" if until else "right_censored"}  # fmt: skip
        stays.append(member | {"client_id": client, "client_host": "/10.0.0.9", "joined_at": at,
                               "joined_offset": 1000 + n, "joined_how": "joined", "left_at": until,
                               "left_how": until and "left",
                               "left_offset": until and 9000 + n, "topics": ["orders"]})  # fmt: skip
        intervals.append(member | {"state": "reconciled", "member_epoch": 9, "from_at": at, "to_at": until,
                                   "from_offset": 1000 + n})  # fmt: skip
    return {"membership": stays, "member_state_timeline": intervals}
