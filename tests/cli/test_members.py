"""What an operator reads of groups whose members join again and again: whom to restart, and what not to look for.

All stories are groups of one log, which ends at one time.
"""

import json
import re

import pytest

from kip848_records import cli
from tests.audits import audit_rows, table_rows
from tests.classic_log import Consumer, Worker, generation, rows
from tests.report.fitted import flat

FOUR, TWO, REST = {"orders": [0, 1, 2, 3]}, {"orders": [0, 1]}, {"orders": [2, 3]}


def b(assigned=(), owned=(), **more):
    return Consumer("b", dict(assigned), dict(owned), host="/10.0.0.2", **more)


def consumers(*rounds):
    """Generations of consumers, each with the seconds before the end, the first of them by `a` alone."""
    first = rounds[0][0] + 600
    numbered = enumerate([(first, [Consumer("a", FOUR)]), *rounds], 1)
    return [(before, generation(number, members)) for number, (before, members) in numbered]


def repeated(members, count, every=10):
    """So many rounds, the last one at the end; `members` is called with the number of each."""
    return [(every * (count - 1 - n), members(n)) for n in range(count)]


def taken(minutes, seconds=60):
    """A generation takes two of four partitions from their owner, and nothing comes for so many minutes."""
    waits = {"rebalance_seconds": seconds}
    return consumers((60 * minutes, [Consumer("a", TWO, FOUR, **waits), b(**waits)]))


def grown(count):
    """Members that come one after another; each round begins before a slow member has its assignment."""
    joined = repeated(lambda n: [Consumer("a", TWO, FOUR), *(Consumer(f"b{m}") for m in range(n))], count)
    return consumers(*((before + 60, members) for before, members in joined), (0, [Consumer("a", TWO, TWO)]))


def units(*tasks):
    return frozenset(("sink", task) for task in tasks)


def workers(*rounds):
    """Generations of Connect workers, each with the seconds before the end."""
    return [
        (before, generation(number, members, protocol="sessioned", kind="connect"))
        for number, (before, members) in enumerate(rounds, 1)
    ]


def not_used(name, owned=(), assigned=(), **more):
    """A worker of dedicated MirrorMaker, which announces no URL of its own."""
    host = {"m1": "/10.0.0.1"}.get(name, "/10.0.0.2")
    return Worker(name, "NOTUSED", units(*owned), units(*assigned), host=host, **more)


