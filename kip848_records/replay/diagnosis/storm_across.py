"""The pattern `storm_across`: groups that rebalance in the same minute, because of something that they share."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.diagnosis.episodes import Episode, Subject
from kip848_records.replay.diagnosis.limits import MINUTE, PatternSettings, counted, share
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import lasted, some
from kip848_records.replay.diagnosis.severity import INFO, WARNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.pattern import Words


GroupKey = tuple[str, int]
"""A group id, and its partition of `__consumer_offsets`: a log may have an id in two of them."""

_ACROSS_WITHIN: Final = MINUTE
_ACROSS_MORE: Final = 2
"""So many times the groups of a storm are told as info, though they share nothing."""
_ACROSS_IN_COMMON: Final = 0.5
_ACROSS_TIMES_IN_COMMON: Final = 2


class Settings(PatternSettings, pattern="storm_across"):
    """The limits of `storm_across` that users may change."""

    min_groups = counted(5, "groups", "Four groups in one minute are chance.")
    times = counted(5, "times", "So many times as many groups as in a usual minute; chance makes less.", least=1)
    share = share(0.2, "A warning from this share of the groups with members on, whatever they have in common.")


class Begin(NamedTuple):
    """A rebalance of a group began at a time (ms). `by_topics`: a change of a topic may be its cause."""

    at: int
    group: GroupKey
    hosts: frozenset[str]
    by_topics: bool


class Outline(NamedTuple):
    """A group: its partition of `__consumer_offsets`, its runs (begins, and ends or None), its hosts and topics."""

    partition: int
    run_begins: Sequence[int]
    run_ends: Sequence[int | None]
    hosts: frozenset[str]
    topics: frozenset[str]

    def has_members(self, at: int) -> bool:
        """Return whether the group has members at a time."""
        place = bisect_right(self.run_begins, at) - 1
        if place < 0:
            return False
        end = self.run_ends[place]
        return end is None or end >= at


def storms_across(
    groups: Mapping[GroupKey, Outline], begins: Iterable[Begin], limits: Limits, captured_at: int | None
) -> Iterator[Episode]:
    """Yield the minutes in which many more groups than usual began a rebalance."""
    ordered = sorted(begins, key=lambda begin: (begin.at, begin.group))
    if not ordered:
        return
    minutes = max(1.0, ((captured_at or ordered[-1].at) - ordered[0].at) / _ACROSS_WITHIN)
    usual = len(ordered) / minutes
    needed = max(limits[Settings.min_groups], limits[Settings.times] * usual)
    for storm in _storms(ordered, needed):
        episode = _episode(storm, groups, limits, needed)
        if episode is not None:
            yield episode


class _Storm(NamedTuple):
    """Rebalances of windows close to one another; `densest`: those of the window with the most groups."""

    begins: Sequence[Begin]
    densest: Sequence[Begin]
    recognized_at: int


def _storms(ordered: Sequence[Begin], needed: float) -> list[_Storm]:
    """Return the rebalances of the windows with enough groups, those of windows close to one another together."""
    found: list[tuple[int, int, int, int, int, int]] = []
    groups = Counter[GroupKey]()
    first = 0
    for number, begin in enumerate(ordered):
        groups[begin.group] += 1
        while ordered[first].at <= begin.at - _ACROSS_WITHIN:
            groups[ordered[first].group] -= 1
            if not groups[ordered[first].group]:
                del groups[ordered[first].group]
            first += 1
        if len(groups) < needed:
            continue
        if found and ordered[first].at - ordered[found[-1][1]].at < _ACROSS_WITHIN:
            begun, _, most, *densest, at = found[-1]
            densest = [first, number] if len(groups) > most else densest
            found[-1] = begun, number, max(most, len(groups)), densest[0], densest[1], at
        else:
            found.append((first, number, len(groups), first, number, begin.at))
    return [
        _Storm(ordered[begin : end + 1], ordered[densest : last + 1], at) for begin, end, _, densest, last, at in found
    ]


def _episode(storm: _Storm, groups: Mapping[GroupKey, Outline], limits: Limits, needed: float) -> Episode | None:
    """Return the episode of a storm, judged by its densest minute: windows of chance may follow one another."""
    within = storm.begins
    ids = sorted({begin.group for begin in within})
    at = within[0].at
    there = [outline for outline in groups.values() if outline.has_members(at)]
    dense = sorted({begin.group for begin in storm.densest})
    shared = _shared(storm.densest, dense, groups, there, limits)
    is_many = len(dense) >= limits[Settings.share] * max(1, len(there))
    if not is_many and shared is None:
        if len(dense) < _ACROSS_MORE * needed:
            return None
        severity = INFO
    else:
        severity = WARNING
    cause, what = ("many_groups", None) if shared is None else shared
    return Episode(
        PATTERN,
        Subject(groups=tuple(sorted({group_id for group_id, _ in ids})), what=what, members=len(ids)),
        len(ids),
        at,
        within[-1].at,
        storm.recognized_at,
        within[-1].at,
        None,
        probable_cause=cause,
        members=frozenset(),
        facts={"all": len(there)},
        severity=severity,
    )


def _shared(
    within: Sequence[Begin],
    ids: Sequence[GroupKey],
    groups: Mapping[GroupKey, Outline],
    there: Sequence[Outline],
    limits: Limits,
) -> tuple[str, str] | None:
    """Return what most of some groups have in common, if it is twice as common among them as among all.

    A host is that of the members that began the rebalances; a partition of `__consumer_offsets` has one broker.
    """
    needed = max(limits[Settings.min_groups], len(ids) * _ACROSS_IN_COMMON)
    found: dict[tuple[str, Any], set[GroupKey]] = {}
    for begin in within:
        group = groups[begin.group]
        things: list[tuple[str, Any]] = [("shared_host", host) for host in begin.hosts]
        things.append(("shared_partition", group.partition))
        if begin.by_topics:
            things += [("shared_topic", topic) for topic in group.topics]
        for thing in things:
            found.setdefault(thing, set()).add(begin.group)
    best: tuple[str, str] | None = None
    most = 0.0
    for (cause, what), having in sorted(found.items(), key=lambda each: (each[0][0], str(each[0][1]))):
        if len(having) < needed:
            continue
        share, among_all = len(having) / len(ids), _share_of_all(cause, what, there)
        if share >= _ACROSS_TIMES_IN_COMMON * among_all and share / max(among_all, 1e-9) > most:
            best, most = (cause, str(what)), share / max(among_all, 1e-9)
    return best


def _share_of_all(cause: str, what: Any, there: Sequence[Outline]) -> float:  # noqa: ANN401
    if cause == "shared_partition":
        count = sum(what == outline.partition for outline in there)
    elif cause == "shared_host":
        count = sum(what in outline.hosts for outline in there)
    else:
        count = sum(what in outline.topics for outline in there)
    share: float = count / max(1, len(there))
    return share


def _words(episode: Episode) -> Words:
    """Return the words of `storm_across`."""
    subject, count = episode.subject, episode.count
    shared, step = {
        "shared_host": (
            f"most have members on the host {(subject.what or '').removeprefix('/')}",
            "Look at this machine: it died, came back, or was drained.",
        ),
        "shared_partition": (
            f"most are in partition {subject.what} of __consumer_offsets",
            "Look at the broker that led this partition: the network to it, or the broker itself.",
        ),
        "shared_topic": (
            f"most read the topic {subject.what}",
            "Nothing, if the topic was meant to change: it got partitions, or was made anew.",
        ),
    }.get(
        episode.probable_cause or "",
        (
            f"they are {count} of {episode.facts['all']} groups with members",
            "Look for what they depend on: the network, a machine, a database, one deployment of all.",
        ),
    )
    return (
        f"{count} groups began a rebalance within {lasted(episode)}, and {shared}: {some(subject.groups or ())}.",
        step,
    )


PATTERN: Final = Pattern(
    "storm_across",
    _words,
    "`min_groups` groups, and `times` times as many as usual, begin a rebalance within a minute. It is "
    "a warning if they are `share` of all groups with members, or have something in common.",
    limits=Settings.by_name,
    expected="No event makes many groups rebalance at once",
    about="log",
)
