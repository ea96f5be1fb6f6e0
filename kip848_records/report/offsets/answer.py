"""Which offsets were committed at a time, and which of them the log does not show."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kip848_records.errors import InputError
from kip848_records.queries.needs import require
from kip848_records.report.offsets import words
from kip848_records.report.offsets.gone import gone, members_now, topics_of_file
from kip848_records.report.offsets.keys import Scope, histories, partitions
from kip848_records.report.sql import query
from kip848_records.tables.errors import NoGroupError, TablesError
from kip848_records.tables.location import groups_command, location_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.queries.tables import Row, Run, Tables
    from kip848_records.report.offsets.keys import Commit, Key, KeyHistory


NEEDS: Final = ("offset_commits",)


@dataclass
class Answer:
    """The offsets at a time.

    `offsets`: by key, in the order of the file. `unknown`: the keys that are left out because the log does not show
    their offset. `is_complete`: there are none, and the start of the log is there. `notes`: what was left out, and what
    else to know, a sentence each.
    """

    offsets: dict[Key, int]
    unknown: set[Key]
    is_complete: bool
    notes: list[str]


def offsets_at(tables: Tables, cluster: str | None, group: str | None, at_ms: int | None) -> Answer:
    """Return the offsets of a group, or of all groups of a cluster, as the coordinator had them at a time.

    `at_ms`: in ms since 1970; None: at the end of the log. Raises InputError if the tables have no offset commits, no
    such group, or nothing of that time.
    """
    scope = _scope(tables, cluster, group, at_ms)
    known = partitions(scope)
    _check_time(scope, known)
    moved = {} if group is not None else _moved(tables, scope.run.cluster)
    there = {group_id: _partition_at(now, at_ms) for group_id, now in moved.items()}
    found = sorted(
        (each for each in histories(scope) if there.get(each.key.group_id, each.log_partition) == each.log_partition),
        key=lambda history: history.key,
    )
    if not found:
        raise InputError(f"the log has no offset commit of {_who(group)}", "the group may keep its offsets elsewhere")
    answer = _answer(scope, known, found)
    if answer.is_complete and not any(each.had_offset or _is_cut(known[each.log_partition]) for each in found):
        raise InputError(f"{_who(group)} had no committed offset {words.when(at_ms)}", words.hint_of_times(found))
    return answer


def _who(group: str | None) -> str:
    return "any group" if group is None else f"group {group!r}"


def _scope(tables: Tables, cluster: str | None, group: str | None, at_ms: int | None) -> Scope:
    runs = {run.cluster: run for run in tables.chosen_runs(cluster)}
    partition = None
    chosen = next(iter(runs)) if len(runs) == 1 else None
    if group is not None:
        places = [row for row in tables.rows(query("group_in_log"), cluster, group=group) if row.cluster in runs]
        chosen = _cluster_of_group(tables, group, cluster, places)
        # A group is in two partitions only if the topic got more of them: the newest record shows where it is now.
        partition = [row for row in places if row.cluster == chosen][-1].partition
        now = _moved(tables, chosen).get(group)
        partition = partition if now is None else _partition_at(now, at_ms)
    if chosen is None:
        raise TablesError.question_of_several_clusters(tables.shown, "offsets", [*runs])
    run: Run = runs[chosen]
    require(tables, run, NEEDS, "offsets")
    return Scope(tables, run, at_ms, group, partition)


def _moved(tables: Tables, cluster: str) -> dict[str, Row]:
    """Return the groups that moved when the topic got more partitions: from where, to where, and when."""
    return {row.group_id: row for row in tables.rows(query("moved_groups"), cluster)}


def _partition_at(moved: Row, at_ms: int | None) -> int:
    """Return the partition in which a group that moved was at a time; None: at the end of the log."""
    is_before = at_ms is not None and at_ms < moved.moved_ms
    return int(moved.moved_from if is_before else moved.partition)


def _cluster_of_group(tables: Tables, group: str, cluster: str | None, places: Sequence[Row]) -> str:
    clusters = sorted({row.cluster for row in places})
    if not clusters:
        groups = [row.group_id for row in tables.rows(query("groups_in_log"), cluster)]
        command = groups_command(tables.shown)
        raise NoGroupError.named(group, location_text(tables.shown), groups, command, has_commits=True)
    if len(clusters) > 1:
        raise TablesError.several_clusters(group, clusters)
    return str(clusters[0])


def _check_time(scope: Scope, known: Mapping[int, Row]) -> None:
    first_ms = min((row.first_ms for row in known.values()), default=None)
    if scope.at_ms is not None and first_ms is not None and scope.at_ms < first_ms:
        raise InputError(
            f"{words.time(scope.at_ms)} is before the log, whose first record is of {words.time(first_ms)}",
            "pass a later time with --at, or an older copy of the log",
        )
    now = datetime.now(UTC)
    latest = max(now, scope.run.captured_at or now)  # the clock of a broker may be ahead
    if scope.at_ms is not None and scope.at_ms > latest.timestamp() * 1000:
        raise InputError(
            f"{words.time(scope.at_ms)} is in the future", "omit --at for the offsets at the end of the log"
        )


def _answer(scope: Scope, known: Mapping[int, Row], found: Sequence[KeyHistory]) -> Answer:
    """Decide each key: in the file, left out as not known, or left out because its topic is gone."""
    unknown: dict[str, list[Key]] = defaultdict(list)
    shown: list[KeyHistory] = []
    for each in found:
        why = _why_unknown(each, known[each.log_partition], scope.at_ms)
        if why is not None:
            unknown[why].append(each.key)
        elif each.had_offset:
            shown.append(each)
    lost = gone(scope, shown)
    kept = [each for each in shown if each.key not in lost or not lost[each.key].is_certain]
    offsets = {each.key: each.then.committed for each in kept if each.then and each.then.committed is not None}
    offsets = dict(sorted(offsets.items()))
    return Answer(
        offsets,
        {key for keys in unknown.values() for key in keys},
        is_complete=not unknown and not any(row.start_missing for row in known.values()),
        notes=[
            *words.summary(scope, known, offsets),
            *words.left_out(unknown),
            *words.negative(found),
            *words.gone(lost),
            *words.pending(found, offsets),
            *words.of_partitions(scope, known, shown),
            *words.of_topics(topics_of_file(scope), offsets),
            *words.members(members_now(scope), offsets),
        ],
    )


def _is_cut(part: Row) -> bool:
    """Return whether compaction may have removed every record of a key that had an offset then, and its tombstone."""
    until = part.until_offset
    return until is not None and (part.complete_from is None or until < part.complete_from)


def _why_unknown(history: KeyHistory, part: Row, at_ms: int | None) -> str | None:
    """Return why the log does not show which offset a key had; None if it does.

    Compaction keeps the last record of each key: a record that is the last one of all was the last one then as well.
    """
    log, then, last = words.log(history.log_partition), history.then, history.last
    place = -1 if then is None else then.place
    until = part.until_offset
    if part.first_lost is not None and part.last_lost > place and (until is None or part.first_lost < until):
        return f"records of {log} up to offset {part.last_lost} are lost"
    if then is None and part.start_missing:
        return f"the start of {log} is missing, and an older record may be in it"
    if _is_cut(part) and (then is None or last is None or then.place != last.place):
        return words.not_complete(history.log_partition, part.complete_ms, at_ms)
    pending = history.pending
    if then is None and until is not None and pending is not None and pending.place < (part.complete_from or 0):
        # The transaction was committed since, and then the cleaner removed what its record replaced.
        return words.replaced(history.log_partition, pending.place, at_ms)
    return None if then is None else _why_not_read(then, log)


def _why_not_read(then: Commit, log: str) -> str | None:
    """Return why a record does not show the offset that it commits; None if it does."""
    if then.error is not None:
        return f"its record at offset {then.place} of {log} cannot be read: {then.error}"
    if then.transaction == "unknown" and then.producer_id is not None:
        return f"the log does not show whether the transaction of its record at offset {then.place} was committed"
    return None
