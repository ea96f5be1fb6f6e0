"""Logs such as no coordinator writes them, and those that only look so."""

from kip848_records.simulate.broker.cluster import uuid_of
from kip848_records.simulate.broker.releases import KAFKA_4_0, KAFKA_4_3
from tests.expectations.convergence_cases import cleaned_behind
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION, Case, change, compacted, headless, told, where
from tests.expectations.stories import churn, one, two, upgrade


def claimed_twice(group_id):
    """bob takes a partition that ann has."""
    story, group, _, _ = two(group_id, 30)
    group.join("zoe")
    records = told(story)
    mine = where(records, 8, -1, memberId="bob")["value"]["assignedPartitions"][0]
    hers = where(records, 8, 0, memberId="ann")["value"]["assignedPartitions"][0]
    both = [{**mine, "partitions": [0, *mine["partitions"]], "assignmentEpochs": [2, *mine["assignmentEpochs"]]}]
    assert hers["partitions"] == [0, 1, 2, 3]
    return change(records, 8, -1, memberId="bob", to={"assignedPartitions": both})


def assigned_twice(group_id, release):
    """The target of bob has a partition that ann is to keep."""
    records = told(two(group_id, 30, release)[0])
    (his,) = where(records, 7, memberId="bob")["value"]["topicPartitions"]
    return change(records, 7, memberId="bob", to={"topicPartitions": [{**his, "partitions": [0, *his["partitions"]]}]})


def forgotten(group_id):
    """The target of bob lacks a partition that ann is to give up."""
    records = told(two(group_id, 30, KAFKA_4_0)[0])
    (his,) = where(records, 7, memberId="bob")["value"]["topicPartitions"]
    return change(records, 7, memberId="bob", to={"topicPartitions": [{**his, "partitions": his["partitions"][1:]}]})


def reborn(group_id):
    """The group is deleted, and begins anew."""
    story, group, ann = one(group_id)
    ann.leave()
    group.delete()
    story.advance(10_000)
    group.join("ann", ["orders"])
    story.advance(10_000)
    return story


def grown(group_id):
    """Brokers come to 4.1, which deletes the topics' sizes and tells of topics by a hash; then a topic grows."""
    story, group, _ = one(group_id, KAFKA_4_0)
    story.grow("orders", 6)
    group.clients.heartbeat(group.clients.alive["ann"])
    story.advance(10_000)
    records = told(story)
    size = where(records, 4, -1)
    size["value"] = None
    return records


def read_from_growth(group_id):
    """The log is read from where a topic grows by a partition: of two targets only that which gets it is there."""
    story, _group, _, _ = two(group_id, 30, KAFKA_4_0)
    story.grow("orders", 5)
    story.advance(10_000)
    records = told(story)
    return headless(records, where(records, 4, -1)["offset"])


INCOMPLETE = ("- - @- error: the log does not have all records of the group",)
CASES = [
    Case(
        "one_owner",
        "claimed twice",
        VIOLATION,
        claimed_twice,
        (f"3 bob @14 error: expected one owner of each partition, seen {uuid_of('topic', 0, 'orders')}-0 also of ann",),
    ),
    Case("one_owner", "handed over", PASS, lambda g: told(two(g, 30)[0])),
    Case(
        "one_owner",
        "claimed twice, cleaned",
        UNKNOWN,
        lambda g: cleaned_behind(claimed_twice(g), 8, -1, memberId="bob"),
        INCOMPLETE,
    ),
    Case(
        "epoch_order",
        "member ahead",
        VIOLATION,
        lambda g: change(told(two(g, 30)[0]), 8, -1, to={"memberEpoch": 4}),
        ("4 bob @14 error: expected a member epoch of at most 3, seen 4",),
    ),
    Case(
        "epoch_order",
        "assignment ahead",
        VIOLATION,
        lambda g: change(told(two(g, 30)[0]), 6, -1, to={"assignmentEpoch": 4}),
        ("4 - @9 error: expected an assignment epoch of at most 3, seen 4",),
    ),
    Case("epoch_order", "in order", PASS, lambda g: told(two(g, 30)[0])),
    Case(
        "epoch_order",
        "in order, cleaned",
        UNKNOWN,
        lambda g: compacted(told(two(g, 30)[0])),
        INCOMPLETE,
    ),
    Case(
        "epoch_order",
        "ahead, cleaned",
        UNKNOWN,
        lambda g: compacted(change(told(two(g, 30)[0]), 8, -2, to={"memberEpoch": 4})),
        INCOMPLETE,
    ),
    Case(
        "epochs_grow",
        "back",
        VIOLATION,
        lambda g: change(told(churn(g, 2)), 3, -1, to={"epoch": 4}),
        ("4 - @35 error: expected an epoch of at least 5, seen 4",),
    ),
    # The epoch behind it jumps, as if records between were missing.
    Case(
        "epochs_grow",
        "back for once",
        UNKNOWN,
        lambda g: change(told(churn(g, 2)), 3, -2, to={"epoch": 3}),
        ("3 - @23 error: expected an epoch of at least 4, seen 3",),
    ),
    Case(
        "epochs_grow",
        "assignment back",
        VIOLATION,
        lambda g: change(told(churn(g, 2)), 6, -1, to={"assignmentEpoch": 4}),
        ("4 - @37 error: expected an epoch of at least 5, seen 4",),
    ),
    Case("epochs_grow", "reborn", PASS, lambda g: told(reborn(g))),
    Case("epochs_grow", "upgraded and back", PASS, lambda g: told(upgrade(g, 30))),
    Case(
        "epochs_grow",
        "cleaned",
        UNKNOWN,
        lambda g: cleaned_behind(told(churn(g, 2)), 3, -2),
        INCOMPLETE,
    ),
    Case(
        "target_covers_topics",
        "forgotten",
        VIOLATION,
        forgotten,
        ("2 - @7 error: expected each of 4 partitions in one target, 3 are in one or more and 0 in more than one",),
    ),
    Case(
        "target_covers_topics",
        "twice",
        VIOLATION,
        lambda g: assigned_twice(g, KAFKA_4_0),
        ("2 - @7 error: expected each of 4 partitions in one target, 4 are in one or more and 1 in more than one",),
    ),
    Case(
        "target_covers_topics",
        "twice, sizes unknown",
        VIOLATION,
        lambda g: assigned_twice(g, KAFKA_4_3),
        ("3 - @6 error: expected each of ? partitions in one target, 4 are in one or more and 1 in more than one",),
    ),
    Case("target_covers_topics", "whole", PASS, lambda g: told(two(g, 30, KAFKA_4_0)[0])),
    Case(
        "target_covers_topics",
        "sizes not in the log",
        UNKNOWN,
        lambda g: told(two(g, 30)[0]),
        ("3 - @6 error: expected every partition in one target, the log does not have the topics' sizes",),
    ),
    Case("target_covers_topics", "read from the middle", UNKNOWN, read_from_growth),
    Case(
        "epoch_order",
        "read from the middle",
        UNKNOWN,
        lambda g: headless(told(two(g, 30)[0]), 9),
        INCOMPLETE,
    ),
    Case(
        "target_covers_topics",
        "sizes deleted",
        UNKNOWN,
        grown,
        ("2 - @7 error: expected every partition in one target, the log does not have the topics' sizes",),
    ),
]
