"""The blockers of each ongoing rebalance, read once for all reports about many groups."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from kip848_records.replay.group.vocabulary import OPEN
from kip848_records.report.advice import Advice, advise, current_blockers, member_now, members_of
from kip848_records.report.over_time import explained
from kip848_records.report.sql import query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.queries.tables import Row, Tables
    from kip848_records.report.advice import MemberNow


class GroupIncarnation(NamedTuple):
    """A group in a partition of the log, from its creation to its deletion."""

    group_id: str
    partition: int
    incarnation: int


class Blocked(NamedTuple):
    """An ongoing rebalance. `blockers`: those that are still members and not reconciled, the worst first.

    `advice`: about the trouble over time that explains it, if one does. `own_advice`: about the rebalance by itself;
    the same if none does. `gone`: rows of ``workers_gone.sql``, the workers that left a Connect cluster.
    """

    advice: Advice
    own_advice: Advice
    blockers: Sequence[dict[str, Any]]
    members: Mapping[str, MemberNow]
    gone: Sequence[Row]

    @property
    def worst(self) -> dict[str, Any] | None:
        """The blocker that the advice names; None where it names no member."""
        return _named(self.blockers, self.advice)


def blocked_groups(tables: Tables, cluster: str) -> dict[GroupIncarnation, Blocked]:
    """Return the last ongoing rebalance of each group that has one, with its blockers."""
    members: dict[GroupIncarnation, dict[str, MemberNow]] = defaultdict(dict)
    for row in tables.rows(query("open_blockers"), cluster, open=OPEN):
        members[incarnation_of(row)][row.member_id] = member_now(row)
    gone = _by_incarnation(tables.rows(query("workers_gone"), cluster, open=OPEN))
    troubles = _by_incarnation(tables.rows(query("present_troubles"), cluster))
    triggers = _by_incarnation(tables.rows(query("open_triggers"), cluster, open=OPEN))
    found = {}
    for row in tables.rows(query("open_rebalances"), cluster, open=OPEN):
        key = incarnation_of(row)
        found[key] = blocked(row, members[key], gone[key], troubles[key], triggers[key])
    return found


def blocked(
    rebalance: Row,
    members: Mapping[str, MemberNow],
    gone: Sequence[Row],
    troubles: Sequence[Row],
    triggers: Sequence[Row],
) -> Blocked:
    """Return who blocks an ongoing rebalance; `troubles`, `triggers`: as in `over_time.explained`."""
    members = members_of(rebalance, members)
    blockers = current_blockers(rebalance.blockers or (), members)
    own = advise(rebalance, members, gone)
    return Blocked(explained(own, _named(blockers, own), troubles, triggers), own, blockers, members, gone)


def _by_incarnation(rows: Sequence[Row]) -> dict[GroupIncarnation, list[Row]]:
    found: dict[GroupIncarnation, list[Row]] = defaultdict(list)
    for row in rows:
        found[incarnation_of(row)].append(row)
    return found


def _named(blockers: Sequence[dict[str, Any]], advice: Advice) -> dict[str, Any] | None:
    """Return the blocker that advice names."""
    return next((each for each in blockers if each["member_id"] == advice.member_id), None)


def incarnation_of(row: Row) -> GroupIncarnation:
    """Return the group of a row."""
    return GroupIncarnation(row.group_id, row.partition, row.incarnation)
