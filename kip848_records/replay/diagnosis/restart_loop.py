"""The pattern `restart_loop`: processes of one name that do not stay, one after the other."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis import poll_timeout
from kip848_records.replay.diagnosis.batches import Loop, without_batches
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.limits import SECOND
from kip848_records.replay.diagnosis.severity import WARNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.job import Job
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.stays import Stay

PATTERN: Final = "restart_loop"
KILLED: Final = "killed"
KILLED_OR_ENDED: Final = "killed_or_ended"
ENDED: Final = "ended"
_SHORT, _LEAKING, _POLL = range(3)


class Chain:
    """The stays of a name that follow one another: members that are exchanged in parallel are no loop.

    A stay counts if it began after the last counted one ended, or while that one may have been a corpse. Corpses end as
    far apart as they were killed; members that end at once were there at once.
    """

    def __init__(self, pause: int) -> None:
        self._pause = pause
        self._ends: list[int] = []
        self._corpses: list[int] = []
        self._last: Stay | None = None

    def follows(self, stay: Stay) -> bool:
        """Return whether a stay began soon after an end of the name, or while the killed process was still a member."""
        assert stay.joined_at is not None  # noqa: S101 - measured
        place = bisect_left(self._ends, stay.joined_at - self._pause)
        return any(
            end <= stay.joined_at + corpse
            for end, corpse in zip(self._ends[place : place + 2], self._corpses[place : place + 2], strict=True)
        )

    def is_next(self, stay: Stay) -> bool:
        """Return whether a stay began after the last one that counts."""
        last = self._last
        assert stay.joined_at is not None and stay.left_at is not None  # noqa: S101, PT018 - measured
        if last is None or last.left_at is None or stay.joined_at >= last.left_at:
            return True
        if stay.joined_at < last.left_at - last.corpse:
            return False
        if stay.left_offset == last.left_offset:  # of one classic generation
            return stay.was_never_alive and last.was_never_alive
        apart = stay.left_at - last.left_at
        return apart >= SECOND and apart * 3 >= stay.joined_at - (last.joined_at or 0)

    def end(self, stay: Stay) -> None:
        """Note an end of the name."""
        assert stay.left_at is not None  # noqa: S101 - measured
        self._ends.append(stay.left_at)
        self._corpses.append(stay.corpse)

    def count(self, stay: Stay) -> None:
        """Note that a stay counts."""
        self._last = stay


def restart_loops(history: GroupHistory, jobs: Sequence[Job] = ()) -> list[Episode]:
    """Return the loops of single names, then those of names that are new each time."""
    limits = history.limits
    loops: list[Loop] = []
    by_name: dict[tuple[str | None, str | None], list[Stay]] = defaultdict(list)
    for stay in history.all_ends:
        if stay.instance_id is None and not stay.returned and not any(job.is_run(stay) for job in jobs):
            by_name[stay.name].append(stay)
    explained: set[Stay] = set()
    by_name.pop((None, None), None)  # stays of which no name is known are not one process
    for name, ends in by_name.items():
        if len(ends) >= min(limits.poll_timeouts, limits.short_stays):
            for span in _loops(ends, history):
                stays = [event.item for event in span.events]
                explained.update(stays)
                subject = Subject(client_id=name[0], client_host=name[1], members_of_that_name=history.at_once(name))
                loops.append(Loop(_episode(span, stays, subject, history), stays))
    for key, ended in _of_new_names(history, explained).items():
        for span in _new_loops(ended, limits, history.captured_at):
            stays = [event.item for event in span.events]
            clients = tuple(sorted({stay.client_id for stay in stays if stay.client_id is not None}))
            subject = Subject(what=key, members=len({stay.name for stay in stays}), clients=clients[:20])
            episode = _episode(span, stays, subject, history)
            episode.facts["is_new_each_time"] = True
            loops.append(Loop(episode, stays))
    return without_batches(loops, history)


def _loops(ends: Sequence[Stay], history: GroupHistory) -> list[Span]:
    """Return the episodes of the stays of one name, by their ends; of some only the end was seen."""
    limits = history.limits
    chain = Chain(limits.restart_pause)
    events = []
    timeouts: set[int | None] = set()
    for stay in ends:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - it has ended
        held = []
        if stay.is_measured and chain.is_next(stay):
            follows = chain.follows(stay)
            if follows and stay.length <= limits.short_stay + stay.corpse:
                held.append(_SHORT)
            if (
                follows
                and stay.length <= limits.leaking_stay + stay.corpse
                and history.old_members.before(stay.left_at) > (stay.length >= limits.leaking_stay)
            ):
                held.append(_LEAKING)
            if _is_poll_timeout(stay, history):
                held.append(_POLL)
                timeouts.add(stay.rebalance_timeout)
        chain.end(stay)
        if held:
            chain.count(stay)
            events.append(Event(stay.left_at, stay.left_offset, stay, tuple(held)))
    tests = [
        Test(limits.short_stays, limits.short_stays_within),
        Test(limits.short_stays, limits.leaking_within),
        Test(limits.poll_timeouts, poll_timeout.window(timeouts, limits.poll_window, limits)),
    ]
    return recognise(events, tests, limits, history.captured_at)


def _is_poll_timeout(stay: Stay, history: GroupHistory) -> bool:
    """Return whether a stay in a classic group ended when max.poll.interval.ms had passed since it joined.

    Workers of Connect have none.
    """
    is_consumer = stay.is_classic and not history.is_connect
    return is_consumer and poll_timeout.is_poll_timeout(stay.length, stay.rebalance_timeout, history.limits)


def _of_new_names(history: GroupHistory, explained: set[Stay]) -> dict[str, list[tuple[Stay, bool]]]:
    """Return the ends of stays without an explanation, by normalised client id, and whether their name was new."""
    first: dict[tuple[str | None, str | None], Stay] = {}
    for stay in history.stays:
        first.setdefault(stay.name, stay)
    found: dict[str, list[tuple[Stay, bool]]] = defaultdict(list)
    for stay in history.ends:
        if stay.instance_id is None and not stay.returned and stay.normalised is not None:
            found[stay.normalised].append((stay, first[stay.name] is stay and stay not in explained))
    return found


def _new_loops(ends: Iterable[tuple[Stay, bool]], limits: Limits, captured_at: int) -> list[Span]:
    chain = Chain(limits.replaced_pause)
    events = []
    for stay, is_new in ends:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - measured
        is_short = is_new and stay.length <= limits.short_stay + stay.corpse
        counts = is_short and chain.is_next(stay) and chain.follows(stay)
        chain.end(stay)
        if counts:
            chain.count(stay)
            events.append(Event(stay.left_at, stay.left_offset, stay))
    return recognise(events, [Test(limits.short_stays, limits.short_stays_within)], limits, captured_at)


def _episode(span: Span, stays: Sequence[Stay], subject: Subject, history: GroupHistory) -> Episode:
    return of_span(
        PATTERN,
        WARNING,
        subject,
        span,
        stays[-1].incarnation,
        probable_cause=_cause(stays, span, history),
        members=frozenset(stay.member_id for stay in stays),
        usual_stay_ms=int(median(stay.length for stay in stays)),
    )


def _cause(stays: Sequence[Stay], span: Span, history: GroupHistory) -> str:
    if _POLL in span.held and sum(_is_poll_timeout(stay, history) for stay in stays) * 2 >= len(stays):
        return poll_timeout.POLL_TIMEOUT
    pairs = list(pairwise(stays))
    overlaps = [stay for stay, later in pairs if (later.joined_at or 0) < (stay.left_at or 0)]
    # Who was killed stays for a session; of those that stay for less, several run side by side.
    if pairs and sum(stay.length >= _session(stay, history.limits) for stay in overlaps) * 2 >= len(pairs):
        return KILLED
    # A killed member of a classic group holds up the rebalance that its successor began: one generation shows both.
    together = sum(later.joined_offset == stay.left_offset for stay, later in pairs)
    return KILLED_OR_ENDED if pairs and (len(overlaps) + together) * 2 >= len(pairs) else ENDED


def _session(stay: Stay, limits: Limits) -> int:
    """Return the session timeout in ms: a classic member's own, else the shortest that brokers allow by default."""
    return stay.corpse - limits.classic_corpse if stay.is_classic else limits.shortest_session
