"""Topics that were deleted, or created anew, after an offset was committed: no tool can set an offset of theirs back.

When a topic is deleted, the coordinators write a tombstone for each of its keys, in every group. So a key of the topic
that kept its offset proves that the topic was not deleted then. Why an offset was removed, `commit_jump` knows.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.report.offsets.keys import histories
from kip848_records.report.sql import query

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.offsets.keys import Commit, Key, KeyHistory, Scope


class Gone(NamedTuple):
    """Keys whose topic was deleted or created anew (`is_certain`), or whose offsets were removed, perhaps with it.

    `at_ms`: when they were removed; None if only the topic's id shows it. `topic_ids`: the id then, and the newest.
    """

    at_ms: int | None
    is_certain: bool
    topic_ids: tuple[str, str] | None = None


def gone(scope: Scope, found: Sequence[KeyHistory]) -> dict[Key, Gone]:
    """Return which keys have a topic that is gone, or may be; `found`: those of the scope that had an offset."""
    changed = [each for each in found if each.removed is not None or _has_other_id(each.then, each.last)]
    if not changed:
        return {}
    topics = {each.key.topic for each in changed}
    by_topic: dict[str, list[KeyHistory]] = defaultdict(list)
    for each in histories(scope._replace(group=None, partition=None), topics):
        by_topic[each.key.topic].append(each)
    deletions = scope.tables.rows(query("topic_deletions"), scope.run.cluster)
    deleted = {(row.offsets_partition, row.removed_offset) for row in deletions}
    evidence = {topic: _Evidence(by_topic[topic], deleted) for topic in topics}
    shown = {each.key: evidence[each.key.topic].of(each) for each in found if each.key.topic in topics}
    return {key: each for key, each in shown.items() if each is not None}


def _has_other_id(then: Commit | None, later: Commit | None) -> bool:
    ids = [commit.topic_id for commit in (then, later) if commit is not None]
    return len(ids) == 2 and None not in ids and ids[0] != ids[1]  # noqa: PLR2004 - both


class _Evidence:
    """What the keys of all groups show of one topic."""

    def __init__(self, found: Sequence[KeyHistory], deleted: Collection[tuple[int, int]]) -> None:
        self._deleted = deleted
        self._has_survivors = any(each.had_offset and each.removed is None for each in found)
        named = [each.last for each in found if each.last is not None and each.last.topic_id is not None]
        self._newest = max(named, key=lambda commit: commit.at_ms or 0, default=None)

    def of(self, history: KeyHistory) -> Gone | None:
        """Return whether the topic of a key is gone; None if it is there, as far as the log shows."""
        then, removed = history.then, history.removed
        at_ms = None if removed is None else removed.at_ms
        newest = self._newest
        is_newer = then is not None and newest is not None and (newest.at_ms or 0) > (then.at_ms or 0)
        if then is not None and newest is not None and is_newer and _has_other_id(then, newest):
            return Gone(at_ms, is_certain=True, topic_ids=(str(then.topic_id), str(newest.topic_id)))
        if removed is None or then is None or self._has_survivors:
            return None
        return Gone(at_ms, is_certain=(history.log_partition, removed.place) in self._deleted)


def topics_of_file(scope: Scope) -> set[str]:
    """Return the names of the topics in the user's file; none without one."""
    rows: Sequence[Row] = scope.tables.rows(query("topics_of_file"), scope.run.cluster)
    return {row.topic for row in rows}


def members_now(scope: Scope) -> Mapping[str, int]:
    """Return how many members the groups have at the end of the log; groups without one are missing."""
    rows = scope.tables.rows(query("groups_with_members"), scope.run.cluster)
    return {row.group_id: row.members for row in rows}
