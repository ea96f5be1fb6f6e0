"""Kafka's assignors in small."""

from kip848_records.simulate.broker.assignors import range_assignor, uniform_assignor
from kip848_records.simulate.broker.cluster import Topic
from tests.simulate.scenario import Scenario

TOPICS = {"a": Topic("a", "A", 5), "b": Topic("b", "B", 2)}
BOTH = frozenset({"a", "b"})


def numbers(assigned, topic_id):
    return {member: sorted(n for topic, n in parts if topic == topic_id) for member, parts in assigned.items()}


def test_range_gives_runs_of_each_topic():
    assigned = range_assignor({"x": BOTH, "y": frozenset({"a"}), "z": BOTH}, TOPICS, {})
    assert numbers(assigned, "A") == {"x": [0, 1], "y": [2, 3], "z": [4]}
    assert numbers(assigned, "B") == {"x": [0], "y": [], "z": [1]}


def test_uniform_is_even_and_moves_no_more_than_it_must():
    first = uniform_assignor({"x": BOTH, "y": BOTH}, TOPICS, {})
    assert sorted(map(len, first.values())) == [3, 4]
    second = uniform_assignor({"x": BOTH, "y": BOTH, "z": BOTH}, TOPICS, first)
    assert sorted(map(len, second.values())) == [2, 2, 3]
    assert all(second[member] <= first[member] for member in first)
    third = uniform_assignor({"x": BOTH, "z": BOTH}, TOPICS, second)
    assert all(second[member] <= third[member] for member in third)
    assert len(third["x"] | third["z"]) == 7


def test_a_topic_that_is_not_there_is_nobodys():
    assert uniform_assignor({"x": frozenset({"lost"})}, TOPICS, {}) == {"x": frozenset()}


def test_the_group_uses_the_assignor_that_its_members_ask_for():
    story = Scenario()
    story.topic("a", partitions=4)
    group = story.group("checkout")
    for member in ("bob", "ann"):  # whom the uniform assignor would leave the first two
        group.join(member, ["a"], assignor="range")
        story.advance(20_000)
    owned = story.capture().truth["partition_handover"]
    last = {(row["topic_id"], row["partition"]): row["to_member"] for row in owned}
    assert [last[tp] for tp in sorted(last)] == ["ann", "ann", "bob", "bob"]
