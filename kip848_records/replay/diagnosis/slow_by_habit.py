"""The pattern `slow_by_habit`: one member takes much longer than the others to revoke partitions, again and again."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.severity import WARNING
from kip848_records.replay.group.vocabulary import CONVERGED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.limits import Limits

PATTERN: Final = "slow_by_habit"


def slow_by_habit(history: GroupHistory) -> Iterator[Episode]:
    """Yield the members that are slow. Only those count that had something to revoke; classic groups write no times."""
    limits = history.limits
    revoked: dict[Any, list[Event]] = defaultdict(list)
    for row in history.rebalances:
        if row.outcome != CONVERGED or row.started_empty is not False or row.ended_at is None:
            continue
        for blocker in row.revoked:
            revoked[_who(blocker, history)].append(Event(row.ended_at, row.began_offset, blocker))
    for who, events in revoked.items():
        events.sort(key=lambda event: (event.at, event.offset))
        slow = [event for event in events if event.item.revoke_ms >= limits.slow_revocation]
        for span in recognise(slow, [Test(limits.slow_revocations, limits.slow_within)], limits, history.captured_at):
            of_it = [event.item.revoke_ms for event in events if span.first_seen <= event.at <= span.last_seen]
            others = [
                event.item.revoke_ms
                for other, found in revoked.items()
                if other != who
                for event in found
                if span.first_seen <= event.at <= span.last_seen
            ]
            usual = median(of_it)
            if len(others) < limits.slow_others:
                continue
            if usual < limits.slow_times * median(others) or not _is_habit(of_it, others, limits):
                continue
            blocker = span.events[-1].item
            subject = Subject(
                client_id=blocker.client_id,
                client_host=blocker.client_host,
                instance_id=blocker.instance_id,
                member_id=who if isinstance(who, str) else None,
            )
            yield of_span(
                PATTERN,
                WARNING,
                subject,
                span,
                history.newest_incarnation,
                members=frozenset(event.item.member_id for event in span.events),
                probable_cause="slow_revocation",
                facts={
                    "revoke_ms": int(usual),
                    "others_ms": int(median(others)),
                    "rebalances": frozenset(event.offset for event in span.events),
                },
            )


def _is_habit(of_it: Sequence[int], others: Sequence[int], limits: Limits) -> bool:
    """Return whether a member is slow nearly always, and others are not: where all are at times, one is by chance."""
    its, theirs = (sum(ms >= limits.slow_revocation for ms in found) / len(found) for found in (of_it, others))
    return its >= max(limits.slow_share, limits.slow_times * theirs)


def _who(blocker: Any, history: GroupHistory) -> Any:  # noqa: ANN401
    """Return the name of a member; its id if several members have that name at once."""
    if blocker.instance_id is not None:
        return ("instance", blocker.instance_id)
    name = blocker.client_id, blocker.client_host
    return name if history.at_once(name) <= 1 else blocker.member_id
