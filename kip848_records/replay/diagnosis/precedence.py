"""Which episodes another one explains: they are not shown, counted or alerted by themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.replay.diagnosis.episodes import Episode


def explain(episodes: Sequence[Episode]) -> None:
    """Set `explained_by` and the number of each episode among those of its pattern and subject."""
    by_pattern: dict[str, list[Episode]] = {}
    for episode in episodes:
        by_pattern.setdefault(episode.pattern, []).append(episode)
    counts = Counter[Any]()
    for episode in sorted(episodes, key=lambda each: (each.first_seen, each.recognized_at)):
        counts[episode.pattern, episode.subject.names] += 1
        episode.episode = counts[episode.pattern, episode.subject.names]
        for pattern in episode.of.explained_by:
            if any(_explains(other, episode) for other in by_pattern.get(pattern, ())):
                episode.explained_by = pattern
                break


def _explains(other: Episode, episode: Episode) -> bool:
    if other is episode or not _covers_half(other, episode):
        return False
    if episode.is_present and not other.is_present:  # what lasts would be shown nowhere
        return False
    return episode.of.is_explained(other, episode)


def _covers_half(other: Episode, episode: Episode) -> bool:
    # The first stay of a loop is seen when it ends, and has moved partitions since it began.
    begin = max(other.first_seen - (other.usual_stay_ms or 0), episode.first_seen)
    end = min(other.last_seen, episode.last_seen)
    return end >= begin and (end - begin) * 2 >= episode.last_seen - episode.first_seen
