"""The sections of a group's history on the page. The rows of each are those of a file in `sql/sections/`.

A file joins `chosen`, the groups that have a timeline. Its rows have ``partition`` and ``group_id``; a row with
``numbers`` is about partitions, connectors or tasks of a ``place``. `templates/sections.js` draws the sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.queries.texts import completed, read, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

_SQL: Final = "report/page/sql"


class Section(NamedTuple):
    """A section of a group's history.

    `words`: what its rows are called if the page has only some of them. `limit`: how many rows of a group the page has,
    the first by `order`. `tables`: the tables of single kinds of groups that it is about; if they have no rows, it is
    not read. Without `tables`, groups of all kinds have it.
    """

    name: str
    words: str
    limit: int
    order: str
    tables: Sequence[str] = ()

    @property
    def query(self) -> str:
        """SQL for the rows of chosen groups, with ``nth`` and ``total``; its parameters are those of `chosen`."""
        return self._query(relations())

    def query_of(self, chosen: str) -> str:
        """Return the same for the groups that a query returns, ``partition`` and ``group_id``, with its parameters."""
        return self._query({"chosen": chosen})

    def _query(self, shared: dict[str, str]) -> str:
        text = rendered(f"{_SQL}/section.sql", order=self.order, limit=self.limit)
        return completed(text, rows_=read(f"{_SQL}/sections/{self.name}.sql"), **shared)


def relations() -> dict[str, str]:
    """Return the relations that the texts of the page share, by their names."""
    return {name: read(f"{_SQL}/{name}.sql") for name in ("ranked", "chosen")}


SECTIONS: Final = (
    Section(
        "diagnosis",
        "troubles over time",
        100,
        "CASE WHEN is_present THEN 0 ELSE 1 END, CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, "
        "coalesce(cost_share, 0) DESC, last_ms DESC, pattern, first_ms, client_id, client_host, instance_id, "
        "member_id, what, episode",
    ),
    Section("rebalances", "rebalances", 200, "began_offset DESC, incarnation DESC"),
    Section("states", "states of the group", 400, "at_offset DESC, incarnation DESC, state"),
    Section(
        "intervals",
        "intervals of members",
        2000,
        "CASE WHEN to_ms IS NULL THEN 0 ELSE 1 END, at_offset DESC, member_id, incarnation DESC, state",
    ),
    Section(
        "members",
        "members",
        500,
        "behind_since_ms DESC, CASE WHEN left_at_ms IS NULL THEN 0 ELSE 1 END, at_offset DESC, member_id, "
        "incarnation DESC",
    ),
    Section(
        "handovers",
        "handovers",
        500,
        "at_offset DESC, topic, from_member, to_member, released_at_ms, incarnation",
    ),
    Section(
        "generations",
        "generations",
        200,
        "at_offset DESC, incarnation DESC, generation DESC",
        tables=("classic_generation",),
    ),
    Section("workers", "workers", 200, "worker_url, member_id", tables=("connect_assignment",)),
    Section("units", "assignments", 500, "member_id, role, place, incarnation", tables=("member_assignment",)),
    Section(
        "tasks",
        "changes of owners",
        500,
        "CASE WHEN status = 'open' THEN 0 ELSE 1 END, at_offset DESC, place, giver, taker, released_at_ms, "
        "acquired_at_ms, incarnation, reason, was_warm, numbers",
        tables=("task_handover",),
    ),
    Section(
        "consumption",
        "owned partitions with commits",
        500,
        "CASE state WHEN 'blocked_by_transaction' THEN 0 WHEN 'suspected' THEN 1 WHEN 'progress' THEN 3 ELSE 2 END, "
        "silent_ms DESC, at_offset, place, member_id, state, evidence, incarnation",
        tables=("commit_progress",),
    ),
    Section(
        "jumps",
        "jumps of committed offsets",
        200,
        "at_offset DESC, place, kind, incarnation",
        tables=("commit_jump",),
    ),
    Section(
        "topics",
        "topics",
        200,
        "CASE WHEN state = 'initialized' THEN 1 ELSE 0 END, free_since_ms DESC, place, state, incarnation",
        tables=("share_partition_state",),
    ),
    Section(
        "migrations",
        "changes of the protocol",
        20,
        "CASE WHEN direction = 'upgrade' AND mixed_until_ms IS NULL THEN 0 ELSE 1 END, "
        "coalesce(mixed_until_ms - at_ms, 0) DESC, at_offset DESC, incarnation DESC",
        tables=("group_migration",),
    ),
    Section(
        "periods",
        "periods",
        20,
        "coalesce(unowned_min_partition_ms, 0) DESC, at_offset DESC, incarnation DESC, protocol",
        tables=("protocol_comparison",),
    ),
)
"""The sections, in the order in which the page names those of which it has only a part."""


def sections_with_rows() -> str:
    """Return SQL for the names of the sections with `tables` that have rows."""
    return rendered(f"{_SQL}/sections_with_rows.sql", sections=[each for each in SECTIONS if each.tables])
