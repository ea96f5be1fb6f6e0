"""What happens in the groups of the cases: members heartbeat every 5 s from when they joined."""

from kip848_records.simulate.broker.releases import KAFKA_4_3
from tests.simulator.scenario import Scenario


def one(group_id, release=KAFKA_4_3, partitions=4, **options):
    """A group with the member ann, who has all partitions of orders, 5 s ago."""
    story = Scenario(release)
    story.topic("orders", partitions=partitions)
    group = story.group(group_id)
    ann = group.join("ann", ["orders"], **options)
    story.advance(5_000)
    return story, group, ann


def two(group_id, seconds, release=KAFKA_4_3, **options):
    """As `one`, where bob joins: ann is told at her heartbeat, 5 s later, to give him half of what she has."""
    story, group, ann = one(group_id, release, **options)
    bob = group.join("bob", ["orders"])
    story.advance(1_000 * seconds)
    return story, group, ann, bob


def deserted(group_id, seconds):
    """As `two`, where bob falls silent at once; ann gives up half, 10 s after the start, and nobody takes it."""
    story, group, ann, bob = two(group_id, 0)
    bob.crash()
    story.advance(1_000 * seconds)
    return story, group, ann, bob


def away(group_id, seconds, back=None):
    """A static member goes away after 5 s, and comes back after some more, if it does."""
    story, _group, ann = one(group_id, instance_id="a")
    ann.go_away()
    story.advance(1_000 * seconds)
    if back is not None:
        ann.come_back("ann-again")
        story.advance(1_000 * back)
    return story


def upgrade(group_id, seconds, left=None):
    """A classic group with one member meets one of the new protocol; the old one may leave at last."""
    story = Scenario()
    story.topic("orders", partitions=4)
    group = story.group(group_id)
    group.rebalance_classic({"old": ["orders"]})
    story.advance(1_000)
    group.join("new", ["orders"])
    story.advance(1_000 * seconds)
    if left is not None:
        group.member("old").leave()
        story.advance(1_000 * left)
    return story


def churn(group_id, times):
    """Somebody joins and leaves, again and again: two epochs each time."""
    story, group, _ = one(group_id)
    for nth in range(times):
        member = group.join(f"member-{nth}", ["orders"])
        story.advance(20_000)
        member.leave()
        story.advance(20_000)
    return story


def crowd(group_id, joins):
    """ann never gives anything up, so that no epoch converges."""
    story, group, _ = one(group_id, revoke_ms=None, partitions=8)
    for nth in range(joins):
        group.join(f"member-{nth}", ["orders"])
        story.advance(10_000)
    return story


def flapping(group_id, times):
    """A regular expression finds a topic, and does not, in turns."""
    story, group, _ = one(group_id)
    story.topic("payments", partitions=2)
    group.join("reg", regex="pay.*")
    for nth in range(times):
        group.resolve("pay.*", ["payments"] if nth % 2 == 0 else [])
        story.advance(30_000)
    return story, group
