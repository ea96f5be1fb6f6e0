"""Members, and what they subscribe to, that come to rest or do not."""

from tests.expectations.convergence_cases import behind_clock, cleaned_behind
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION, Case, change, lose, told
from tests.expectations.stories import flapping, one, two, upgrade

HURRIED = {"rebalanceTimeoutMs": 10_000}


def hurried(group_id, seconds, revoke_ms):
    """ann has 10 s to give partitions up, says her record; no coordinator would let her take longer."""
    return change(told(two(group_id, seconds, revoke_ms=revoke_ms)[0]), 5, memberId="ann", to=HURRIED)


def left_instead(group_id):
    """ann, a static member with 10 s to give partitions up, goes away in time, and stays away for longer."""
    story, group, ann = one(group_id, instance_id="a", revoke_ms=None)
    group.join("bob", ["orders"])
    story.advance(10_000)
    ann.go_away()
    story.advance(30_000)
    return change(told(story), 5, memberId="ann", to=HURRIED)


def resubscribed(group_id):
    """ann's record is written again while she gives partitions up: compaction leaves that, not when she began."""
    story, _, ann, _ = two(group_id, 20, revoke_ms=None)
    ann.subscribe(["orders", "payments"])
    story.advance(30_000)
    return cleaned_behind(told(story), 5, -1, memberId="ann")


def subscribed_anew(group_id):
    """The only member with a regular expression leaves, and another comes: the same topics are no flap."""
    story, group = flapping(group_id, 4)
    for nth in range(3):
        group.member("reg").leave()
        story.advance(10_000)
        group.join("reg", regex="pay.*")
        group.resolve("pay.*", ["payments"] if nth % 2 == 0 else [])
        story.advance(10_000)
    return told(story)


CASES = [
    Case(
        "revocation_time",
        "too slow",
        VIOLATION,
        lambda g: hurried(g, 60, 30_000),
        ("2 ann @11 warn: expected to revoke partitions within its rebalance timeout of 10 s, took 30 s",),
    ),
    Case(
        "revocation_time",
        "still too slow",
        VIOLATION,
        lambda g: hurried(g, 40, None),
        (
            (
                "2 ann @11 warn: expected to revoke partitions within its rebalance timeout of 10 s, has"
                " been asked to for 35 s"
            ),
        ),
    ),
    Case("revocation_time", "in time", PASS, lambda g: hurried(g, 60, 12_000)),
    Case("revocation_time", "went away instead", PASS, left_instead),
    Case(
        "revocation_time",
        "cleaned",
        UNKNOWN,
        resubscribed,
        (
            (
                "2 ann @15 warn: expected to revoke partitions within its rebalance timeout of 5 min, has "
                "been asked to for 30 s"
            ),
        ),
    ),
    Case(
        "revocation_time",
        "its answer is lost",
        UNKNOWN,
        lambda g: lose(hurried(g, 60, 30_000), 8, 2, memberId="ann"),
        ("2 ann @11 warn: expected to revoke partitions within its rebalance timeout of 10 s, took 30 s",),
    ),
    Case(
        "revocation_time",
        "of another clock",
        UNKNOWN,
        lambda g: told(behind_clock(g, 12, revoke_ms=5_000)),
        ("2 ann @11 warn: expected to revoke partitions within its rebalance timeout of 5 min, took an unknown time",),
    ),
    Case(
        "mixed_protocols",
        "endless upgrade",
        VIOLATION,
        lambda g: told(upgrade(g, 70)),
        (
            (
                "- new @7 warn: expected one protocol after 1 min, has had both for 1 min 10 s (1 classic and 1 "
                "consumer members at first)"
            ),
        ),
    ),
    Case(
        "mixed_protocols",
        "long upgrade",
        VIOLATION,
        lambda g: told(upgrade(g, 70, left=10)),
        (
            (
                "- new @7 warn: expected one protocol after 1 min, had both for 1 min 10 s (1 classic and 1 "
                "consumer members at first)"
            ),
        ),
    ),
    Case("mixed_protocols", "upgrade", PASS, lambda g: told(upgrade(g, 30, left=10))),
    Case(
        "mixed_protocols",
        "upgrade, cleaned",
        UNKNOWN,
        lambda g: cleaned_behind(told(upgrade(g, 30)), 8, memberId="new"),
        (
            (
                "- new @7 warn: expected one protocol after 1 min, has had both for 30 s (1 classic and 1 "
                "consumer members at first)"
            ),
        ),
    ),
    Case(
        "mixed_protocols",
        "endless, cleaned",
        VIOLATION,
        lambda g: cleaned_behind(told(upgrade(g, 70)), 8, memberId="new"),
        (
            (
                "- new @7 warn: expected one protocol after 1 min, has had both for 1 min 10 s (1 classic and 1 "
                "consumer members at first)"
            ),
        ),
    ),
    Case(
        "mixed_protocols",
        "endless, lost",
        UNKNOWN,
        lambda g: lose(told(upgrade(g, 70)), 8, -1),
        (
            (
                "- new @7 warn: expected one protocol after 1 min, has had both for 1 min 10 s (1 classic and 1 "
                "consumer members at first)"
            ),
        ),
    ),
]
