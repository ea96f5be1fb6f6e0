"""What episodes about committed offsets say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.phrases import last_time, lasted, number, some, who

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.phrases import Words

MEMBER_STOPPED: Final = "member_stopped"
TOPIC_DELETED: Final = "topic_deleted"
"""The cause of a loss without harm: there is nothing left to read."""

_LOOK: Final = (
    "If it does not work on one long batch: look for a dead worker thread, a pause() without resume(), or a message "
    "that fails again and again. A restart of this member gives its partitions to others."
)


def not_consumed(episode: Episode) -> Words:
    """Return the words of `not_consumed`: a suspicion, because a client may work on one batch for long."""
    facts, one = episode.facts, episode.count == 1
    owner, what = who(episode.subject), some(facts["partitions"])
    if episode.probable_cause == MEMBER_STOPPED:
        stopped = f"the committed offsets of {what} have not moved for {lasted(episode)}"
        return f"{owner} has stopped: {stopped}, and other members of the group go on.", _LOOK
    up_to = "" if one else "up to "
    if facts["ahead_by"] is None:
        shown = f"{up_to}{number(facts['lag'], 'offset')} wait, by the end of the topic"
    else:
        shown = f"{some(facts['ahead_groups'])} read {up_to}{number(facts['ahead_by'], 'offset')} more"
    return f"{owner} does not seem to consume {what}: {_stands(episode)}; {shown}.", _LOOK


def _stands(episode: Episode) -> str:
    offset = episode.facts["committed"]
    one = "" if offset is None else f" {offset}"
    committed = f"the committed offset{one} has" if episode.count == 1 else "the committed offsets have"
    return f"{committed} not moved for {lasted(episode)}"


def blocked_by_transaction(episode: Episode) -> Words:
    """Return the words of `blocked_by_transaction`."""
    does = "waits" if episode.count == 1 else "wait"
    sentence = (
        f"{some(episode.facts['partitions'])} {does} for an open transaction of {episode.subject.what}, which began "
        f"{lasted(episode)} before the capture: consumers ask for stable offsets, so a new owner does not start."
    )
    return sentence, "End the producer's process, or abort its transaction: see kip848 query DIR open_transactions."


def offsets_lost(episode: Episode) -> Words:
    """Return the words of `offsets_lost`."""
    topic = (episode.subject.topics or ("",))[0]
    why = {"topic_deleted": "the topic was deleted", "expired": "they had expired"}
    sentence = (
        f"Committed offsets of {number(episode.count, 'partition')} of {topic} were removed at {last_time(episode)}, "
        f"presumably because {why.get(episode.probable_cause or '', 'a tool did it')}."
    )
    if episode.probable_cause == TOPIC_DELETED:
        return sentence, "Nothing, if it was meant. Consumers of a new topic of that name begin by auto.offset.reset."
    if not episode.is_present:
        return sentence, "See what was skipped or read again since: kip848 query DIR jumps."
    return (
        f"{sentence} An owner that starts now does so where auto.offset.reset says.",
        "If the group is to go on where it was, set its offsets: kip848 offsets shows them as they were before.",
    )
