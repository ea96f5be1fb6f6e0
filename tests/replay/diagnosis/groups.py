"""Groups of a few members, by the minute."""

from itertools import count
from types import SimpleNamespace
from typing import Any

from kip848_records.replay.diagnosis.diagnose import episodes_of
from kip848_records.replay.diagnosis.episodes import Episode
from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.limits import DEFAULTS
from kip848_records.replay.diagnosis.observed import ObservedRows, Owned, Rebalance
from kip848_records.replay.rows import Membership

MINUTE = 60_000
HOST = "/10.0.0.1"
_NUMBERS = count()


def ms(minutes: float) -> int:
    return round(minutes * MINUTE)


def stay(client: str, joined: float, left: float | None = None, **columns: Any) -> Membership:
    """A row of `membership` of a consumer group, with a member id of its own; times in minutes."""
    values = {
        "group_type": "consumer",
        "member_id": f"member-{next(_NUMBERS)}",
        "client_host": HOST,
        "joined_how": "joined",
        "left_how": None if left is None else "left",
        "history": "right_censored",
        "incarnation": 0,
        "partition": 0,
        "returned": False,
        "topics": ("orders",),
        "rebalance_timeout_ms": 5 * MINUTE,
    }
    values |= {"client_id": client, "joined_at": ms(joined), "joined_offset": ms(joined)}
    values |= {"left_at": None if left is None else ms(left), "left_offset": None if left is None else ms(left)}
    return Membership(**dict.fromkeys(Membership._fields) | values | columns)


def group(*stays: Membership, until: float, state: str = "Stable", **more: Any) -> GroupHistory:
    """The history of a group up to a minute. `more`: rows of other tables, and arguments of `GroupHistory`."""
    rows = ObservedRows()
    for row in sorted(stays, key=lambda row: (row.left_offset is None, row.left_offset or 0)):
        rows.add(row)
    rows.state = SimpleNamespace(state=state, known_since=None)
    for name in ("rebalances", "generations", "migrations", "sizes", "unsettled", "task_moves", "share_states"):
        getattr(rows, name).extend(more.pop(name, ()))
    rows.gaps.update(more.pop("gaps", {}))
    for owned in more.pop("owned", ()):
        rows.owned.add(owned.member_id, owned)
    for regex, resolution in more.pop("resolutions", ()):
        rows.resolutions.add(regex, resolution)
    return GroupHistory(rows, ms(until), DEFAULTS, **more)


def told(history: GroupHistory) -> list[Episode]:
    """All episodes of a group, by their begin."""
    return sorted(episodes_of(history), key=lambda episode: (episode.first_seen, episode.pattern))


def patterns(history: GroupHistory) -> list[str]:
    """The patterns of a group's episodes, by their begin."""
    return [episode.pattern for episode in told(history)]


def rebalance(at: float, *member_ids: str, **columns: Any) -> Rebalance:
    """A rebalance that these members began, converged after 5 s."""
    began = ms(at)
    values = {"epochs": 1, "members": 3, "unowned_ms": 0, "late_ms": 0, "partitions_moved": 1, "revoked": ()}
    values |= {"ended_at": began + 5000, "outcome": "converged", "started_empty": False, "causes": ("member_joined",)}
    return Rebalance(**values | {"began_at": began, "began_offset": began, "trigger_member_ids": member_ids} | columns)


def owned(row: Membership, begin: float, end: float | None, *, is_idle: bool) -> Owned:
    """A time in which a member had partitions or had none, reconciled all the time."""
    times = ms(begin), None if end is None else ms(end)
    return Owned(row.member_id, ms(begin), *times, is_idle, *times)
