"""The patterns `spares` and `no_topic`: members that have nothing, because others have all, or there is nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject
from kip848_records.replay.diagnosis.holdings import Sweep, holdings, key_of
from kip848_records.replay.diagnosis.intervals import Interval, bridged, long_ones
from kip848_records.replay.diagnosis.severity import INFO, WARNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.holdings import Holding

SPARES: Final = "spares"
NO_TOPIC: Final = "no_topic"
_SUBSCRIPTIONS: Final = 50
"""Each moment is looked at for each of them."""


def without_partitions(history: GroupHistory) -> Iterator[Episode]:
    """Yield a row for the spares of a group, and one for each subscription to nothing."""
    limits = history.limits
    found = holdings(history)
    idle = [holding for holding in found if holding.is_idle]
    if not idle:
        return
    subscriptions = Counter(key_of(holding.stay) for holding in idle)
    keys = [key for key, _ in subscriptions.most_common(_SUBSCRIPTIONS)]
    spares = Sweep(found, limits.spares_age).intervals(
        lambda sweep, _: any(sweep.idle[key] > 0 and sweep.has_holder(key) for key in keys), [None]
    )[None]
    for each in long_ones(bridged(spares, limits.spares_bridge), limits.spares_for, history.captured_at):
        yield _episode(SPARES, INFO, Subject(), idle, each, limits.spares_for, history)
    nothing = Sweep(found, 0).intervals(lambda sweep, key: sweep.idle[key] > 0 and not sweep.has_holder(key), keys)
    unheld = Sweep(found, 0).intervals(lambda sweep, key: not sweep.has_holder(key), keys)
    for key, intervals in nothing.items():
        bridges = list(_bridged(intervals, unheld[key], limits.spares_bridge))
        for each in long_ones(bridges, limits.no_topic_for, history.captured_at):
            topics, regex = key
            those = [holding for holding in idle if key_of(holding.stay) == key]
            subject = Subject(topics=topics or None, regex=regex)
            episode = _episode(NO_TOPIC, WARNING, subject, those, each, limits.no_topic_for, history)
            episode.probable_cause = _why(regex, history)
            yield episode


def _bridged(intervals: Iterable[Interval], unheld: Sequence[Interval], pause: int) -> Iterator[Interval]:
    """Yield intervals, pauses bridged in which nobody had a partition: who restarts has none for a moment each time."""
    begins = [each.begin for each in unheld]
    for _, together in groupby(intervals, lambda each: bisect_right(begins, each.begin)):
        yield from bridged(together, pause)


def _why(regex: str | None, history: GroupHistory) -> str:
    if regex is None:
        return "topic_not_there"
    is_resolved = regex in history.rows.resolutions.last
    return "expression_matches_nothing" if is_resolved else "expression_not_resolved"


def _overlaps(begin: int, end: int | None, each: Interval) -> bool:
    return (end is None or end > each.begin) and (each.end is None or begin < each.end)


def _most_at_once(idle: Iterable[Holding], each: Interval) -> int:
    steps = []
    for holding in idle:
        steps.append((max(holding.begin, each.begin), 1))
        if holding.end is not None:
            steps.append((holding.end, -1))
    count = most = 0
    for _, by in sorted(steps):
        count += by
        most = max(most, count)
    return most


def _episode(  # noqa: PLR0913, PLR0917
    pattern: str,
    severity: str,
    subject: Subject,
    idle: Iterable[Holding],
    each: Interval,
    needed: int,
    history: GroupHistory,
) -> Episode:
    last = history.captured_at if each.end is None else each.end
    those = [holding for holding in idle if _overlaps(holding.begin, holding.end, each)]
    those.sort(key=lambda holding: (holding.end is not None, -(holding.end or 0), holding.begin))
    clients = sorted({holding.stay.client_id for holding in those if holding.stay.client_id is not None})
    return Episode(
        pattern,
        severity,
        subject._replace(members=_most_at_once(those, each), clients=tuple(clients[:20])),
        len({holding.stay.member_id for holding in those}),
        each.begin,
        last,
        each.begin + needed,
        each.end,
        history.newest_incarnation,
        evidence=() if each.offset is None else (each.offset,),
        members=frozenset(),
        facts={"who": [holding.stay.subject for holding in those]},
    )
