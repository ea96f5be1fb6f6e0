"""The pattern `restart_loop`: processes of one name that do not stay, one after the other."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT
from kip848_records.replay.diagnosis import poll_timeout
from kip848_records.replay.diagnosis.batches import CAUSE as BATCH
from kip848_records.replay.diagnosis.batches import Loop, without_batches
from kip848_records.replay.diagnosis.client_settings import poll_step, restart_step
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.job import jobs
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, SECOND, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import interval, last_time, number, tense, times, who
from kip848_records.replay.diagnosis.poll_timeout import MAX_POLL, POLL_TIMEOUT
from kip848_records.replay.diagnosis.severity import BY_COST
from kip848_records.replay.diagnosis.stays import CLASSIC_CORPSE, Members
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay

KILLED: Final = "killed"
KILLED_OR_ENDED: Final = "killed_or_ended"
ENDED: Final = "ended"
_SHORT, _LEAKING, _POLL = range(3)

_SHORTEST_SESSION: Final = 45 * SECOND
"""The shortest session of consumer, share and streams members that brokers allow by default."""


class Settings(PatternSettings, pattern="restart_loop"):
    """The limits of `restart_loop` that users may change."""

    short_stays = counted(5, "stays", "A process that is started once more, or a deployment that is tried, has fewer.")
    short_stay_seconds = seconds(10 * MINUTE, "A process that worked for longer has started well.")
    within_seconds = seconds(HOUR, "A restart each 12 min is still a loop; people come by less.")
    leaking_stay_seconds = seconds(
        30 * MINUTE,
        "Memory leaks take tens of minutes to kill a process. As many stays of at most this length count while "
        "other members stay for longer.",
    )
    leaking_within_seconds = seconds(3 * HOUR, "Five stays of 30 min, and the pauses between them.")
    poll_timeouts = counted(
        3,
        "stays",
        "Stays of a classic member that end at its rebalance timeout, which is max.poll.interval.ms. Chance does "
        "not end three of them there.",
    )
    poll_timeouts_within_seconds = seconds(
        2 * HOUR,
        "Consumers miss a poll when the work is heavy, not all the time. Six rebalance timeouts, at most a day, if "
        "that is longer.",
    )
    restart_pause_seconds = seconds(
        330 * SECOND,
        "A process of the same name comes so soon after the last one. Kubernetes waits at most 5 min before it "
        "starts a container again; longer pauses are jobs and people.",
    )
    replaced_pause_seconds = seconds(
        3 * MINUTE,
        "A process of a new name, such as a new pod, comes so soon after the last one: scheduling takes less. "
        "Those that stay for no longer than this may come within restart_pause_seconds, because what starts them "
        "waits the longer the sooner they end.",
    )


class Chain:
    """The stays of a name that follow one another: members that are exchanged in parallel are no loop.

    A stay counts if it began after the last counted one ended, or while that one may have been a corpse. Corpses end as
    far apart as they were killed; members that end at once were there at once.
    """

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._corpses: list[int] = []
        self._last: Stay | None = None

    def follows(self, stay: Stay, pause: int) -> bool:
        """Return whether a stay began so soon after an end of the name, or while the killed process was a member."""
        assert stay.joined_at is not None  # noqa: S101 - measured
        place = bisect_left(self._ends, stay.joined_at - pause)
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


def restart_loops(history: GroupHistory) -> list[Episode]:
    """Return the loops of single names, then those of names that are new each time."""
    limits = history.limits
    loops: list[Loop] = []
    ended = [stay for stay in history.all_ends if stay.instance_id is None and not stay.returned]
    ended = [stay for stay in ended if not any(job.is_run(stay) for job in history.once(jobs))]
    by_name: dict[tuple[str | None, str | None], list[Stay]] = defaultdict(list)
    for stay in ended:
        by_name[stay.name].append(stay)
    explained: set[Stay] = set()
    by_name.pop((None, None), None)  # stays of which no name is known are not one process
    for name, ends in by_name.items():
        if len(ends) >= min(limits[Settings.poll_timeouts], limits[Settings.short_stays]):
            for span in _loops(ends, history):
                stays = [event.item for event in span.events]
                explained.update(stays)
                subject = Subject(client_id=name[0], client_host=name[1], members_of_that_name=history.at_once(name))
                loops.append(Loop(_episode(span, stays, subject, history), stays))
    for key, found in _of_new_names(ended, explained, history).items():
        for span in _new_loops(found, history):
            stays = [event.item for event in span.events]
            clients = tuple(sorted({stay.client_id for stay in stays if stay.client_id is not None}))
            subject = Subject(what=key, members=len({stay.name for stay in stays}), clients=clients[:20])
            episode = _episode(span, stays, subject, history)
            episode.facts["is_new_each_time"] = True
            loops.append(Loop(episode, stays))
    return without_batches(loops, history)


def _loops(ends: Sequence[Stay], history: GroupHistory) -> list[Span]:
    """Return the episodes of the stays of one name, by their ends; of some only the end was seen."""
    limits, old = history.limits, history.once(_old_members)
    chain = Chain()
    events = []
    timeouts: set[int | None] = set()
    for stay in ends:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - it has ended
        held = []
        if stay.is_measured and chain.is_next(stay):
            follows = chain.follows(stay, limits[Settings.restart_pause_seconds])
            if follows and stay.length <= limits[Settings.short_stay_seconds] + stay.corpse:
                held.append(_SHORT)
            if (
                follows
                and stay.length <= limits[Settings.leaking_stay_seconds] + stay.corpse
                and old.before(stay.left_at) > (stay.length >= limits[Settings.leaking_stay_seconds])
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
        Test(limits[Settings.short_stays], limits[Settings.within_seconds]),
        Test(limits[Settings.short_stays], limits[Settings.leaking_within_seconds]),
        Test(
            limits[Settings.poll_timeouts], poll_timeout.window(timeouts, limits[Settings.poll_timeouts_within_seconds])
        ),
    ]
    return recognise(events, tests, limits, history.captured_at)


def _is_poll_timeout(stay: Stay, history: GroupHistory) -> bool:
    """Return whether a stay in a classic group ended when max.poll.interval.ms had passed since it joined.

    Workers of Connect have none.
    """
    is_consumer = stay.is_classic and not history.is_connect
    return is_consumer and poll_timeout.is_poll_timeout(stay.length, stay.rebalance_timeout)


def _of_new_names(
    ended: Iterable[Stay], explained: set[Stay], history: GroupHistory
) -> dict[str, list[tuple[Stay, bool]]]:
    """Return the ends of stays without an explanation, by normalised client id, and whether their name was new."""
    first: dict[tuple[str | None, str | None], Stay] = {}
    for stay in history.stays:
        first.setdefault(stay.name, stay)
    found: dict[str, list[tuple[Stay, bool]]] = defaultdict(list)
    for stay in ended:
        if stay.is_measured and stay.normalised is not None:
            found[stay.normalised].append((stay, first[stay.name] is stay and stay not in explained))
    return found


def _new_loops(ends: Iterable[tuple[Stay, bool]], history: GroupHistory) -> list[Span]:
    limits = history.limits
    chain = Chain()
    events = []
    for stay, is_new in ends:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - it has ended
        is_short = is_new and stay.length <= limits[Settings.short_stay_seconds] + stay.corpse
        # What starts pods waits the longer the sooner they end; one that works for minutes may be an autoscaler's.
        ends_at_once = is_short and stay.length <= limits[Settings.replaced_pause_seconds] + stay.corpse
        pause = limits[Settings.restart_pause_seconds] if ends_at_once else limits[Settings.replaced_pause_seconds]
        counts = is_short and chain.is_next(stay) and chain.follows(stay, pause)
        chain.end(stay)
        if counts:
            chain.count(stay)
            events.append(Event(stay.left_at, stay.left_offset, stay))
    return history.spans(events, Settings.short_stays, Settings.within_seconds)


def _episode(span: Span, stays: Sequence[Stay], subject: Subject, history: GroupHistory) -> Episode:
    return of_span(
        PATTERN,
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
    if pairs and sum(stay.length >= _session(stay) for stay in overlaps) * 2 >= len(pairs):
        return KILLED
    # A killed member of a classic group holds up the rebalance that its successor began: one generation shows both.
    together = sum(later.joined_offset == stay.left_offset for stay, later in pairs)
    return KILLED_OR_ENDED if pairs and (len(overlaps) + together) * 2 >= len(pairs) else ENDED


def _session(stay: Stay) -> int:
    """Return the session timeout in ms: a classic member's own, else the shortest that brokers allow by default."""
    return stay.corpse - CLASSIC_CORPSE if stay.is_classic else _SHORTEST_SESSION


