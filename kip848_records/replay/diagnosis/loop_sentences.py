"""What episodes of members that do not stay say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CLASSIC, CONNECT, SHARE, STREAMS
from kip848_records.replay.diagnosis.batches import CAUSE as BATCH
from kip848_records.replay.diagnosis.client_settings import heartbeats_step, poll_step, restart_step
from kip848_records.replay.diagnosis.phrases import interval, last_time, number, tense, times, who
from kip848_records.replay.diagnosis.poll_timeout import NOT, POLL_TIMEOUT, POSSIBLE
from kip848_records.replay.diagnosis.restart_loop import KILLED, KILLED_OR_ENDED
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.phrases import Words

_POLL: Final = "max.poll.interval.ms"
_SHARED: Final = "Look at what all of them share: memory and CPU limits, a record that none can process, the network."
_STORM_STEPS: Final = {
    "returned": "Look at what all of them share: CPU limits, long garbage collection, the network to the brokers.",
    "new": "Look at what starts and stops them. An autoscaler: raise stabilizationWindowSeconds or cooldownPeriod. "
    "Else read the log of one that ended.",
}


def restart_loop(episode: Episode) -> Words:
    """Return the words of `restart_loop`."""
    subject, cause = episode.subject, episode.probable_cause
    if cause == BATCH:
        return _batch(episode)
    if episode.facts.get("is_new_each_time"):
        name = f"Processes named {subject.what}, with a new name or address each time,"
        does = tense(episode, "do not stay", "did not stay")
    else:
        name, does = who(subject), tense(episode, "does not stay", "did not stay")
    closed = "was stopped" if episode.kind == CONNECT else "closed its consumer"
    why = {
        POLL_TIMEOUT: f"Its {_POLL} passed, or it restarts at that period: the log cannot tell.",
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


def leaves_and_returns(episode: Episode) -> Words:
    """Return the words of `leaves_and_returns`."""
    poll = f"{_POLL} ({duration_text(episode.facts.get('timeout_ms'))})"
    lost = "heartbeats are lost (garbage collection, CPU, network)"
    kind = episode.kind
    unknown = "Its group has no poll timeout" if kind == SHARE else f"The log does not show its {_POLL}"
    leaves = "it unsubscribes" if kind != STREAMS else "its thread joins anew"
    why = {
        POLL_TIMEOUT: f"Each stay lasts about as long as its {poll}: a batch takes longer than that.",
        POSSIBLE: f"Nearly all stays are longer than its {poll}: some batches take longer, or {lost}.",
        NOT: f"Its stays are shorter than its {poll}, so no slow batch explains it: {lost}, or {leaves}.",
    }.get(episode.probable_cause or "", f"{unknown}: {lost}, or {leaves}.")
    does = tense(episode, "leaves and joins again", "left and joined again")
    name = who(episode.subject)
    sentence = f"{name} {does}, {times(episode)}, under the same member id: its process lives. {why}"
    if episode.probable_cause in {POLL_TIMEOUT, POSSIBLE}:
        return sentence, poll_step(episode)
    session = f"The broker's group.{kind}.session.timeout.ms says for how long heartbeats may be missing."
    return sentence, f"{heartbeats_step(episode, last_time(episode))} {session}"


def static_member_flaps(episode: Episode) -> Words:
    """Return the words of `static_member_flaps`."""
    why = {
        POLL_TIMEOUT: f"It goes when its {_POLL} has passed, or it restarts at that period: the log cannot tell.",
        "restarting_or_duplicate": "It restarts, or two processes use the instance id: the log cannot tell.",
    }.get(episode.probable_cause or "", "Its process restarts.")
    does = tense(episode, "goes away and comes back", "went away and came back")
    sentence = f"{who(episode.subject)} {does}, {times(episode)}, about every {interval(episode)}. {why}"
    step = (
        f"Read its log at {last_time(episode)} for why it ends. While it is away its partitions are not read: "
        f"{_session(episode.kind)} should be just longer than a restart."
    )
    return sentence, poll_step(episode) if episode.probable_cause == POLL_TIMEOUT else step


def _session(kind: str) -> str:
    """Return the setting of a member's session: clients set it in classic groups only."""
    if kind in {CLASSIC, CONNECT}:
        return "its session.timeout.ms"
    name = f"{kind}.session.timeout.ms"
    return f"the group's {name} (or the broker's group.{name})"


def duplicate_instance_id(episode: Episode) -> Words:
    """Return the words of `duplicate_instance_id`."""
    does = tense(episode, "has been", "was")
    sentence = (
        f"{who(episode.subject)} {does} replaced {times(episode)}, about every {interval(episode)}: two processes use "
        "this group.instance.id and fence each other, or one restarts that fast (the log cannot tell)."
    )
    step = (
        "Compare group.instance.id of all replicas: each needs its own. FencedInstanceIdException in the logs of two "
        "processes proves it."
    )
    return sentence, step


def storm(episode: Episode) -> Words:
    """Return the words of `storm`."""
    if not episode.subject.members:
        return (
            f"Members of this group joined again {times(episode)} without leaving.",
            "Do their topics change, does their code call enforceRebalance(), or do their assignors differ?",
        )
    why = {
        "returned": "Most came back under their member ids: their processes live, and lose their sessions.",
        "again": "Most came back under a name that was there before: processes restart.",
        "new": "Most had new names: an autoscaler or a controller replaces them.",
        "rejoined": "Members of the classic group joined again and again without leaving.",
    }[episode.probable_cause or "again"]
    does = tense(episode, "Many members do not stay", "Many members did not stay")
    names = "one name" if episode.subject.members == 1 else number(episode.subject.members, "name")
    sentence = f"{does}: {times(episode)} one left or joined again, under {names}. {why}"
    return sentence, _STORM_STEPS.get(episode.probable_cause or "", _SHARED)
