"""The rows of a group after its end: with `history`, and without values that depend on missing records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CLASSIC
from kip848_records.replay.group.known_history import CENSORED, LEFT_CENSORED, NEVER, OBSERVED, RIGHT_CENSORED
from kip848_records.replay.group.vocabulary import CONVERGED, EAGER, FIRST_GENERATION, OPEN, SHOWN, UNKNOWN
from kip848_records.replay.refusals import REPORTED_BUGS, release_number, releases_text
from kip848_records.replay.rows import ROW_CLASSES, Anomaly, Blocker, RefusedRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.known_history import KnownHistory
    from kip848_records.replay.rows import Row

_WITH_HISTORY: Final = frozenset(table for table, row_class in ROW_CLASSES.items() if "history" in row_class._fields)
"""Other rows are anomalies, and those that one record contains, so that no missing record makes them wrong."""

_HISTORY: Final = {
    (True, True): (OBSERVED,),
    (True, False): (RIGHT_CENSORED,),
    (False, True): (LEFT_CENSORED,),
    (False, False): (CENSORED,),
}
"""Whether no record is missing among those that a row depends on, and whether it has ended -> `(history,)`."""

_OF_A_MOMENT: Final = ("classic_generation", "group_migration")
"""Rows that a later jump of epochs makes no less true."""

_ENDS: Final[Mapping[str, Iterable[str]]] = {
    "epoch_timeline": (
        *("converged_at", "status", "superseded_by"),
        *("assign_lag_ms", "reconcile_lag_ms", "rebalance_lag_ms"),
    ),
    "rebalance_lag": ("reconciled_at", "status", "lag_ms", "revoke_ms", "wait_ms"),
    "rebalance": (
        *("ended_at", "ended_offset", "outcome", "duration_ms", "members", "partitions_moved"),
        *("unowned_ms", "longest_unowned_ms", "assigning_ms", "late_ms", "not_ready_ms"),
    ),
    "membership": ("left_at", "left_epoch", "left_how"),
}
"""Fields that are null in rows that ended before the history is complete; other tables drop such rows."""
_BEGINS: Final[Mapping[str, Iterable[str]]] = {
    "epoch_timeline": ("metadata_changed",),
    "rebalance": ("started_empty", "members_before"),
    "membership": ("joined_epoch", "joined_how"),
}
"""Fields that are null in rows that began before the history is complete."""


def finished_rows(context: Context, history: KnownHistory) -> Iterator[Any]:
    """Yield the rows of a group.

    `extra` of an epoch and of a rebalance: the first and the last assignment that its `partitions_moved` compares, and
    its causes and their members if it lies before the history is complete.
    """
    first, last = history.first_run
    new_row: Callable[[type[Any], Iterable[Any]], Row] = (
        tuple.__new__
    )  # `_make`, which counts fields, is three times as slow
    for name, fields, begin, end, has_end, extra in context.rows.take():
        if name == "anomaly":
            yield from _anomaly(begin, Anomaly._make(fields), extra, history, context)
        elif name == "refused_record":
            yield _refused(begin, RefusedRecord._make(fields), extra, history)
        elif name not in _WITH_HISTORY:
            yield new_row(ROW_CLASSES[name], fields)
        else:
            # Most logs have one complete range: most rows need no search.
            is_seen = first <= begin <= end <= last or history.is_seen(begin, end)
            row = new_row(ROW_CLASSES[name], fields + _HISTORY[is_seen, has_end])
            if history.has_jumps and name not in _OF_A_MOMENT:
                ended_before = has_end and history.is_before_jump(end)
                if ended_before and name not in _ENDS:
                    continue
                began_before = begin != NEVER and history.is_before_jump(begin)
                row = _without_unseen(name, row, extra, began_before=began_before, ended_before=ended_before)
            if extra or name == "membership":  # each stay is finished; other rows only if they have an `extra`
                row = _FINISH[name](row, extra, history, context)
            yield row


def _anomaly(begin: int, row: Row, extra: tuple[Any, ...], history: KnownHistory, context: Context) -> Iterator[Row]:
    """Yield a row of `anomaly`. `extra` of a record that is not loadable: the releases that refuse it, and a known bug.

    That is proven if all releases that may have written the log refuse it, and no record of the group is missing from
    those on which it depends. If none of them refuses it, it counts only if all later releases do: those to which its
    brokers may be upgraded.
    """
    # Without times it is unknown where operations end. The group may have been deleted, unseen, after the record that
    # another one contradicts.
    offset, is_timed = row.offset, row.at is not None
    is_proven = is_timed and history.is_proven(offset) and (begin >= offset or history.is_seen(begin, offset))
    releases = known_bug = None
    if extra:
        refusing, bug = extra
        known_bug = bug if bug in REPORTED_BUGS else None
        newest = max(map(release_number, context.writers), default=())
        refused = context.writers.intersection(refusing) or frozenset(
            release for release in refusing if release_number(release) > newest
        )
        if not refused:
            return
        releases = releases_text(refused)
        is_proven = is_proven and refused == context.writers and history.is_seen(begin, offset)
    yield row._replace(releases=releases, known_bug=known_bug, is_proven=is_proven)


def _refused(begin: int, row: Row, extra: tuple[Any, ...], history: KnownHistory) -> Row:
    """Return a row of `refused_record`. `extra`: whether it lies where the history is complete.

    Without times it is unknown where operations end, and so which records are missing.
    """
    (is_evaluated,) = extra
    is_proven = is_evaluated and row.at is not None and history.is_proven(row.offset)
    return row._replace(is_proven=is_proven and history.is_seen(begin, row.offset))


def _without_unseen(name: str, row: Row, extra: tuple[Any, ...], *, began_before: bool, ended_before: bool) -> Row:
    """Return a row without its unknown fields, if it began or ended before the epochs jumped."""
    changes: dict[str, Any] = {}
    if ended_before:
        changes.update(dict.fromkeys(_ENDS[name]))
        if name == "rebalance_lag":
            changes["blocked_by"] = ()
        elif name == "rebalance":
            _, _, changes["causes"], changes["trigger_member_ids"], *_ = extra
    if began_before:
        changes.update(dict.fromkeys(_BEGINS.get(name, ())))
        if name == "epoch_timeline":
            _, _, cause_before = extra
            if row.cause != cause_before:
                changes.update(cause=cause_before, trigger_member_ids=())
    return row._replace(**changes)


def _finish_moved(row: Row, extra: tuple[Any, ...], history: KnownHistory, _: Context) -> Row:
    compared_from, compared_to, *_others = extra
    if compared_from != NEVER and not history.is_seen(compared_from, compared_to):
        row = row._replace(partitions_moved=None)
    return row


def _finish_rebalance(row: Row, extra: tuple[Any, ...], history: KnownHistory, context: Context) -> Row:
    row = _known_rebalance(_finish_moved(row, extra, history, context), extra)
    if row.outcome == OPEN:
        context.ongoing[row.group_type] = row
    return row


def _known_rebalance(row: Row, extra: tuple[Any, ...]) -> Row:
    if row.group_type == CLASSIC:
        if row.blockers is not None:
            row = row._replace(blockers=tuple(Blocker(*blocker) for blocker in row.blockers))
        if row.history in {OBSERVED, RIGHT_CENSORED}:
            is_compared = row.partitions_moved is not None  # these depend on the units that moved, too
            return (
                row if is_compared else row._replace(unowned_ms=None, longest_unowned_ms=None, partitions_stopped=None)
            )
        changes: dict[str, Any] = dict.fromkeys(
            ("started_empty", "members_before", "rounds", "unowned_ms", "longest_unowned_ms", "partitions_stopped")
        )
        _, _, causes_before, _, is_replacement = extra
        if is_replacement:  # the record may have replaced a static member: its time is that of an earlier round
            changes.update(began_at=None, duration_ms=None)
        return row._replace(causes=causes_before, trigger_member_ids=(), **changes)
    blockers = tuple(Blocker(*blocker) for blocker in row.blockers)
    return row._replace(blockers=blockers, is_measured=_is_measured(row))


def _is_measured(row: Row) -> bool:
    """Return whether a rebalance counts among those whose durations are compared."""
    return (
        row.outcome == CONVERGED
        and row.history == OBSERVED
        and row.started_empty is False
        and not row.clock_skew
        and not row.duration_is_minimum
        and row.duration_ms is not None
    )


def _finish_membership(row: Row, _: tuple[Any, ...], history: KnownHistory, context: Context) -> Row:
    again = context.returned.get((row.incarnation, row.group_type, row.member_id))
    if again is not None and row.joined_offset is not None and row.joined_offset < again:
        return row._replace(returned=True)
    left_offset, has_ended = row.left_offset, history.has_ended(row.incarnation)
    if left_offset is not None and has_ended and history.is_seen(left_offset, history.end_of(row.incarnation)):
        return row
    return row._replace(returned=None)  # it may still return, or may have, unseen


def _finish_generation(row: Row, extra: tuple[Any, ...], history: KnownHistory, _: Context) -> Row:
    """Remove what depends on the record before, if that was not seen.

    `extra`: whether the record may have replaced a static member; the first offset on which `moved` depends; the
    offsets of the generation's last record, and of the record that ended it; how many static members came back in its
    round.
    """
    has_static_members, compared_from, last_offset, ended_offset, replaced_in_round = extra
    if ended_offset is not None and not history.is_seen(last_offset, ended_offset):
        row = row._replace(ended_at=None, ended_by=None)  # others may have followed it, unseen
    if row.history == OBSERVED:
        is_compared = history.is_seen(compared_from, row.offset)
        return row if is_compared else row._replace(moved=None)
    changes: dict[str, Any] = dict.fromkeys(("rounds", "join_ms", "joined", "left", "moved", "unapplied"))
    changes["static_replaced"] = row.static_replaced[replaced_in_round:]
    if has_static_members:
        changes["sync_ms"] = None
    if row.mode == EAGER:
        changes["mode"] = UNKNOWN
    if row.cause not in SHOWN and row.generation != FIRST_GENERATION:
        changes["cause"] = UNKNOWN
    return row._replace(**changes)


def _finish_handover(row: Row, extra: tuple[Any, ...], _: KnownHistory, __: Context) -> Row:
    """Remove the time of a classic handover if its record may have replaced a static member.

    `extra`: whether the generation has static members. The times of such a record are not those of the generation.
    """
    has_static_members = any(extra)
    if not has_static_members or row.history in {OBSERVED, RIGHT_CENSORED}:
        return row
    return row._replace(released_at=None, unowned_ms=None, wanted_ms=None)


def _finish_task(row: Row, extra: tuple[Any, ...], history: KnownHistory, _: Context) -> Row:
    """Without the assignment before it, it is unknown whether the new owner's process had the task."""
    if row.was_warm is None:
        return row
    (assigned,) = extra
    if row.acquired_offset is not None and history.is_seen(assigned, row.acquired_offset):
        return row
    return row._replace(was_warm=None)


_FINISH: Final[Mapping[str, Callable[[Any, tuple[Any, ...], KnownHistory, Context], Any]]] = {
    "epoch_timeline": _finish_moved,
    "partition_handover": _finish_handover,
    "rebalance": _finish_rebalance,
    "membership": _finish_membership,
    "classic_generation": _finish_generation,
    "task_handover": _finish_task,
}
