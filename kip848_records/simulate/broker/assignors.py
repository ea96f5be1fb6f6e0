"""Simplified versions of Kafka's server-side assignors: they choose the target owner of each partition."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from heapq import heapify, heapreplace

from kip848_records.simulate.broker.cluster import Topic, TopicPartition

Subscriptions = Mapping[str, frozenset[str]]
"""Member id -> the names of its topics, with members in the order of assignment."""

Targets = Mapping[str, frozenset[TopicPartition]]
"""Member id -> the partitions of its target."""

Assignor = Callable[[Subscriptions, Mapping[str, Topic], Targets], dict[str, frozenset[TopicPartition]]]


def range_assignor(
    subscriptions: Subscriptions,
    topics: Mapping[str, Topic],
    previous: Targets,  # noqa: ARG001 - the signature of an assignor
) -> dict[str, frozenset[TopicPartition]]:
    """Give each member consecutive partitions of every topic; the first members get one more if there is a rest."""
    assigned: dict[str, set[TopicPartition]] = {member: set() for member in subscriptions}
    for name, members in _subscribers(subscriptions, topics).items():
        share, over = divmod(topics[name].partitions, len(members))
        start = 0
        for place, member in enumerate(members):
            end = start + share + (place < over)
            assigned[member].update((topics[name].topic_id, partition) for partition in range(start, end))
            start = end
    return {member: frozenset(partitions) for member, partitions in assigned.items()}


def uniform_assignor(
    subscriptions: Subscriptions, topics: Mapping[str, Topic], previous: Targets
) -> dict[str, frozenset[TopicPartition]]:
    """Distribute the partitions evenly, and let a member keep as many of its previous ones as its share allows."""
    subscribers = _subscribers(subscriptions, topics)
    assigned = _kept(subscriptions, topics, subscribers, previous)
    taken = {partition for partitions in assigned.values() for partition in partitions}
    for name, members in subscribers.items():
        least = [(len(assigned[member]), place) for place, member in enumerate(members)]
        heapify(least)
        for partition in range(topics[name].partitions):
            if (topics[name].topic_id, partition) not in taken:
                size, place = least[0]
                assigned[members[place]].add((topics[name].topic_id, partition))
                heapreplace(least, (size + 1, place))
    return {member: frozenset(partitions) for member, partitions in assigned.items()}


ASSIGNORS: dict[str, Assignor] = {"uniform": uniform_assignor, "range": range_assignor}
"""Assignors by their names in `group.consumer.assignors`."""


def _subscribers(subscriptions: Subscriptions, topics: Mapping[str, Topic]) -> dict[str, list[str]]:
    members: dict[str, list[str]] = defaultdict(list)
    for member, names in subscriptions.items():
        for name in names & topics.keys():
            members[name].append(member)
    return {name: members[name] for name in sorted(members)}


def _kept(
    subscriptions: Subscriptions,
    topics: Mapping[str, Topic],
    subscribers: Mapping[str, list[str]],
    previous: Targets,
) -> dict[str, set[TopicPartition]]:
    """Return the partitions that do not move: at most a member's share, rounded up for the first members."""
    names = {topics[name].topic_id: name for name in subscribers}
    alike = Counter(subscriptions.values())
    shares = {
        wanted: sum(Fraction(topics[name].partitions, len(subscribers[name])) for name in wanted & subscribers.keys())
        for wanted in alike
    }
    rounded_up = int(sum(share % 1 * alike[wanted] for wanted, share in shares.items()))
    quotas = {wanted: int(share) for wanted, share in shares.items()}
    kept = {}
    for member, wanted in subscriptions.items():
        still_wanted = sorted(tp for tp in previous.get(member, ()) if names.get(tp[0]) in wanted)
        quota = quotas[wanted]
        if len(still_wanted) > quota and rounded_up > 0:
            quota, rounded_up = quota + 1, rounded_up - 1
        kept[member] = set(still_wanted[:quota])
    return kept
