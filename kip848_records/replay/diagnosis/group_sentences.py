"""What episodes of groups, topics, assignors and single members say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, KINDS
from kip848_records.replay.diagnosis.client_settings import fewer_step, revoke_step
from kip848_records.replay.diagnosis.phrases import interval, last_time, lasted, number, some, tense, times, who, whom
from kip848_records.text import duration_text
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.phrases import Words

_NAMED: Final = 3
_STRATEGY: Final = "partition.assignment.strategy"
_SPELLING: Final = (
    "Check how the topic is spelled, that it exists, and that the client has the permission DESCRIBE for it."
)
_RE2: Final = " Brokers read expressions as RE2 does: `.*`, not `*`, and no lookahead."


def rolling_restart(episode: Episode) -> Words:
    """Return the words of `rolling_restart`."""
    what = "a deployment, or a restart of all"
    does = "was" if episode.count == 1 else "were"
    return (
        f"{number(episode.count, 'member')} {does} replaced by new ones in {lasted(episode)}: {what}.",
        "Nothing, if it was meant.",
    )


def job(episode: Episode) -> Words:
    """Return the words of `job`."""
    runs = f"{episode.count} runs of about {duration_text(episode.usual_stay_ms)}, one every {interval(episode)}"
    return f"The group has members by a timetable: {runs}.", "Nothing: between its runs the group is Empty."


def everybody_left(episode: Episode) -> Words:
    """Return the words of `everybody_left`."""
    member = KINDS[episode.kind].member
    others = f"; {episode.count} {member}s left within two minutes" if episode.count > 1 else ""
    longest = ", longer than before" if episode.facts.get("is_longest") else ""
    sentence = (
        f"The group {tense(episode, 'has had', 'had')} no {member} for {lasted(episode)}{longest}. "
        f"The last to leave was {whom(episode.subject)}{others}."
    )
    if episode.facts.get("is_copy_old"):
        sentence += " Nothing else happened in its partition since, or this copy of the partition is an old one."
    what = "Connect cluster" if episode.kind == CONNECT else "application"
    if not episode.is_present:
        return sentence, f"It has {member}s again. Was the {what} scaled to zero, or did it not start?"
    return sentence, f"Is the {what} scaled to zero, or does it not start? If it is gone, delete the group."


def spares(episode: Episode) -> Words:
    """Return the words of `spares`."""
    one = episode.subject.members == 1
    members = f"{'1 member' if one else f'Up to {episode.subject.members} members'}{_named(episode)}"
    does = tense(episode, "has had" if one else "have had", "had")
    sentence = f"{members} {does} no partition for {lasted(episode)}: others have all partitions of their topics."
    return sentence, fewer_step(episode)


def _named(episode: Episode) -> str:
    """Return who the members are, at most as many as there are at once."""
    names = [*dict.fromkeys(map(whom, episode.facts.get("who", ())))][: episode.subject.members]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" ({', '.join(names[:_NAMED])}{more})" if names else ""


def no_topic(episode: Episode) -> Words:
    """Return the words of `no_topic`."""
    subject, one = episode.subject, episode.subject.members == 1
    members = f"{number(subject.members, 'member')}{_named(episode)}"
    is_regex = subject.regex is not None
    what = f"the expression {subject.regex}" if is_regex else some(subject.topics or ())
    does = tense(episode, "has had" if one else "have had", "had")
    why = {
        "expression_matches_nothing": "it matches no topic",
        "expression_not_resolved": "the broker has not resolved it",
    }.get(episode.probable_cause or "", "no such topic exists")
    sentence = (
        f"{members} with a subscription to {what} {does} no partition for {lasted(episode)}, and no other member has "
        f"a partition of it: {why}, or the client may not see it."
    )
    return sentence, _SPELLING + (_RE2 if is_regex else "")


def slow_by_habit(episode: Episode) -> Words:
    """Return the words of `slow_by_habit`."""
    usual, others = (duration_text(episode.facts[name]) for name in ("revoke_ms", "others_ms"))
    does = tense(episode, "takes", "took")
    units = KINDS[episode.kind].units
    sentence = (
        f"{who(episode.subject)} {does} about {usual} to give up {units}, {times(episode)}; the others take "
        f"{others}. Members that are to have these {units} wait for it."
    )
    return sentence, revoke_step(episode)


def coordinator_silent(episode: Episode) -> Words:
    """Return the words of `coordinator_silent`."""
    members, them = ("1 member has", "it") if episode.count == 1 else (f"{episode.count} members have", "them")
    owe = f"Since {utc_text(utc(episode.first_seen))} {members} not answered, for longer than a session lasts"
    step = "Look at the broker that leads this partition of __consumer_offsets."
    if episode.probable_cause == "coordinator_does_not_act":
        return f"{owe}, and the coordinator has not removed {them}, although it has written other records since.", step
    sentence = f"{owe}, and the coordinator does nothing."
    if episode.probable_cause == "broker_hangs":
        return f"{sentence} The broker hangs.", step
    return (
        f"{sentence} The broker hangs, or this copy of the partition is older than the capture.",
        "Compare the files of this partition on other brokers first: their last records must have the same time.",
    )


def flapping_topics(episode: Episode) -> Words:
    """Return the words of `flapping_topics`."""
    subject = episode.subject
    member = next(iter(episode.facts.get("who", ())), None)
    its = "a member" if member is None else whom(member)
    what = f"the expression {subject.regex}" if subject.regex is not None else f"the pattern of {its}"
    does = tense(episode, "come and go", "came and went")
    topics = some(subject.topics or ())
    sentence = f"Topics that match {what} {does}, {times(episode)}: {topics}. Each time the group rebalances."
    return sentence, "Use a narrower pattern, and find out who creates and deletes the topics."


def assignor_flip(episode: Episode) -> Words:
    """Return the words of `assignor_flip`."""
    is_connect = episode.kind == CONNECT
    what = {
        "classic": "The protocol of the Connect cluster" if is_connect else "The assignor of the classic group",
        "server": "The assignor that most members ask for",
        "conversion": "The type of the group",
    }[episode.probable_cause or "classic"]
    does = tense(episode, "changes back and forth", "changed back and forth")
    names = episode.subject.what
    members = f"{KINDS[episode.kind].member}s"
    sentence = f"{what} {does}, {times(episode)}, between {names}: the {members} are configured in different ways."
    asked = [f"{value} by {some(list(dict.fromkeys(map(whom, who))))}" for value, who in episode.facts.get("by", ())]
    if asked:
        sentence += f" Last asked for: {'; '.join(asked)}."
    setting = {"server": "group.remote.assignor", "conversion": "group.protocol"}
    same = setting.get(episode.probable_cause or "", "connect.protocol" if is_connect else _STRATEGY)
    return sentence, f"Give all {members} the same {same}; finish the deployment that changes it, or take it back."


def two_applications(episode: Episode) -> Words:
    """Return the words of `two_applications`."""
    does, share = tense(episode, "use", "used"), tense(episode, "share", "shared")
    waits = tense(
        episode, "When one rebalances, the other must wait too.", "When one rebalanced, the other had to wait."
    )
    sentence = f"{episode.subject.what} {does} one group id, and {share} no topic, no name and no host. {waits}"
    return sentence, "Give each application a group.id of its own."


def task_restarts(episode: Episode) -> Words:
    """Return the words of `task_restarts`."""
    does = tense(episode, "move", "moved")
    tasks = some((episode.subject.what or "").split(", "), episode.subject.members)
    return (
        f"Connect tasks {does} from worker to worker, {times(episode)}: {tasks}.",
        f"Read the workers' logs at {last_time(episode)}: which worker ends, or which task fails?",
    )


def storm_across(episode: Episode) -> Words:
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
