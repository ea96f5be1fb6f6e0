"""What an episode says to an operator, and what to do: plain words for a reader who does not know the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis import consumption_sentences, group_sentences, loop_sentences
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.phrases import Words

_WORDS: Final[Mapping[str, Callable[[Episode], Words]]] = {
    "restart_loop": loop_sentences.restart_loop,
    "leaves_and_returns": loop_sentences.leaves_and_returns,
    "static_member_flaps": loop_sentences.static_member_flaps,
    "duplicate_instance_id": loop_sentences.duplicate_instance_id,
    "storm": loop_sentences.storm,
    "rolling_restart": group_sentences.rolling_restart,
    "job": group_sentences.job,
    "everybody_left": group_sentences.everybody_left,
    "spares": group_sentences.spares,
    "no_topic": group_sentences.no_topic,
    "slow_by_habit": group_sentences.slow_by_habit,
    "coordinator_silent": group_sentences.coordinator_silent,
    "flapping_topics": group_sentences.flapping_topics,
    "assignor_flip": group_sentences.assignor_flip,
    "two_applications": group_sentences.two_applications,
    "storm_across": group_sentences.storm_across,
    "task_restarts": group_sentences.task_restarts,
    "not_consumed": consumption_sentences.not_consumed,
    "blocked_by_transaction": consumption_sentences.blocked_by_transaction,
    "offsets_lost": consumption_sentences.offsets_lost,
}


def words(episode: Episode) -> Words:
    """Return the sentence and the next step of an episode."""
    sentence, step = _WORDS[episode.pattern](episode)
    return printable(sentence), printable(step)
