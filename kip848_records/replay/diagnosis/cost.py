"""What an episode cost its group: the rebalances that its members began, and the time without members."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.group_history import GroupHistory

_STATIC: Final = frozenset({"static_member_flaps", "duplicate_instance_id"})


def add_costs(episodes: Sequence[Episode], history: GroupHistory) -> list[tuple[Episode, list[int]]]:
    """Fill the costs of episodes, and return the numbers of the rebalances of each.

    An episode costs the rebalances that any of its members triggered, those that no member is named for (storms,
    assignors, topics) all that begin in its time, a slow member those that it slowed. Null, not 0, where the log does
    not show it: a classic static member
    that is replaced begins no generation.
    """
    rebalances = history.rebalances
    began = [row.began_at for row in rebalances]
    by_member: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rebalances):
        for member_id in row.trigger_member_ids or ():
            by_member[member_id].append(number)
    claims: list[tuple[Episode, list[int]]] = []
    for episode in episodes:
        members = episode.members
        if members is not None and not members:
            continue
        first = bisect_left(began, episode.first_seen - history.limits.cost_before)
        last = bisect_right(began, episode.last_seen + history.limits.cost_after)
        slowed = episode.facts.get("rebalances")
        if slowed is not None:
            numbers = [number for number in range(first, last) if rebalances[number].began_offset in slowed]
        elif members is None:
            numbers = list(range(first, last))
        else:
            found = {number for each in members for number in by_member.get(each, ()) if first <= number < last}
            numbers = sorted(found)
        claims.append((episode, numbers))
    counts = Counter(number for _, numbers in claims for number in numbers)
    for episode, numbers in claims:
        rows = [rebalances[number] for number in numbers]
        episode.rebalances_shared = sum(counts[number] > 1 for number in numbers)
        _add(episode, rows, history)
    return claims


def add_bill(claims: Iterable[tuple[Episode, list[int]]], history: GroupHistory) -> None:
    """Fill `lost_ms`: each rebalance counts in one episode, so that the sum is what the group lost.

    That is one that people are shown, rather than one that another explains, or that is no alarm; of several, the one
    with the fewest rebalances, which is about a subject rather than about all.
    """
    billed: set[int] = set()
    for episode, numbers in sorted(claims, key=_before_others):
        own = [number for number in numbers if number not in billed]
        billed.update(own)
        if episode.lost_ms is not None:
            episode.lost_ms = _total(history.rebalances[number].unowned_ms for number in own) or 0


def _before_others(claim: tuple[Episode, list[int]]) -> tuple[bool, bool, int, int, str]:
    episode, numbers = claim
    is_explained, is_info = episode.explained_by is not None, episode.severity == INFO
    return is_explained, is_info, len(numbers), episode.first_seen, episode.pattern


def _add(episode: Episode, rows: Sequence[Any], history: GroupHistory) -> None:
    away_ms = _away_ms(episode, history)
    episode.rebalances = len(rows)
    is_silent = episode.pattern in _STATIC and bool(episode.facts.get("is_classic")) and not rows
    episode.epochs = sum(row.epochs for row in rows)
    episode.late_ms = None if is_silent else _total(row.late_ms for row in rows)
    episode.partitions_moved = None if is_silent else _total(row.partitions_moved for row in rows)
    unowned = None if is_silent else _total(row.unowned_ms for row in rows)
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
    if episode.pattern not in _STATIC or not episode.members or episode.facts.get("is_classic"):
        return None
    until = episode.last_seen + history.limits.cost_after
    return _total(
        wanted_ms
        for member_id in episode.members
        for released_at, wanted_ms in history.gaps_of.get(member_id, ())
        if episode.first_seen <= released_at <= until
    )


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
