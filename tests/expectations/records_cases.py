"""Records, and operations, that a broker could not load or write, and those that it can."""

from tests.expectations.invariants_cases import INCOMPLETE
from tests.expectations.logs import (
    PASS,
    UNKNOWN,
    VIOLATION,
    Case,
    change,
    compacted,
    lose,
    told,
    where,
    without,
)
from tests.expectations.stories import one, two, upgrade


def padded(group_id, size):
    """ann's metadata is as large as that."""
    records = told(one(group_id)[0])
    return change(records, 5, to={"subscribedTopicNames": ["x" * (size // 4)] * 4})


def left(group_id):
    story, _group, _, bob = two(group_id, 30)
    bob.leave()
    story.advance(10_000)
    return told(story)


def left_without(group_id, kind):
    """bob leaves, but one of the tombstones is not written."""
    records = left(group_id)
    return without(records, where(records, kind, memberId="bob", deleted=True))


def emptied(group_id, kind):
    """The group is deleted, but one of the tombstones before is not written."""
    story, group, ann = one(group_id)
    if kind != 5:
        ann.leave()
    story.advance(1_000)
    if kind != 5:
        group.delete()
        records = told(story)
        return without(records, where(records, kind, deleted=True)) if kind else records
    records = told(story)
    last = records[-1]
    return [*records, {**last, "offset": last["offset"] + 1, "type": 3, "key": {"groupId": group_id}, "value": None}]


def newer(group_id):
    """A broker of tomorrow has written a group epoch of another form."""
    records = told(one(group_id)[0])
    where(records, 3)["value"] = b"\x00\x63"
    return records


def still_classic(group_id):
    """The group is upgraded, but was not deleted as a classic one."""
    records = told(upgrade(group_id, 10))
    return without(records, where(records, 2, deleted=True))


def foreign(group_id):
    """A row of another topic has come between."""
    records = told(one(group_id)[0])
    records[2]["topic"] = "orders"
    return records


def trailing(group_id):
    """Somebody wrote more than the record's fields: brokers do not look at that."""
    records = told(one(group_id)[0])
    where(records, 3)["value"] = b"\x00\x00\x00\x00\x00\x02\x00and more"
    return records


CASES = [
    Case(
        "operation_size",
        "too large",
        VIOLATION,
        lambda g: padded(g, 6_000),
        ("- - @0 error: expected operations of at most 5000 bytes, the largest has 6340 bytes",),
    ),
    Case(
        "operation_size",
        "large",
        VIOLATION,
        lambda g: padded(g, 4_000),
        ("- - @0 warn: expected operations of at most 5000 bytes, the largest has 4320 bytes",),
    ),
    Case("operation_size", "small", PASS, lambda g: padded(g, 1_000)),
    Case(
        "operation_size",
        "small, cleaned",
        UNKNOWN,
        lambda g: compacted(told(two(g, 30)[0])),
        ("- - @5 warn: expected operations of at most 5000 bytes, the largest has 319 bytes",),
    ),
    Case(
        "operation_size",
        "large, cleaned",
        VIOLATION,
        lambda g: compacted(change(told(two(g, 30)[0]), 5, to={"subscribedTopicNames": ["x" * 1_000] * 4})),
        ("- - @0 warn: expected operations of at most 5000 bytes, the largest has 4080 bytes",),
    ),
    Case(
        "loadable_records",
        "damaged",
        VIOLATION,
        lambda g: lose(told(one(g)[0]), 3),
        ("- - @1 error: expected a record that decodes, seen: value: a field runs past the end",),
    ),
    Case(
        "loadable_records",
        "of a newer version",
        UNKNOWN,
        newer,
        (
            (
                "- - @1 error: expected a record that decodes, seen: value: no such value version; "
                "refused by Kafka 4.0.0 to 4.4.0"
            ),
        ),
    ),
    Case(
        "loadable_records",
        "current assignment left",
        VIOLATION,
        lambda g: left_without(g, 8),
        (
            (
                "- bob @16 error: expected a record that can be replayed, but the member is deleted "
                "before its current assignment; refused by Kafka 4.1.1 to 4.4.0"
            ),
        ),
    ),
    Case(
        "loadable_records",
        "target left",
        VIOLATION,
        lambda g: left_without(g, 7),
        (
            (
                "- bob @16 error: expected a record that can be replayed, but the member is deleted "
                "before its target assignment; refused by Kafka 4.1.1 to 4.4.0"
            ),
        ),
    ),
    Case(
        "loadable_records",
        "assignment left",
        VIOLATION,
        lambda g: emptied(g, 6),
        (
            (
                "- - @10 error: expected a record that can be replayed, but the group is deleted before its "
                "assignment; refused by Kafka 4.1.1 to 4.4.0"
            ),
        ),
    ),
    Case(
        "loadable_records",
        "members left",
        VIOLATION,
        lambda g: emptied(g, 5),
        (
            (
                "- - @5 error: expected a record that can be replayed, but the group is deleted while it has members; "
                "refused by Kafka 4.1.1 to 4.4.0"
            ),
        ),
    ),
    Case(
        "loadable_records",
        "still classic",
        VIOLATION,
        still_classic,
        (
            (
                "- old @1 error: expected a record that can be replayed, but the group is a classic one; "
                "refused by Kafka 4.1.1 to 4.4.0 (KAFKA-21117)"
            ),
        ),
    ),
    Case("loadable_records", "all gone", PASS, lambda g: emptied(g, None)),
    Case("loadable_records", "left", PASS, left),
    Case(
        "loadable_records",
        "more than fields",
        UNKNOWN,
        trailing,
        INCOMPLETE,
    ),
    Case("loadable_records", "upgraded", PASS, lambda g: told(upgrade(g, 30, left=10))),
    Case("loadable_records", "left, cleaned", UNKNOWN, lambda g: compacted(left(g)), INCOMPLETE),
    Case(
        "loadable_records",
        "another topic's",
        UNKNOWN,
        foreign,
        ("- - @2 error: expected a record that decodes, seen: a row of topic orders",),
    ),
]
