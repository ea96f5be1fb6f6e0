"""The blocker of a group at the end of the log, from the rows of the group: the column `group_state.blocker`."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import KINDS
from kip848_records.replay.blocker.advice import (
    WORKER_DELAY,
    Advice,
    Gone,
    MemberNow,
    Ongoing,
    advise,
    current_blockers,
    members_of,
)
from kip848_records.replay.blocker.over_time import explained, present_alarms
from kip848_records.replay.diagnosis.coordinator_silent import PATTERN as SILENT
from kip848_records.replay.group.vocabulary import ASSIGNING, NOT_READY, UNKNOWN
from kip848_records.replay.rows import PresentBlocker

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.observed import ObservedRows
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.rows import Row

_OF_ROW: Final = tuple(name for name in Ongoing._fields if name not in {"is_assigning", "is_not_ready", "members_left"})


def present_blocker(context: Context, observed: ObservedRows, episodes: Collection[Episode]) -> Row | None:
    """Return who blocks the group's last ongoing rebalance, and what to do; None if none is ongoing."""
    rebalance = max(context.ongoing.values(), key=attrgetter("began_offset"), default=None)
    if rebalance is None:
        return None
    stays = [stay for stay in observed.stays if stay.incarnation == rebalance.incarnation]
    ongoing = _ongoing(rebalance, observed.state, stays)
    members = members_of(ongoing, _members(rebalance.incarnation, observed, stays))
    gone = _gone(rebalance.incarnation, observed, stays)
    own = advise(ongoing, members, gone)
    blockers = current_blockers(ongoing.blockers or (), members)
    triggers = [stay for stay in stays if stay.member_id in rebalance.trigger_member_ids]
    alarms = present_alarms(episodes, observed.state.incarnation)
    advice = explained(own, _named(blockers, own), alarms, triggers)
    worst, is_delay = _named(blockers, advice), advice.pattern == WORKER_DELAY
    now = None if worst is None else members[worst.member_id]
    return PresentBlocker(
        pattern=advice.pattern,
        member_id=advice.member_id,
        client_id=None if worst is None else worst.client_id,
        client_host=None if worst is None else worst.client_host,
        who=advice.who,
        state=None if now is None else now.state,
        since=_since(context.captured_at, now, gone if is_delay else ()),
        sentence=advice.sentence,
        next_step=advice.next,
        ongoing=None if advice is own else own.sentence,
        member_ids=() if advice.pattern == SILENT.name else tuple(each.member_id for each in blockers),
        workers=tuple(each.worker for each in gone) if is_delay else (),
        lost_units=sum(each.units for each in gone) if is_delay else 0,
    )


def _named(blockers: Sequence[Row], advice: Advice) -> Row | None:
    """Return the blocker that advice names."""
    return next((each for each in blockers if each.member_id == advice.member_id), None)


def _since(captured_at: int | None, now: MemberNow | None, gone: Sequence[Gone]) -> int | None:
    """Return since when the member is in its state, or the first of the workers has been gone."""
    if now is None or now.state_ms is None or captured_at is None:
        return min((each.released_at for each in gone if each.released_at is not None), default=None)
    return captured_at - now.state_ms


def _ongoing(rebalance: Row, state: Row, stays: Sequence[Row]) -> Ongoing:
    is_same = rebalance.group_type == state.group_type and rebalance.incarnation == state.incarnation
    is_behind = (
        KINDS[state.group_type].hides_rebalances
        and state.state != UNKNOWN
        and state.group_epoch is not None
        and state.assignment_epoch is not None
        and state.group_epoch > state.assignment_epoch
    )
    left = (stay for stay in stays if stay.left_offset is not None and stay.left_offset >= rebalance.began_offset)
    return Ongoing(
        **{name: getattr(rebalance, name) for name in _OF_ROW},
        is_assigning=is_same and (state.state == ASSIGNING or is_behind),
        is_not_ready=is_same and state.state == NOT_READY,
        members_left=sum(1 for _ in left),
    )


def _members(incarnation: int, observed: ObservedRows, stays: Sequence[Row]) -> Mapping[str, MemberNow]:
    """Return the members at capture, by their ids."""
    timeouts = {stay.member_id: stay.rebalance_timeout_ms for stay in stays if stay.left_offset is None}
    return {
        row.member_id: MemberNow(
            row.state,
            row.duration_ms,
            timeouts.get(row.member_id),
            bool(row.is_classic),
            (incarnation, row.member_id) in observed.waiting,
        )
        for row in observed.unsettled
        if row.incarnation == incarnation
    }


def _gone(incarnation: int, observed: ObservedRows, stays: Sequence[Row]) -> list[Gone]:
    """Return the workers that left connectors and tasks behind which no worker runs, those with most of them first."""
    if not observed.left_behind:
        return []
    came: dict[str, int] = defaultdict(int)
    workers = observed.workers
    present = {member_id: url for member_id, url in workers.present if workers.generation[0] == incarnation}
    for stay in stays:
        url = present.get(stay.member_id)
        if url is not None and stay.joined_offset is not None:
            came[url] = max(came[url], stay.joined_offset)
    hosts = {stay.member_id: stay.client_host for stay in stays if stay.client_host is not None}
    found = []
    for (of, member_id), left in observed.left_behind.items():
        if of == incarnation:
            url = workers.urls.get((incarnation, member_id))
            name = member_id if url is None else url
            if url is not None and (incarnation, url) in workers.shared:
                name = f"{url} @ {hosts.get(member_id, '?').replace('/', '')}, member {member_id}"
            is_back = url is not None and url in came and came[url] >= left.released_offset
            found.append(Gone(name, left.units, left.released_at, is_back))
    return sorted(found, key=lambda each: (-each.units, each.worker))
