"""What an episode says to an operator, and what to do: plain words for a reader who does not know the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.poll_timeout import NOT, POLL_TIMEOUT, POSSIBLE
from kip848_records.text import duration_text, printable
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kip848_records.replay.diagnosis.episodes import Episode, Subject

    Words = tuple[str, str]


def words(episode: Episode) -> Words:
    """Return the sentence and the next step of an episode."""
    sentence, step = _WORDS[episode.pattern](episode)
    return printable(sentence), printable(step)


def _who(subject: Subject) -> str:
    """Return the name of a subject, as an operator knows it."""
    host = "" if subject.client_host is None else f" @ {subject.client_host.removeprefix('/')}"
    name = f"{subject.client_id or 'a client without client.id'}{host}"
    if subject.instance_id is not None:
        return f"Instance id {subject.instance_id} ({name})"
    if (subject.members_of_that_name or 0) > 1:
        return f"One of {subject.members_of_that_name} members named {name}"
    return name


def _span(episode: Episode) -> str:
    return duration_text(episode.last_seen - episode.first_seen)


def _times(episode: Episode) -> str:
    at_least = "at least " if episode.at_least else ""
    return f"{at_least}{episode.count:,} times in {_span(episode)}"


def _every(episode: Episode) -> str:
    return duration_text(episode.median_interval_ms)


def _at(episode: Episode) -> str:
    return utc_text(utc(episode.last_seen))


def _does(episode: Episode, present: str, past: str) -> str:
    return present if episode.is_present else past


def _restart_loop(episode: Episode) -> Words:
    subject, cause = episode.subject, episode.probable_cause
    if cause == "batch_or_all":
        return (
            (
                f"{subject.members} clients end together and leave the group Empty, {_times(episode)}: a batch that "
                "runs "
                "again and again, or all processes crash."
            ),
            (
                "If it is a batch, nothing. Else look at the log of any process at "
                f"{_at(episode)}: they fail for one reason."
            ),
        )
    if episode.facts.get("is_new_each_time"):
        who = f"Processes named {subject.what}, with a new name or address each time,"
        does = _does(episode, "do not stay", "did not stay")
    else:
        who, does = _who(subject), _does(episode, "does not stay", "did not stay")
    why = {
        POLL_TIMEOUT: "Its max.poll.interval.ms passed, or it restarts at that period: the log cannot tell.",
        "killed": "It was killed or it crashed: the next one joined while it was still a member.",
    }.get(cause or "", "It ended and told the broker, or its session expired before the next one joined.")
    sentence = (
        f"{who} {does}: {_times(episode)} one left after about {duration_text(episode.usual_stay_ms)}, and a new one "
        f"came about every {_every(episode)}. {why}"
    )
    if cause == POLL_TIMEOUT:
        return sentence, _POLL_STEP
    return sentence, (
        f"Read its log at {_at(episode)} and the exit code of the container: 137 means that it was killed, often for "
        "lack of memory. A liveness probe that is shorter than a batch kills processes that work well."
    )


_POLL_STEP: Final = (
    "Java: lower max.poll.records, raise max.poll.interval.ms, or call pause() and process in another thread. "
    "librdkafka: raise max.poll.interval.ms."
)


def _leaves_and_returns(episode: Episode) -> Words:
    timeout = duration_text(episode.facts.get("timeout_ms"))
    why = {
        POLL_TIMEOUT: f"It stays for about its max.poll.interval.ms ({timeout}): a batch takes longer than that.",
        POSSIBLE: f"Each time it stayed for longer than its max.poll.interval.ms ({timeout}): some batches may take "
        "longer than that, or heartbeats are lost.",
        NOT: f"It stays for less than its max.poll.interval.ms ({timeout}), so no slow batch explains it: heartbeats are "
        "lost (garbage collection, CPU, network), or it unsubscribes.",
    }.get(episode.probable_cause or "", "Its group type has no poll timeout: heartbeats are lost, or it unsubscribes.")
    sentence = (
        f"{_who(episode.subject)} {_does(episode, 'leaves and joins again', 'left and joined again')}, "
        f"{_times(episode)}, "
        f"under the same member id: its process lives. {why}"
    )
    if episode.probable_cause in {POLL_TIMEOUT, POSSIBLE}:
        return sentence, _POLL_STEP
    return sentence, (
        f"Look at its CPU limits and garbage collection at {_at(episode)}, and for unsubscribe() in its code. The "
        "broker's "
        "group.consumer.session.timeout.ms says for how long heartbeats may be missing."
    )


def _static_member_flaps(episode: Episode) -> Words:
    why = {
        POLL_TIMEOUT: "It goes each time its max.poll.interval.ms has passed: a batch takes longer than that.",
        "restarting_or_duplicate": "It restarts, or two processes use the instance id: the log cannot tell.",
    }.get(episode.probable_cause or "", "Its process restarts.")
    sentence = (
        f"{_who(episode.subject)} {_does(episode, 'goes away and comes back', 'went away and came back')}, "
        f"{_times(episode)}, about every {_every(episode)}. {why}"
    )
    if episode.probable_cause == POLL_TIMEOUT:
        return sentence, _POLL_STEP
    return sentence, (
        f"Read its log at {_at(episode)} for why it ends. While it is away its partitions are not read: its "
        "session.timeout.ms should be just longer than a restart."
    )


def _duplicate_instance_id(episode: Episode) -> Words:
    return (
        (
            f"{_who(episode.subject)} {_does(episode, 'has been', 'was')} replaced {_times(episode)}, about every "
            f"{_every(episode)}: two processes use this group.instance.id and fence each other, or one restarts that "
            "fast "
            "(the log cannot tell)."
        ),
        "Compare group.instance.id of all replicas: each needs its own. FencedInstanceIdException in two logs proves "
        "it.",
    )


def _storm(episode: Episode) -> Words:
    why = {
        "returned": "Most came back under their member ids: their processes live, and lose their sessions.",
        "again": "Most came back under the same names: processes restart.",
        "new": "Most had new names: an autoscaler or a controller replaces them.",
        "rejoined": "Members of the classic group joined again and again without leaving.",
    }[episode.probable_cause or "again"]
    return (
        (
            f"{_does(episode, 'Many members do not stay', 'Many members did not stay')}: {_times(episode)}, by "
            f"{episode.subject.members} names. {why}"
        ),
        (
            "Look at what all of them share: memory and CPU limits, a record that none can process, the network. With "
            "an "
            "autoscaler: raise stabilizationWindowSeconds or cooldownPeriod."
        ),
    )


def _rolling_restart(episode: Episode) -> Words:
    return (
        f"{episode.count} members were exchanged in {_span(episode)}: a deployment, or a restart of all.",
        "Nothing, if it was meant.",
    )


def _job(episode: Episode) -> Words:
    return (
        (
            f"The group has members by a timetable: {episode.count} runs of about "
            f"{duration_text(episode.usual_stay_ms)}, one "
            f"each {_every(episode)}."
        ),
        "Nothing: between its runs the group is Empty.",
    )


def _everybody_left(episode: Episode) -> Words:
    left = episode.count
    others = f"; {left} members left in the last two minutes" if left > 1 else ""
    return (
        (
            f"The group has had no member for {duration_text(episode.last_seen - episode.first_seen)}, longer than "
            "ever "
            f"before. The last to leave was {_who(episode.subject)}{others}."
        ),
        "Is the application scaled to zero, or does it not start? If it is gone for good, delete the group.",
    )


def _spares(episode: Episode) -> Words:
    one = episode.subject.members == 1
    members, has = ("1 member", "has") if one else (f"Up to {episode.subject.members} members", "have")
    return (
        (
            f"{members} {_does(episode, has, 'had')} no partition for {_span(episode)}: the "
            "others have all partitions of their topics."
        ),
        "Nothing, if they are meant as spares. Else run fewer members, or add partitions.",
    )


def _no_topic(episode: Episode) -> Words:
    subject = episode.subject
    one = subject.members == 1
    members = "1 member" if one else f"{subject.members} members"
    what = f"the expression {subject.regex}" if subject.regex is not None else ", ".join(subject.topics or ())
    return (
        (
            f"{members} subscribed to {what} {_does(episode, 'has' if one else 'have', 'had')} had no partition for "
            f"{_span(episode)}, and no member "
            f"has a partition of it: "
            f"{'it matches no topic' if subject.regex is not None else 'no such topic exists'}, or the "
            "client may not see it."
        ),
        (
            "Check the spelling, and the permission DESCRIBE for the topic. An expression is one of RE2: `.*`, not "
            "`*`, and no "
            "lookahead."
        ),
    )


def _slow_by_habit(episode: Episode) -> Words:
    usual, others = episode.facts["revoke_ms"], episode.facts["others_ms"]
    return (
        (
            f"{_who(episode.subject)} {_does(episode, 'takes', 'took')} about {duration_text(usual)} to give up "
            "partitions, "
            f"{episode.count:,} times; the others take {duration_text(others)}. All wait for it."
        ),
        "Do less in onPartitionsRevoked, and lower max.poll.records: revocation waits for the batch.",
    )


def _coordinator_silent(episode: Episode) -> Words:
    members = "1 member owes" if episode.count == 1 else f"{episode.count} members owe"
    since = utc_text(utc(episode.first_seen))
    sentence = f"Since {since} {members} an answer, for longer than a session lasts, and the coordinator does nothing."
    if episode.probable_cause == "broker_hangs":
        return sentence, "Look at the broker that leads this partition of __consumer_offsets: it hangs."
    return (
        f"{sentence} The broker hangs, or this copy of the partition is older than the capture.",
        "Compare the files of this partition on other brokers first: their ends must have the same time.",
    )


def _flapping_topics(episode: Episode) -> Words:
    subject = episode.subject
    topics = ", ".join(subject.topics or ())
    what = f"the expression {subject.regex}" if subject.regex is not None else "a member's pattern"
    return (
        (
            f"Topics that match {what} {_does(episode, 'come and go', 'came and went')}, {_times(episode)}: {topics}. "
            "Each "
            "time the group rebalances."
        ),
        "Use a narrower pattern, and find out who creates and deletes the topics.",
    )


def _assignor_flip(episode: Episode) -> Words:
    what = {
        "classic": "The assignor of the classic group",
        "server": "The assignor that most members ask for",
        "conversion": "The type of the group",
    }[episode.probable_cause or "classic"]
    return (
        (
            f"{what} {_does(episode, 'changes', 'changed')} to and fro, {_times(episode)}, between "
            f"{episode.subject.what}: the "
            "members are configured in different ways."
        ),
        "Give all members the same partition.assignment.strategy, group.remote.assignor and group.protocol.",
    )


def _two_applications(episode: Episode) -> Words:
    return (
        (
            f"{episode.subject.what} {_does(episode, 'use', 'used')} one group id, and share no topic, no name and no "
            "host: "
            "each rebalance of one stops the other."
        ),
        "Give each application a group.id of its own.",
    )


def _task_restarts(episode: Episode) -> Words:
    return (
        f"Connect tasks {_does(episode, 'move', 'moved')} from worker to worker, {_times(episode)}: "
        f"{episode.subject.what}.",
        f"Read the workers' logs at {_at(episode)}: which worker ends, or which task fails?",
    )


_WORDS: Final[Mapping[str, Callable[[Episode], Words]]] = {
    "restart_loop": _restart_loop,
    "leaves_and_returns": _leaves_and_returns,
    "static_member_flaps": _static_member_flaps,
    "duplicate_instance_id": _duplicate_instance_id,
    "storm": _storm,
    "rolling_restart": _rolling_restart,
    "job": _job,
    "everybody_left": _everybody_left,
    "spares": _spares,
    "no_topic": _no_topic,
    "slow_by_habit": _slow_by_habit,
    "coordinator_silent": _coordinator_silent,
    "flapping_topics": _flapping_topics,
    "assignor_flip": _assignor_flip,
    "two_applications": _two_applications,
    "task_restarts": _task_restarts,
}
