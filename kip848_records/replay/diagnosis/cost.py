"""What an episode cost its group: the rebalances that its members began, and the time without members."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kip848_records.replay.diagnosis.limits import MINUTE, SECOND
from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.group_history import GroupHistory

_COST_BEFORE: Final = MINUTE
_COST_AFTER: Final = 90 * SECOND


class _Part(NamedTuple):
    """The part of a rebalance in the time of an episode (ms); `is_whole`: all of it."""

    number: int
    begin: int
    end: int
    is_whole: bool = False


Claim: TypeAlias = "tuple[Episode, list[_Part]]"
"""An episode, and the rebalances that it costs the group."""


def add_costs(episodes: Sequence[Episode], history: GroupHistory) -> list[Claim]:
    """Fill the costs of episodes, and return the rebalances of each.

    An episode costs the rebalances in its time that any of its members triggered, those that no member is named for
    (storms, assignors, topics) all, a slow member those that it slowed. What these lost outside of its time is no cost
    of it: the group of a member that restarts without end may be in one rebalance that began before. Null, not 0, where
    the log does not show it: a classic static member that is replaced begins no generation.
    """
    by_member: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(history.rebalances):
        for member_id in row.trigger_member_ids or ():
            by_member[member_id].append(number)
    began = [row.began_at for row in history.rebalances]
    claims = [
        (episode, list(_parts(episode, by_member, began, history)))
        for episode in episodes
        if episode.members is None or episode.members
    ]
    counts = Counter(part.number for _, parts in claims for part in parts)
    for episode, parts in claims:
        episode.rebalances_shared = sum(counts[part.number] > 1 for part in parts)
        _add(episode, parts, history)
    return claims


def _parts(
    episode: Episode, by_member: Mapping[str, Sequence[int]], began: Sequence[int], history: GroupHistory
) -> Iterator[_Part]:
    """Yield what an episode claims of rebalances, in their order."""
    begin, end = episode.first_seen - _COST_BEFORE, episode.last_seen + _COST_AFTER
    # Of those that began before, only the last one may go on.
    first, last = max(0, bisect_left(began, begin) - 1), bisect_right(began, end)
    members, slowed = episode.members, episode.facts.get("rebalances")
    numbers: Iterable[int] = range(first, last)
    if slowed is not None:
        numbers = (number for number in numbers if history.rebalances[number].began_offset in slowed)
    elif members is not None:
        numbers = sorted({number for each in members for number in by_member.get(each, ()) if first <= number < last})
    for number in numbers:
        row = history.rebalances[number]
        ended_at = history.captured_at if row.ended_at is None else row.ended_at
        if row.began_at >= begin or ended_at > begin:
            is_whole = row.began_at >= begin and ended_at <= end
            yield _Part(number, max(begin, row.began_at), min(end, ended_at), is_whole)


def _unowned_ms(part: _Part, history: GroupHistory) -> int | None:
    """Return the time that partitions had no owner; None where the log does not show that of its rebalance.

    Of a part, only what handovers show is known.
    """
    unowned_ms = history.rebalances[part.number].unowned_ms
    if unowned_ms is None or part.is_whole:
        return unowned_ms
    return min(unowned_ms, history.unowned_ms(part.begin, part.end))


def add_bill(claims: Iterable[Claim], history: GroupHistory) -> None:
    """Fill `lost_ms`: each moment of a rebalance counts in one episode, so that the sum is what the group lost.

    That is one that people are shown, rather than one that another explains, or that is no alarm; of several, the one
    with the fewest rebalances, which is about a subject rather than about all.
    """
    billed: dict[int, list[_Part]] = defaultdict(list)
    for episode, parts in sorted(claims, key=_before_others):
        lost_ms = 0
        for part in parts:
            others = billed[part.number]
            lost_ms += max(
                0, (_unowned_ms(part, history) or 0) - sum(_shared_ms(part, each, history) for each in others)
            )
            billed[part.number] = _joined([*others, part])
        if episode.lost_ms is not None:
            episode.lost_ms = lost_ms


def _shared_ms(part: _Part, other: _Part, history: GroupHistory) -> int:
    """Return what two parts of a rebalance have in common."""
    if part.is_whole or other.is_whole:
        return _unowned_ms(part if other.is_whole else other, history) or 0
    common = _Part(part.number, max(part.begin, other.begin), min(part.end, other.end))
    return 0 if common.begin >= common.end else _unowned_ms(common, history) or 0


def _joined(parts: Iterable[_Part]) -> list[_Part]:
    """Return parts of a rebalance as parts that do not overlap."""
    found: list[_Part] = []
    for part in sorted(parts, key=lambda each: each.begin):
        if found and part.begin <= found[-1].end:
            last = found[-1]
            found[-1] = last._replace(end=max(last.end, part.end), is_whole=last.is_whole or part.is_whole)
        else:
            found.append(part)
    return found


def _before_others(claim: Claim) -> tuple[bool, bool, int, int, str]:
    episode, parts = claim
    is_explained, is_info = episode.explained_by is not None, episode.severity == INFO
    return is_explained, is_info, len(parts), episode.first_seen, episode.pattern


def _add(episode: Episode, parts: Sequence[_Part], history: GroupHistory) -> None:
    away_ms = _away_ms(episode, history)
    rows = [history.rebalances[part.number] for part in parts]
    episode.rebalances = len(rows)
    is_silent = bool(episode.facts.get("is_classic")) and not rows
    episode.epochs = sum(row.epochs for row in rows)
    episode.late_ms = None if is_silent else _total(row.late_ms for row in rows)
    episode.partitions_moved = None if is_silent else _total(row.partitions_moved for row in rows)
    unowned = None if is_silent else _total(_unowned_ms(part, history) for part in parts)
    episode.unowned_ms = away_ms if unowned is None else unowned + (away_ms or 0)
    episode.away_ms, episode.lost_ms = away_ms, unowned
    duration = episode.last_seen - episode.first_seen
    episode.empty_ms = history.empty_ms(episode.first_seen, episode.last_seen)
    shares = []
    if duration > 0:
        partitions = history.partitions_at(episode.last_seen)
        if episode.unowned_ms is not None and partitions:
            shares.append(episode.unowned_ms / (partitions * duration))
        is_told = not is_silent and (not rows or episode.unowned_ms == 0)
        if episode.empty_ms is not None and (episode.empty_ms or is_told):
            shares.append(episode.empty_ms / duration)
    episode.cost_share = min(1.0, max(shares)) if shares else None


def _away_ms(episode: Episode, history: GroupHistory) -> int | None:
    """Return the time of partitions whose static member was away: that is in no rebalance."""
    if not episode.members or episode.facts.get("is_classic") is not False:  # not of a static member
        return None
    until = episode.last_seen + _COST_AFTER
    return _total(
        wanted_ms
        for member_id in episode.members
        for released_at, wanted_ms in history.gaps_of.get(member_id, ())
        if episode.first_seen <= released_at <= until
    )


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
