"""How the consumer groups of a simulation differ: profiles, one of which each group's id names."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from kip848_records.simulate.clients import REVOKE_MS

if TYPE_CHECKING:
    from kip848_records.simulate.spec import Simulation


@dataclass(frozen=True)
class Profile:
    """A kind of group: how common it is, how much busier than others, and how often each event happens."""

    share: int
    event_weights: dict[str, int]
    event_rate: float = 1.0
    revoke_ms: tuple[int, int] = (REVOKE_MS, 300)
    is_static: bool = False
    has_regex: bool = False
    has_stuck_member: bool = False
    starts_classic: bool = False
    commits_in_transactions: bool = False


PROFILES: Final[dict[str, Profile]] = {
    "steady": Profile(30, {"join": 3, "leave": 3, "crash": 1, "deploy": 1, "pause": 1}),
    "static": Profile(12, {"restart": 8, "join": 1, "leave": 1, "crash": 1, "subscribe": 1}, is_static=True),
    "slow": Profile(10, {"join": 3, "leave": 3, "crash": 1}, revoke_ms=(1_000, 30_000)),
    "churn": Profile(10, {"join": 8, "leave": 7, "crash": 1, "subscribe": 2}, event_rate=6.0),
    "regex": Profile(8, {"join": 2, "leave": 2, "flap": 4, "restart_all": 1}, has_regex=True),
    "classic": Profile(8, {"rebalance": 1}, starts_classic=True),
    "upgrade": Profile(6, {"upgrade": 4, "downgrade": 2, "leave": 3, "rebalance": 2, "delete": 1}, starts_classic=True),
    "stuck": Profile(4, {"join": 3, "leave": 2}, has_stuck_member=True),
    "reuse": Profile(4, {"join": 2, "leave": 1, "delete": 3}, event_rate=2.0),
    "txn": Profile(8, {"join": 2, "leave": 2}, commits_in_transactions=True),
}
"""Profiles by the name that is part of the group's id."""


def group_id(spec: Simulation, number: int) -> str:
    """Return the id of a group, which contains its kind."""
    random = Random(f"{spec.seed}/kind/{number}")  # noqa: S311
    kind = random.choices(list(PROFILES), [profile.share for profile in PROFILES.values()])[0]
    if spec.is_hot(number):
        kind = "churn"
    return f"{kind}-{number:05}"
