"""Groups that converge, and those that do not, or not in time."""

from kip848_records.simulate.spec import START_MS
from tests.expectations.logs import (
    PASS,
    UNKNOWN,
    VIOLATION,
    Case,
    compacted,
    headless,
    lose,
    next_operation,
    told,
    where,
)
from tests.expectations.stories import away, churn, crowd, deserted, one, two
from tests.simulator.scenario import Scenario

STUCK = {"revoke_ms": None}


def wanted_at_last(group_id):
    """A regular expression finds nothing for longer than a partition may have no owner, and then finds it again.

    Its partitions then have their first owners; another topic's are handed over.
    """
    story, group, _ = one(group_id)
    story.topic("payments", partitions=2)
    for name in ("reg", "ular"):
        group.join(name, regex="pay.*")
    for topics, seconds in ((["payments"], 20), ([], 40), (["payments"], 20)):
        group.resolve("pay.*", topics)
        story.advance(1_000 * seconds)
    group.join("bob", ["orders"])
    story.advance(20_000)
    return story


def night_stop(group_id):
    """Three members stop one after the other, before all have taken what was another's; the next comes much later."""
    story = Scenario()
    story.topic("orders", partitions=6)
    group = story.group(group_id)
    members = [group.join(name, ["orders"]) for name in ("ann", "bob", "carl")]
    story.advance(30_000)
    members[0].leave()
    story.advance(1_000)
    members[1].heartbeat()
    story.advance(500)
    members[2].leave()
    members[1].leave()
    story.advance(600_000)
    group.join("dora", ["orders"])
    story.advance(1_000)
    return story


def orphans(group_id, seconds):
    """bob leaves, and who is to have his partitions, carl, is dead, until his session expires 45 s later."""
    story = Scenario()
    story.topic("orders", partitions=6)
    group = story.group(group_id)
    _, bob, carl = [group.join(name, ["orders"]) for name in ("ann", "bob", "carl")]
    story.advance(30_000)
    carl.crash()
    bob.leave()
    story.advance(1_000 * seconds)
    return story


def given_up_in_turn(group_id):
    """bob, who is dead, is to have a partition of ann's, who takes her time, and one of carl's, who does not."""
    story = Scenario()
    story.topic("orders", partitions=6)
    group = story.group(group_id)
    for name, revoke_ms in {"ann": 20_000, "carl": 10}.items():
        group.join(name, ["orders"], revoke_ms=revoke_ms)
    story.advance(60_000)
    group.join("bob", ["orders"]).crash()
    story.advance(40_000)
    return story


def behind_clock(group_id, after, **options):
    """After some seconds the coordinator moves to a broker whose clock is a minute behind."""
    moves_at = START_MS + 1_000 * after
    story = Scenario(clock=lambda time: time - 60_000 if time > moves_at else time)
    story.topic("orders", partitions=4)
    group = story.group(group_id)
    group.join("ann", ["orders"], **options)
    story.advance(5_000)
    group.join("bob", ["orders"])
    story.advance(20_000)
    return story


def stopped(group_id):
    """ann takes her time to give bob his half, and both stop before she has."""
    story, _, ann, bob = two(group_id, 35, revoke_ms=40_000)
    ann.leave()
    bob.leave()
    story.advance(10_000)
    return story


def stuck(group_id, seconds):
    return told(two(group_id, seconds, **STUCK)[0])


def cleaned_behind(records, kind, nth=0, **fields):
    """The log, cleaned up to the operation of a record, that included."""
    return compacted(records, next_operation(where(records, kind, nth, **fields), records))