STORIES = {
    # The second worker of one URL dies; the first one was there all the time.
    "mirror": workers(
        (900, [not_used("m1", (), (-1, 0))]),
        (600, [not_used("m1", (-1, 0), (1,)), not_used("m2", (), (2, 3))]),
        (60, [not_used("m1", (-1, 0, 1), delay_ms=300_000)]),
    ),
    "mirror-two": workers(
        (900, [not_used("m1", (), (0, 1))]),
        (600, [Worker("m1", "NOTUSED", units(0, 1), revoked=units(1)), not_used("m2")]),
        (590, [not_used("m1", (0,)), not_used("m2", (), (1,))]),
    ),
    # It brings back, round after round, what the first of them took from it.
    "keeps": consumers(*repeated(lambda _: [Consumer("a", TWO, FOUR), b()], 70)),
    # Its answers get lost; the other one keeps its partitions, so that the group is a cooperative one.
    "lacks": consumers(*repeated(lambda _: [Consumer("a", TWO), b(REST, REST)], 30)),
    "grows": grown(12),
    "asks": consumers(*repeated(lambda _: [Consumer("a", TWO, TWO), b(REST, REST)], 40, 20)),
    "topics": consumers(
        *repeated(lambda n: [Consumer("a", TWO, TWO, topics=("orders", f"t{n % 5}")), b(REST, REST)], 40, 20)
    ),
    "restarts": consumers(*repeated(lambda n: [Consumer("a", TWO, FOUR), Consumer(f"b{n}")], 30)),
    "waits": taken(60),
    "may-join": taken(1),
    "may-join-long": taken(60, 4_000),
    "may-join-always": taken(60, 2**31 // 1000),
    "emptied": [
        (3_600, generation(1, [Consumer("a", FOUR)])),
        (1_800, generation(2, [Consumer("a", TWO, FOUR)])),
        (1_500, generation(3, [])),
    ],
}
ASKED = "next Check that every member polls: the group waits until all have joined again"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("members") / "out"
    logs = (rows(*values, group=name, partition=number) for number, (name, values) in enumerate(STORIES.items()))
    audit_rows(out, "c", [row for log in logs for row in log])
    return out


@pytest.fixture(scope="module")
def command(out):
    """The words of a command's answer; each is asked once."""
    known = {}
    cli.main(["explain", str(out), "--group", "emptied"])  # what is imported then is no case's work

    def run(capsys, *arguments):
        if arguments not in known:
            cli.main([arguments[0], str(out), *arguments[1:]])
            known[arguments] = flat(capsys.readouterr().out)
        return known[arguments]

    return run


@pytest.fixture
def explained(command, capsys):
    return lambda group: command(capsys, "explain", "--group", group)


@pytest.fixture
def queried(command, capsys):
    return lambda question: command(capsys, "query", question)


@pytest.fixture(scope="module")
def checked(out, tmp_path_factory):
    """The words of the violations that a check finds, by expectation."""
    report = tmp_path_factory.mktemp("check") / "check.json"
    cli.main(["check", str(out), "--json", str(report)])
    results = json.loads(report.read_text(encoding="utf-8"))["expectations"]
    return {each["name"]: " ".join(found["message"] for found in each["violations"]) for each in results}


@pytest.mark.slow
def test_the_member_that_keeps_what_was_taken_from_it_is_named_and_nobody_restarts(explained, checked):
    told = explained("keeps")
    assert (
        "a @ 10.0.0.1 joins again and again with partitions that the generation before took from it, 68 times in 11 "
        "min 10 s: orders 2-3. It does not receive its assignments, or does not apply them. A member that is to get "
        "them waits for it. next Read the log of this member at 2026-11-27 11:46:40 UTC for errors of SyncGroup or of "
        "its rebalance listener. Restart this member alone: the others only join because it does." in told
    )
    assert "assignment not applied (error); since " in told
    assert "it cost 51% of the group's work" in told
    assert "70 generations followed each other, and the group was not stable in between" in told
    assert 'no member left meanwhile explained by "assignment not applied" above' in told
    assert "why its members restart" not in told
    again = "a @ 10.0.0.1 joins again and again with partitions that the generation before took from it, 68 times"
    assert f"rebalancing for ≥ 11 min 30 s: {again}" in checked["group_stable"]
    assert again in checked["assignment_not_applied"]


@pytest.mark.slow
def test_a_member_that_never_has_what_it_got_is_named(explained):
    told = explained("lacks")
    assert (
        "a @ 10.0.0.1 joins again and again without partitions that the generation before gave to it, 29 times" in told
    )
    assert "It does not work on them. next" in told
    assert "joined again" not in told, "the storm is explained by it"


@pytest.mark.slow
def test_a_member_that_missed_an_answer_now_and_then_is_none(explained):
    assert "again and again" not in explained("grows")


def test_members_that_ask_for_one_generation_after_another_did_not_restart(explained):
    told = explained("asks")
    assert re.search(r"Members of this group joined again 39 times in .*, and none of them left\. Their topics", told)
    assert (
        'Read the log of each member for why it joins again; Java clients log "Request joining group due to".' in told
    )
    for contradicted in ("their topics change", "assignors differ", "restart"):
        assert contradicted not in told


def test_members_whose_topics_change_are_told_so(explained):
    told = explained("topics")
    assert "Find out why the topics change to which its members subscribe" in told
    assert "stayed the same" not in told


def test_members_that_left_are_counted_in_a_rebalance_that_never_ends(explained):
    """There a restart is what to look for."""
    told = explained("restarts")
    assert "30 generations followed each other" in told
    assert "; 29 members left meanwhile" in told


@pytest.mark.slow
def test_the_member_that_never_asks_for_the_next_generation_is_named(explained, queried, checked):
    told = explained("waits")
    assert (
        "a @ 10.0.0.1 was to give up partitions and to join again, and has not for ≥ 1 h, longer than any join phase "
        "lasts: these partitions have no owner member a-id next Restart it, and the next generation gives these "
        "partitions to others." in told
    )
    assert ASKED not in told
    assert "waits classic Stable 2026-11-27 10:46:40 UTC a-id a /10.0.0.1 2026-11-27 10:46:40 UTC" in queried(
        "not_converged"
    )
    stable = checked["group_stable"]
    assert "expected Stable within 10 min, rebalancing for ≥ 1 h: a @ 10.0.0.1 was to give up partitions" in stable


@pytest.mark.slow
def test_its_partitions_have_no_owner(explained, queried, checked):
    told = explained("waits")
    assert "Partitions without an owner, since a generation took them from one:" in told
    assert "orders 2-3 ≥ 1 h 2026-11-27 10:46:40 UTC a @ 10.0.0.1" in told
    lasts = "2026-11-27 10:46:40 UTC 3600000 True"
    assert f"waits orders 2 {lasts} waits orders 3 {lasts}" in queried("unowned")
    assert re.search(r"waits False 2 7200 ", queried("lost_time"))
    assert (
        "expected orders 2 to have an owner again within 5 min, had none for ≥ 1 h (after a-id)"
        in checked["unowned_time"]
    )


@pytest.mark.parametrize("group", ["may-join", "may-join-long", "may-join-always"])
def test_no_member_is_named_while_a_join_phase_may_be_under_way(explained, group):
    """It lasts up to the longest rebalance timeout, and a timer may fire late."""
    told = explained(group)
    assert ASKED in told
    assert "was to give up" not in told
    assert "Partitions without an owner, since a generation took them from one:" in told


def test_a_worker_that_left_is_not_back_because_another_one_has_its_url(explained):
    told = explained("mirror")
    assert (
        "Worker NOTUSED @ 10.0.0.2, member m2-id left 2 connectors and tasks behind; the leader does not assign" in told
    )
    assert "is back" not in told
    assert "Start the worker again before" in told
    assert re.search(r"sink: tasks 2-3 .* NOTUSED @ 10\.0\.0\.2, member m2-id", told)


def test_workers_of_one_url_are_two(explained, queried):
    told = explained("mirror-two")
    assert "NOTUSED @ 10.0.0.1, member m1-id yes" in told
    assert "2 workers announce the URL NOTUSED: they cannot forward requests to each other." in told
    assert re.search(r"mirror-two +NOTUSED @ 10\.0\.0\.2, member m2-id +False +sink +1", queried("workers"))


def test_a_task_that_moves_between_workers_of_one_url_moves(out):
    found = [row for row in table_rows(out, "task_handover", "c") if row["group_id"] == "mirror-two"]
    assert [(row["task"], row["from_member"], row["to_member"], row["reason"]) for row in found] == [
        (1, "m1-id", "m2-id", "revoked")
    ]
    generations = [row for row in table_rows(out, "classic_generation", "c") if row["group_id"] == "mirror-two"]
    assert [row["moved"] for row in generations] == [0, 0, 0, 1]


def test_partitions_that_had_no_owner_until_all_left_are_known_later(out):
    """The row has an end, and is no lasting one."""
    found = [row for row in table_rows(out, "partition_handover", "c") if row["group_id"] == "emptied"]
    assert [(row["partition"], row["to_member"], row["wanted_ms"], row["history"]) for row in found] == [
        (2, None, 300_000, "observed"),
        (3, None, 300_000, "observed"),
    ]
    rebalances = [row for row in table_rows(out, "rebalance", "c") if row["group_id"] == "emptied"]
    (emptied,) = (row for row in rebalances if row["first_epoch"] == 2)
    assert (emptied["outcome"], emptied["unowned_ms"], emptied["blockers"]) == ("emptied", 600_000, None)


def test_the_table_has_what_each_member_did_not_apply(out):
    found = [row["unapplied"] for row in table_rows(out, "classic_generation", "c") if row["group_id"] == "keeps"]
    kept = [{"member_id": "a-id", "kept": [{"topic": "orders", "partitions": [2, 3]}], "missing": []}]
    assert found[:5] == [[], [], [], kept, kept]
