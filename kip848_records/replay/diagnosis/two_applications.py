"""The pattern `two_applications`: members that share no topic, no name and no host have one group id."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject
from kip848_records.replay.diagnosis.intervals import at_once, bridged, long_ones
from kip848_records.replay.diagnosis.limits import MINUTE, PatternSettings, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import tense
from kip848_records.replay.diagnosis.without_partitions import SPARES_BRIDGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay


class Settings(PatternSettings, pattern="two_applications"):
    """The limits of `two_applications` that users may change."""

    together_seconds = seconds(10 * MINUTE, "A deployment that renames all has both for less.")


class _Parts:
    """Disjoint sets of keys."""

    def __init__(self) -> None:
        self._above: dict[Any, Any] = {}

    def find(self, key: Any) -> Any:  # noqa: ANN401
        """Return the key that stands for the set of this one."""
        above = self._above
        while above.setdefault(key, key) != key:
            above[key] = key = above[above[key]]
        return key

    def join(self, keys: Iterable[Any]) -> None:
        """Unite the sets of some keys."""
        first, *others = map(self.find, keys)
        for other in others:
            self._above[self.find(other)] = self.find(first)


def two_applications(history: GroupHistory) -> Iterator[Episode]:
    """Yield the times in which parts of the members have nothing in common.

    Members belong to one part if any member, at any time, connects them: one deployment may rename an application.
    """
    limits = history.limits
    stays = [stay for stay in history.stays if (stay.topics or stay.regex) and stay.joined_at is not None]
    resolved: dict[str, set[str]] = defaultdict(set)
    for regex, row in history.rows.resolutions.items():
        resolved[regex].update(row.topics)
    parts = _Parts()
    for stay in stays:
        parts.join(_keys(stay, resolved))
    # Of a member that left before it joined, by two clocks, it is unknown when it was there.
    stays = [stay for stay in stays if stay.left_at is None or stay.left_at > (stay.joined_at or 0)]
    part_of = {stay: parts.find(_keys(stay, resolved)[0]) for stay in stays}
    if len(set(part_of.values())) < 2:  # noqa: PLR2004 - one application
        return
    stays.sort(key=lambda stay: stay.joined_at or 0)  # clocks may go back
    begun = 0
    within: list[Stay] = []
    there = at_once(((stay.joined_at or 0, stay.left_at, part_of[stay], stay.joined_offset) for stay in stays), 2)
    for each in long_ones(bridged(there, SPARES_BRIDGE), limits[Settings.together_seconds], history.captured_at):
        while begun < len(stays) and (each.end is None or (stays[begun].joined_at or 0) < each.end):
            within.append(stays[begun])
            begun += 1
        within = [stay for stay in within if stay.left_at is None or stay.left_at > each.begin]
        names: dict[Any, Counter[str]] = defaultdict(Counter)
        for stay in within:
            names[part_of[stay]][stay.normalised or ""] += 1
        clients = tuple(sorted(counts.most_common(1)[0][0] for counts in names.values()))
        yield Episode(
            PATTERN,
            Subject(clients=clients, what=" and ".join(clients)),
            len(names),
            each.begin,
            history.captured_at if each.end is None else each.end,
            each.begin + limits[Settings.together_seconds],
            each.end,
            within[-1].incarnation,
            probable_cause="one_group_id",
            evidence=() if each.offset is None else (each.offset,),
            members=frozenset(),
        )


def _keys(stay: Stay, resolved: dict[str, set[str]]) -> list[Any]:
    """Return what a member may share with others."""
    keys: list[Any] = [("topic", topic) for topic in stay.topics]
    if stay.regex is not None:
        keys += [("regex", stay.regex), *(("topic", topic) for topic in resolved[stay.regex])]
    if stay.normalised is not None:
        keys.append(("client", stay.normalised))
    if stay.host is not None:
        keys.append(("host", stay.host))
    return keys


def _words(episode: Episode) -> Words:
    """Return the words of `two_applications`."""
    does, share = tense(episode, "use", "used"), tense(episode, "share", "shared")
    waits = tense(
        episode, "When one rebalances, the other must wait too.", "When one rebalanced, the other had to wait."
    )
    sentence = f"{episode.subject.what} {does} one group id, and {share} no topic, no name and no host. {waits}"
    return sentence, "Give each application a group.id of its own."


PATTERN: Final = Pattern(
    "two_applications",
    _words,
    "For `together_seconds` members are there that share no topic, client id or host.",
    find=two_applications,
    limits=Settings.by_name,
    expected="The members of a group belong to one application",
)