ANN = "member ann (client, /127.0.0.1)"
CASES = [
    Case(
        "group_stable",
        "stuck",
        VIOLATION,
        lambda g: stuck(g, 60),
        (
            (
                "3 ann @12 error: expected Stable within 30 s, Reconciling for ≥ 1 min: client @ 127.0.0.1 has been "
                "asked to give up partitions for ≥ 55 s; 1 member waits for it"
            ),
        ),
    ),
    Case("group_stable", "stable", PASS, lambda g: told(two(g, 60)[0])),
    Case("group_stable", "not yet late", PASS, lambda g: stuck(g, 20)),
    Case("group_stable", "waits for who is away", PASS, lambda g: told(away(g, 40))),
    Case(
        "group_stable",
        "behind, since who knows when",
        UNKNOWN,
        lambda g: cleaned_behind(stuck(g, 20), 8, memberId="bob"),
        (
            (
                "3 ann @13 error: expected Stable within 30 s, Reconciling for ≥ 20 s: client @ 127.0.0.1 has been "
                "asked to give up partitions for ≥ 15 s; 1 member waits for it"
            ),
        ),
    ),
    Case(
        "group_stable",
        "stuck, cleaned",
        VIOLATION,
        lambda g: cleaned_behind(stuck(g, 60), 8, memberId="bob"),
        (
            (
                "3 ann @13 error: expected Stable within 30 s, Reconciling for ≥ 1 min: client @ 127.0.0.1 has been "
                "asked to give up partitions for ≥ 55 s; 1 member waits for it"
            ),
        ),
    ),
    Case(
        "group_stable",
        "lost",
        UNKNOWN,
        lambda g: lose(stuck(g, 60), 8, memberId="ann", state=1),
        ("- - @12 error: expected Stable within 30 s, the log does not show it",),
    ),
    Case(
        "rebalance_time",
        "slow",
        VIOLATION,
        lambda g: told(two(g, 60, revoke_ms=40_000)[0]),
        ("3 - @6 error: expected to converge within 30 s, took 45 s (member joined)",),
    ),
    Case(
        "rebalance_time",
        "open",
        VIOLATION,
        lambda g: stuck(g, 50),
        (
            (
                "3 ann @6 warn: expected to converge within 30 s, ongoing for ≥ 50 s (member joined): client @ "
                "127.0.0.1 has been asked to give up partitions for ≥ 45 s; 1 member waits for it"
            ),
        ),
    ),
    Case("rebalance_time", "quick", PASS, lambda g: told(two(g, 60)[0])),
    Case(
        "rebalance_time",
        "slow, cleaned",
        UNKNOWN,
        lambda g: cleaned_behind(told(two(g, 60, revoke_ms=40_000)[0]), 8, memberId="bob"),
        ("3 - @6 error: expected to converge within 30 s, took 45 s as far as the log shows (member joined)",),
    ),
    Case(
        "rebalance_time",
        "of another clock",
        UNKNOWN,
        lambda g: told(behind_clock(g, 9)),
        (
            (
                "3 - @6 error: expected to converge within 30 s, took an unknown time (the broker's clock went back) "
                "(member joined)"
            ),
        ),
    ),
    Case(
        "rebalance_time_p95",
        "slow as a rule",
        VIOLATION,
        lambda g: told(two(g, 60, revoke_ms=40_000)[0]),
        (
            (
                "- - @- warn: expected 95 % of rebalances to converge within 20.5 s, took up to 45 s "
                "(95th percentile of 1 observed rebalance)"
            ),
        ),
    ),
    Case(
        "rebalance_time",
        "stuck, cleaned",
        VIOLATION,
        lambda g: cleaned_behind(stuck(g, 50), 8, memberId="bob"),
        (
            (
                "3 ann @6 warn: expected to converge within 30 s, ongoing for ≥ 50 s (member joined): client @ "
                "127.0.0.1 has been asked to give up partitions for ≥ 45 s; 1 member waits for it"
            ),
        ),
    ),
    Case(
        "rebalance_time",
        "of several epochs",
        VIOLATION,
        lambda g: told(crowd(g, 4)),
        (
            (
                "3 ann @6 warn: expected to converge within 30 s, ongoing for ≥ 40 s (4 epochs, member joined): "
                "client @ 127.0.0.1 has been asked to give up partitions for ≥ 35 s; 4 members wait for it"
            ),
        ),
    ),
    Case("rebalance_time", "stopped before it is done", PASS, lambda g: told(stopped(g))),
    Case("rebalance_time_p95", "quick as a rule", PASS, lambda g: told(two(g, 60)[0])),
    Case(
        "rebalance_time_p95",
        "nothing observed",
        UNKNOWN,
        lambda g: cleaned_behind(told(two(g, 60)[0]), 8, memberId="bob"),
        (
            (
                "- - @- warn: expected 95 % of rebalances to converge within 20.5 s, took up to an unknown time (95th "
                "percentile of 0 observed rebalances)"
            ),
        ),
    ),
    Case(
        "awaited_partition_free",
        "deserted",
        VIOLATION,
        lambda g: told(deserted(g, 40)[0]),
        (
            (
                "3 bob @- error: expected an owner within 12 s, orders 2 has had none for 34.9 s: 2 "
                "partitions it waits for are free"
            ),
        ),
    ),
    Case("awaited_partition_free", "just free", PASS, lambda g: told(deserted(g, 15)[0])),
    Case("awaited_partition_free", "held", PASS, lambda g: stuck(g, 60)),
    Case(
        "awaited_partition_free",
        "lost in between",
        UNKNOWN,
        lambda g: lose(told(deserted(g, 40)[0]), 8, 2, memberId="ann"),
        ("3 ann @- error: the log does not show what the member waits for",),
    ),
    Case(
        "awaited_partition_free",
        "free one after the other",
        VIOLATION,
        lambda g: told(given_up_in_turn(g)),
        (
            (
                "4 bob @- error: expected an owner within 12 s, orders 5 has had none for 34.9 s: 2 "
                "partitions it waits for are free"
            ),
        ),
    ),
    # ann gave it up 2 s ago; that she had it is compacted away.
    Case(
        "awaited_partition_free",
        "just free, cleaned",
        UNKNOWN,
        lambda g: compacted(told(two(g, 49, revoke_ms=42_000)[0])),
        ("3 bob @- error: the log does not show since when 2 partitions it waits for are free",),
    ),
    # ann has them: that was before.
    Case(
        "awaited_partition_free",
        "read from the middle",
        UNKNOWN,
        lambda g: headless(stuck(g, 4), 5),
        ("3 bob @- error: the log does not show since when 2 partitions it waits for are free",),
    ),
    Case(
        "unowned_time",
        "orphans",
        VIOLATION,
        lambda g: told(orphans(g, 60)),
        (("6 ann @35 error: expected orders 4 to have an owner again within 20 s, took ≥ 40 s (from bob to ann)"),),
    ),
    Case(
        "unowned_time",
        "long away",
        VIOLATION,
        lambda g: told(away(g, 30, back=10)),
        (
            (
                "2 ann-again @12 error: expected orders 0 to have an owner again within 20 s, took ≥ "
                "30 s (from ann to ann-again)"
            ),
            (
                "2 ann-again @12 error: expected orders 1 to have an owner again within 20 s, took ≥ "
                "30 s (from ann to ann-again)"
            ),
            (
                "2 ann-again @12 error: expected orders 2 to have an owner again within 20 s, took ≥ "
                "30 s (from ann to ann-again)"
            ),
            (
                "2 ann-again @12 error: expected orders 3 to have an owner again within 20 s, took ≥ "
                "30 s (from ann to ann-again)"
            ),
        ),
    ),
    Case("unowned_time", "soon back", PASS, lambda g: told(away(g, 10, back=10))),
    Case("unowned_time", "wanted at last", PASS, lambda g: told(wanted_at_last(g))),
    Case("unowned_time", "nobody's at night", PASS, lambda g: told(night_stop(g))),
    Case(
        "unowned_time",
        "orphans, and a loss",
        UNKNOWN,
        lambda g: lose(told(orphans(g, 60)), 3, -1),
        (("4 bob @19 error: expected orders 2 to have an owner again within 20 s, took ≥ 4.9 s (from ann to bob)"),),
    ),
    Case(
        "superseded_epochs",
        "crowd",
        VIOLATION,
        lambda g: told(crowd(g, 5)),
        ("- - @- warn: expected at most 50 % of epochs to be superseded, seen 4 of 5",),
    ),
    Case("superseded_epochs", "in turn", PASS, lambda g: told(churn(g, 3))),
    Case(
        "superseded_epochs",
        "quiet since",
        UNKNOWN,
        lambda g: cleaned_behind(told(two(g, 20)[0]), 3, -1),
        ("- - @- warn: expected at most 50 % of epochs to be superseded, seen 0 of 0",),
    ),
]
