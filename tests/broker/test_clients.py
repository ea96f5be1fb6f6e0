"""Clients in the tests do to groups what clients do."""

import pytest

from tests.broker.clients import commit, commit_in_transaction, committed, consumer, make_topic, produce
from tests.broker.offsets_topic import partition_of, read
from tests.broker.requests import delete_group, group_states, wait_for_state

pytestmark = pytest.mark.slow  # tests of what other tests use

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.mark.parametrize(("protocol", "kind"), [("consumer", "Consumer"), ("classic", "Classic")])
def test_members(broker, topic, protocol, kind):
    group = f"members-{protocol}"
    with consumer(broker, group, [topic], protocol=protocol) as first:
        first.wait_for(4)
        with consumer(broker, group, [topic], protocol=protocol) as second:
            assert first.wait_for(2).isdisjoint(second.wait_for(2))
            wait_for_state(broker, group, "Stable")
            listed = broker.command(COMMAND, "--list", "--type", kind, "--state", "Stable")
            assert [group, kind, "Stable"] in [line.split() for line in listed.splitlines()]
            assert second.id in broker.command(COMMAND, "--describe", "--group", group, "--members")
        first.wait_for(4)
    wait_for_state(broker, group, "Empty")
    assert group_states(broker)[group] == (protocol, "Empty")


def test_a_member_that_holds(broker, topic):
    with consumer(broker, "held", [topic], holds=True) as first:
        first.wait_for(4)
        with consumer(broker, "held", [topic]) as second:
            first.wait_until_asked()
            with pytest.raises(TimeoutError):
                wait_for_state(broker, "held", "Stable", patience=2)
            assert group_states(broker)["held"] == ("consumer", "Reconciling")
            assert not second.partitions()
            first.release()
            second.wait_for(2)
            wait_for_state(broker, "held", "Stable")


def test_a_static_member_comes_back(broker, topic):
    with consumer(broker, "static", [topic], instance_id="one") as other:
        other.wait_for(4)
        before = other.id
    with consumer(broker, "static", [topic], instance_id="one") as same:
        same.wait_for(4)
        assert same.id != before
        members = broker.command(COMMAND, "--describe", "--group", "static", "--members")
        assert members.count("one") == 1


def test_a_regular_expression(broker):
    for name in ("expressed-1", "expressed-2", "not-expressed-3"):
        make_topic(broker, name)
    with consumer(broker, "expression", regex="expressed-[0-9]") as member:
        assert member.wait_for(2) == {("expressed-1", 0), ("expressed-2", 0)}


def test_a_member_commits_what_it_reads(broker):
    make_topic(broker, "to-be-read")
    produce(broker, "to-be-read", 10)
    with consumer(broker, "reads", ["to-be-read"]) as member:
        member.wait_for(1)
        member.wait_until_read(10)
    assert committed(broker, "reads", ("to-be-read", 0)) == 10


def test_commits_and_deletion(broker, topic):
    partition = partition_of("commits")
    before = len(read(broker, partition))
    commit(broker, "commits", {(topic, 0): 5, (topic, 1): 6}, times=3)
    assert committed(broker, "commits", (topic, 1)) == 6
    assert len(read(broker, partition)) == before + 6
    delete_group(broker, "commits")
    assert "commits" not in group_states(broker)
    assert [value for *_, value in read(broker, partition)[-2:]] == [None, None]


def test_transactions(broker, topic):
    records = len(read(broker, partition_of("transactions")))
    commit_in_transaction(broker, "transactions", {(topic, 0): 5})
    commit_in_transaction(broker, "transactions", {(topic, 0): 9}, abort=True)
    assert committed(broker, "transactions", (topic, 0)) == 5
    assert len(read(broker, partition_of("transactions"))) == records + 2


def test_a_transaction_of_a_member(broker, topic):
    with consumer(broker, "exactly-once", [topic], more={"enable.auto.commit": "false"}) as member:
        member.wait_for(4)
        commit_in_transaction(broker, "exactly-once", {(topic, 2): 8}, member=member)
    assert committed(broker, "exactly-once", (topic, 2)) == 8