def _words(episode: Episode) -> Words:
    """Return the words of `restart_loop`."""
    subject, cause = episode.subject, episode.probable_cause
    if cause == BATCH:
        return _batch(episode)
    if episode.facts.get("is_new_each_time"):
        name = f"Processes named {subject.what}, with a new name or address each time,"
        does = tense(episode, "do not stay", "did not stay")
    else:
        name, does = who(episode), tense(episode, "does not stay", "did not stay")
    closed = "was stopped" if episode.kind == CONNECT else "closed its consumer"
    why = {
        POLL_TIMEOUT: f"Its {MAX_POLL} passed, or it restarts at that period: the log cannot tell.",
        KILLED: "It was killed or it crashed: the next one joined while it was still a member.",
        KILLED_OR_ENDED: f"It was killed, it crashed, or it {closed} while the next one joined: the log cannot tell.",
    }.get(cause or "", f"It {closed}, or it died and its session expired before the next one joined.")
    after = f"after about {duration_text(episode.usual_stay_ms)}"
    after += ", its session timeout included" if cause == KILLED else ""
    gone = "a process was gone" if cause == KILLED else "a process left"
    sentence = (
        f"{name} {does}: {times(episode)} {gone} {after}, and the next joined about every {interval(episode)}. {why}"
    )
    return sentence, poll_step(episode) if cause == POLL_TIMEOUT else restart_step(episode, last_time(episode))


def _batch(episode: Episode) -> Words:
    does = tense(episode, "end together and leave", "ended together and left")
    sentence = (
        f"{number(episode.subject.members, 'client')} {does} the group Empty, {times(episode)}: a batch that runs "
        "again and again, or all processes crash."
    )
    step = f"If it is a batch, nothing. Else read the log of any process at {last_time(episode)}: all fail together."
    return sentence, step


PATTERN: Final = Pattern(
    "restart_loop",
    _words,
    "`short_stays` stays of at most `short_stay_seconds` within `within_seconds`; or as many of at "
    "most `leaking_stay_seconds` within `leaking_within_seconds` while other members stay; or `poll_timeouts` within "
    "`poll_timeouts_within_seconds` that end at max.poll.interval.ms. Each process comes within "
    "`restart_pause_seconds` of the last one of its name, or `replaced_pause_seconds` if each has a new name.",
    find=restart_loops,
    limits=Settings.by_name,
    error=BY_COST,
    explained_by=("storm", "assignor_flip"),
    expected="No client leaves after a short time and is started again, over and over",
)


def _old_members(history: GroupHistory) -> Members:
    """Return the members that had stayed for as long as those of a leak do not."""
    return Members(history.stays, history.begin, age=history.limits[Settings.leaking_stay_seconds])
