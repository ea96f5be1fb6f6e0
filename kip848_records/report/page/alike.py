"""Stuck groups with one cause: the client that blocks them, or a partition whose coordinator is silent."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    Fields = dict[str, Any]

SILENT: Final = "coordinator_silent"
"""The pattern of groups of which each member waits for the coordinator: no client is to blame."""


@dataclass(frozen=True)
class Alike:
    """Stuck groups, the oldest first. `silent`: the partition of `__consumer_offsets` whose coordinator is silent."""

    groups: Sequence[Fields]
    silent: int | None

    def shared(self, field: str) -> Any | None:  # noqa: ANN401 - what the field has
        """Return the value of a field of the blockers, if all have one and the same."""
        values = {group["blocker"][field] for group in self.groups}
        return values.pop() if len(values) == 1 else None


def alike(stuck: Sequence[Fields]) -> list[Alike]:
    """Return stuck groups by their cause, those with most groups first; a group without a known cause is alone.

    Groups have a client in common if its id is the same: many clients may have one host, behind a NAT.
    """
    by_cause: dict[object, list[Fields]] = defaultdict(list)
    for group in stuck:
        by_cause[_silent(group), _client(group) or id(group)].append(group)
    return sorted(
        (Alike(groups, _silent(groups[0])) for groups in by_cause.values()), key=lambda each: -len(each.groups)
    )


def _silent(group: Fields) -> int | None:
    return group["partition"] if group["blocker"]["pattern"] == SILENT else None


def _client(group: Fields) -> str | None:
    client: str | None = SILENT if group["blocker"]["pattern"] == SILENT else group["blocker"]["client_id"]
    return client
