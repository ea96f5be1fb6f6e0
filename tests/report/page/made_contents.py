"""Contents that no audit found: groups with ids and sizes that a test chooses."""

import random
from base64 import urlsafe_b64encode
from datetime import datetime, timezone

from kip848_records.quality.results import Finding, Result, Verdict
from kip848_records.report.page.contents import Contents

CAPTURED = datetime(2026, 11, 21, 8, 20, tzinfo=timezone.utc)
START = 1795247000_000
END = round(CAPTURED.timestamp() * 1000)


def contents(groups, *, clusters=("demo",), results=()):
    """Contents of groups that are `(row, history)`; those of several clusters say which."""
    rows = [{"cluster": clusters[0]} | row for row, _ in groups]
    counts = {}
    for row in rows:
        kind = (row["state"], row["group_type"], row["convergence"])
        counts[kind] = counts.get(kind, 0) + 1
    slowest = [
        epoch | {"cluster": row["cluster"], "group_id": row["group_id"]}
        for row, (_, history) in zip(rows, groups, strict=True)
        for epoch in history["epochs"]
        if epoch["rebalance_lag_ms"] is not None
    ]
    return Contents(
        folder="out",
        verdict=Verdict("out", dict.fromkeys(clusters, CAPTURED), results),
        groups=rows,
        counts=counts,
        histories={(row["cluster"], row["group_id"]): history for row, (_, history) in zip(rows, groups, strict=True)},
        slowest=slowest[:10],
        bumps=[
            {
                "at_s": START // 1000 + 60 * n,
                "cause": "member_joined",
                "epochs": n + 1,
                "partition": 7,
                "bump_offset": n,
            }
            for n in range(20)
        ],
        step_s=60,
    )


def failed(group_id, cluster="demo", message="expected Stable"):
    finding = Finding(cluster, group_id, 2, "member-1", 7, 1000, "error", message)
    return Result("group_stable", "A group is stable", "error", 1, 1, 0, 0, (finding,), ())


def group(group_id, *, members=3, epochs=4, stuck=False, seed=0):
    """A group with its history: its rows are what the page may meet, its story is any."""
    dice = random.Random(f"{seed} {group_id}")  # noqa: S311 - no secret
    ids = [urlsafe_b64encode(dice.randbytes(16)).decode()[:22] for _ in range(members)]
    times = sorted(dice.randrange(START, END - 60_000) for _ in range(epochs))
    offsets = iter(range(dice.randrange(10_000_000), 2**40, 7))
    epoch_rows, bars, states, handovers = [], [], [], []
    for number, at in enumerate(times):
        until = times[number + 1] if number + 1 < epochs else None
        lag = dice.randrange(1, (until or END) - at) if until is None or until > at + 1 else 1
        offset, is_open = next(offsets), stuck and until is None
        epoch_rows.append(_epoch(number + 2, at, offset, None if is_open else lag, members))
        for start, end, state in ((at, at + lag, "Reconciling"), (at + lag, until, "Stable"))[: 1 if is_open else 2]:
            states.append(_spell(start, None if is_open else end, offset) | {"state": state, "incarnation": 0})
        for member, member_id in enumerate(ids):
            taken = at + lag * (member + 1) // members
            kind = "revoking" if member == 0 else "waiting"
            bars.append(_bar(member_id, kind, at, None if is_open else taken, number + 2, next(offsets), group_id))
            if not is_open:
                bars.append(_bar(member_id, "reconciled", taken, until, number + 2, next(offsets), group_id))
        handovers.append(_handover(ids[0], ids[-1], at, at + lag, next(offsets), number + 2, group_id))
    last = states[-1]
    row = {
        "partition": 7, "group_id": group_id, "lives": 1, "group_type": "consumer", "state": last["state"],
        "convergence": "not converged" if stuck else "converged", "since_ms": last["from_at_ms"],
        "history": "right_censored", "offset": next(offsets), "group_epoch": epochs + 1, "assignment_epoch": epochs + 1,
        "generation": None, "members": members, "converged_members": 1 if stuck else members, "members_away": 0,
        "epochs": epochs, "records": len(bars),
        "slowest": {"rebalance_lag_ms": 7, "group_epoch": 2, "bump_offset": 1},
        "most": {"in_hour": epochs, "second": times[-1] // 1000, "group_epoch": epochs + 1, "bump_offset": 1},
        "unowned_ms": 5, "longest": {"ms": 5, "topic": group_id, "partition": 0, "acquired_offset": 3},
        "blocker": f"member {ids[0]} holds up 1 other" if stuck else None,
    }  # fmt: skip
    history = {
        "epochs": epoch_rows[::-1], "states": states[::-1], "bars": bars[::-1], "handovers": handovers[::-1],
        "lags": [_lag(member_id, epochs + 1, group_id) for member_id in ids],
        "waiting": [(f"{ids[0]}: behind for 2 min", [f"{group_id} 0-3 held by {ids[0]}"])] if stuck else [],
        "free": [],
    }  # fmt: skip
    return row, history | {"totals": {name: len(rows) for name, rows in history.items()}}


def _epoch(number, at, offset, lag, members):
    return {
        "incarnation": 0, "group_epoch": number, "partition": 7, "bump_offset": offset, "cause": "member_joined",
        "status": "open" if lag is None else "converged", "superseded_by": None, "bumped_at_ms": at,
        "assigned_at_ms": at, "converged_at_ms": None if lag is None else at + lag, "assign_lag_ms": 0,
        "rebalance_lag_ms": lag, "members": members, "partitions_moved": 4,
        "history": "right_censored" if lag is None else "observed", "clock_skew": False,
    }  # fmt: skip


def _spell(start, end, offset):
    history = "right_censored" if end is None else "observed"
    return {"partition": 7, "from_offset": offset, "from_at_ms": start, "to_at_ms": end, "history": history}


def _bar(member_id, kind, start, end, epoch, offset, client_id):  # noqa: PLR0913, PLR0917 - a row
    return {
        "incarnation": 0, "member_id": member_id, "partition": 7, "offset": offset, "from_ms": start, "until_ms": end,
        "kind": kind, "member_epoch": epoch, "is_complete": True, "instance_id": None, "client_id": client_id,
        "client_host": "/10.0.0.1",
    }  # fmt: skip


def _handover(giver, taker, released, acquired, offset, epoch, topic):  # noqa: PLR0913, PLR0917 - a row
    return {
        "incarnation": 0, "from_member": giver, "to_member": taker, "released_at_ms": released,
        "acquired_at_ms": acquired, "wanted": True, "partition": 7, "offset": offset, "group_epoch": epoch,
        "history": "observed", "clock_skew": False, "topic": topic, "numbers": [0, 1, 2, 5],
        "unowned_ms": acquired - released, "wanted_ms": acquired - released,
    }  # fmt: skip


def _lag(member_id, epoch, client_id):
    return {
        "group_epoch": epoch, "member_id": member_id, "partition": 7, "target_at_ms": START, "status": "reconciled",
        "lag_ms": 12, "revoke_ms": 0, "wait_ms": 12, "blocked_by": [], "instance_id": None, "client_id": client_id,
        "client_host": "/10.0.0.1", "history": "observed", "clock_skew": False,
    }  # fmt: skip
