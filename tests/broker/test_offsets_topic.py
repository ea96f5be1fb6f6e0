"""What can happen to the offsets topic, happens on the tests' broker."""

import pytest

from tests.broker.clients import commit, committed, consumer
from tests.broker.offsets_topic import add_partitions, compact, ends, group_in, lose, make_anew, partition_of, read
from tests.broker.requests import delete_group
from tests.broker.running import OFFSETS
from tests.broker.settings import PARTITIONS

pytestmark = pytest.mark.slow  # tests of what other tests use


def test_compaction(broker, topic):
    kept, deleted = group_in(1, "kept"), group_in(1, "deleted")
    commit(broker, kept, {(topic, 0): 3}, times=20)
    commit(broker, deleted, {(topic, 0): 3}, times=20)
    delete_group(broker, deleted)
    compact(broker, [1])
    keys = [key for _, key, _ in read(broker, 1)]
    assert sum(kept.encode() in key for key in keys) == 1
    assert not any(deleted.encode() in key for key in keys)


def test_nothing_is_compacted_without_being_asked_for(broker, topic):
    compact(broker, [1])
    group = group_in(1, "uncompacted")
    before = len(read(broker, 1))
    commit(broker, group, {(topic, 0): 3}, times=50)
    assert len(read(broker, 1)) == before + 50


def test_compaction_while_members_are_there(broker, topic):
    group = group_in(2, "alive")
    with consumer(broker, group, [topic]) as member:
        member.wait_for(4)
        compact(broker, [2])
        assert len(member.wait_for(4)) == 4


def test_a_partition_that_is_lost(broker, topic):
    group = group_in(3, "lost")
    commit(broker, group, {(topic, 0): 3}, times=5)
    others = {number: end for number, end in ends(broker).items() if number != 3}
    before = broker.topic_id(OFFSETS)
    lose(broker, 3)
    after = ends(broker)
    assert after.pop(3) == (0, 0)
    # Members of other tests may have written since.
    assert {number: start for number, (start, _) in after.items()} == {n: start for n, (start, _) in others.items()}
    assert all(end >= others[number][1] for number, (_, end) in after.items())
    assert broker.topic_id(OFFSETS) == before
    commit(broker, group, {(topic, 0): 3})
    assert len(read(broker, 3)) == 1


def test_more_partitions(broker, topic):
    group = next(name for name in (f"moved-{number}" for number in range(99)) if partition_of(name, 6) > PARTITIONS)
    commit(broker, group, {(topic, 0): 3})
    try:
        add_partitions(broker, 6)
        assert committed(broker, group, (topic, 0)) == 3
        broker.restart()
        assert committed(broker, group, (topic, 0)) is None
        commit(broker, group, {(topic, 0): 4})
        assert len(read(broker, partition_of(group, 6))) == 1
    finally:
        make_anew(broker)
    commit(broker, group, {(topic, 0): 5})
    assert len(read(broker, partition_of(group))) == 1


def test_a_topic_made_anew(broker, topic):
    commit(broker, "anew", {(topic, 0): 3})
    before = broker.topic_id(OFFSETS)
    make_anew(broker)
    assert broker.topic_id(OFFSETS) != before
    assert ends(broker) == dict.fromkeys(range(PARTITIONS), (0, 0))
    commit(broker, "anew", {(topic, 0): 4})
    assert committed(broker, "anew", (topic, 0)) == 4
