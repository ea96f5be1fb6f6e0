"""Who joined and who left in each rebalance, as text for a terminal: clients by name, and how."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CONNECT, KINDS
from kip848_records.text import client_text, names_text, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory, Incarnation

    Fields = dict[str, Any]

_NAMED: Final = 2
_READ: Final = 5000
_SUCCEEDED: Final = "took the place of its predecessor"
_REPLACED: Final = "was replaced"
_JOINED: Final = {"replaced": _SUCCEEDED, "upgraded": None, "downgraded": None}
_LEFT: Final = {
    "left": "left or expired",
    "expired": "was away and expired",
    "replaced": _REPLACED,
    "group_deleted": None,
    "upgraded": None,
    "downgraded": None,
}
"""How a member left, in words; leaving, expiring and being fenced are one record. None: the group changed, not it."""


def with_changes(group: GroupHistory, incarnation: Incarnation, rebalances: Sequence[Fields]) -> list[Fields]:
    """Return rebalances with who joined and who left in each, `changes`: empty where the log shows nobody."""
    known = [row["first_epoch"] for row in rebalances if row["first_epoch"] is not None]
    found = group.rows("comings_and_goings", incarnation, epoch=min(known), most=_READ + 1) if known else []
    rows = [row for row in found if row.latest <= _READ]
    # Epochs grow with the offsets: from the epoch behind that of the first stay that is not read on, all are read.
    complete_from = max((_last_epoch(row) + 1 for row in found if row.latest > _READ), default=0)
    return [
        row
        | {
            "changes": _changes(rows, row["first_epoch"], row["last_epoch"], complete_from)
            if row["first_epoch"] is not None
            else ""
        }
        for row in rebalances
    ]


def _last_epoch(row: Row) -> int:
    epochs: list[int] = [epoch for epoch in (row.joined_epoch, row.left_epoch) if epoch is not None]
    return max(epochs)


def _changes(rows: Sequence[Row], first: int, last: int, complete_from: int) -> str:
    """Return what members did in the epochs from one to another: by what they did, with the names of clients."""
    clients: dict[str, Counter[str]] = {}
    for row in rows:
        name = printable(row.worker or "") or client_text(row.client_id, row.client_host, row.instance_id)
        name = name or f"member {printable(row.member_id)}"
        behind = f" with {_units(row.left_units)}" if row.left_units else ""
        joined = _JOINED.get(row.joined_how, "returned" if row.returns else "joined") if row.joined_how else None
        left = _LEFT.get(row.left_how, None)
        for epoch, how, who in ((row.joined_epoch, joined, name), (row.left_epoch, left, f"{name}{behind}")):
            if epoch is not None and first <= epoch <= last and how is not None:
                clients.setdefault(how, Counter())[who] += 1
    for name in clients.get(_REPLACED, ()):  # a successor of the same name is the same news
        clients.get(_SUCCEEDED, Counter()).pop(name, None)
    said = [f"{how}: {_names(names)}" for how, names in clients.items() if names]
    if first < complete_from:
        said.append(f"perhaps more: only the {_READ:,} members that joined or left last are read")
    return "; ".join(said)


def _units(count: int) -> str:
    """Return how many connectors and tasks there are, in words."""
    connect = KINDS[CONNECT]
    return f"1 {connect.unit}" if count == 1 else f"{count:,} {connect.units}"


def _names(names: Counter[str]) -> str:
    """Return the clients that did something, those that did it most often first."""
    counted = [f"{name} ({count:,} times)" if count > 1 else name for name, count in names.most_common()]
    return names_text(counted, _NAMED)
