"""What holds a rebalance up, from made-up rows, and that the runbook has an entry for everything that is said."""

import re
from pathlib import Path

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.replay.blocker.advice import PATTERNS, Gone, MemberNow, Ongoing, advise, members_of, runbook_link
from kip848_records.replay.diagnosis.consumption import NOT_CONSUMED
from kip848_records.replay.diagnosis.moved_groups import BEGAN_AGAIN
from kip848_records.replay.rows import Blocker
from kip848_records.text import client_text

ROOT = Path(__file__).parent.parent.parent.parent
MINUTE, HOUR = 60_000, 3_600_000
DELAYED = {"group_type": "classic", "delay_ms": 8_000, "expected_at": 8_000, "duration_ms": 5}


def blocker(member="m1", **columns):
    row = {"member_id": member, "client_id": "stuck-app", "client_host": "/10.0.1.232", "instance_id": None}
    numbers = {"late_ms": 24 * MINUTE, "blocked_ms": 0, "held_up": 0, "revoke_ms": 0, "away_ms": 0}
    return Blocker(**row | numbers | {"last_state": "behind", "late_now": True, "waiting_now": 0} | columns)


def rebalance(*blockers, **columns):
    row = {"assigning_ms": 0, "duration_ms": 24 * MINUTE, "epochs": 1, "causes": ["member_joined"]}
    row |= {"is_assigning": False, "is_not_ready": False, "members_left": 0}
    row |= {"group_type": "consumer", "not_ready_ms": None, "delay_ms": None, "expected_at": None, "began_at": 0}
    return Ongoing(**row | {"blockers": list(blockers)} | columns)


def test_a_slow_revocation_names_the_client_and_who_waits():
    row = rebalance(blocker(held_up=23, waiting_now=9, last_state="revoking", revoke_ms=23 * MINUTE + 44_000))
    told = advise(row, {"m1": MemberNow("revoking", 23 * MINUTE + 44_000, 86_400_000)})
    assert told.pattern == "slow_revocation"
    assert told.sentence == (
        "stuck-app @ 10.0.1.232 has been asked to give up partitions for ≥ 23 min 44 s; 9 members wait for it"
    )
    assert told.next.endswith("the broker fences it only after its rebalance timeout of 1 d")
    assert runbook_link(told.pattern) == "docs/runbook.md#slow_revocation"


@pytest.mark.parametrize(
    ("now", "pattern"),
    [
        (MemberNow("revoking", 5 * MINUTE + 9_000, 5 * MINUTE), "slow_revocation"),
        (MemberNow("revoking", 5 * MINUTE + 11_000, 5 * MINUTE), "revokes_beyond_timeout"),
        (MemberNow("behind", MINUTE), "silent_member"),
        (MemberNow("unknown", MINUTE), "silent_member"),
        (MemberNow("away", MINUTE), "absent_static_member"),
        (MemberNow("waiting", MINUTE), "free_partition"),
        (MemberNow("behind", MINUTE, is_classic=True), "mixed_protocols"),
    ],
)
def test_the_state_at_capture_makes_the_pattern(now, pattern):
    assert advise(rebalance(blocker()), {"m1": now}).pattern == pattern


def test_a_blocker_that_left_or_reconciled_is_none():
    row = rebalance(blocker("gone"), blocker("done"), blocker("still"))
    assert advise(row, {"done": MemberNow("reconciled"), "still": MemberNow("behind", 1_000)}).member_id == "still"
    assert advise(row, {"done": MemberNow("reconciled")}).pattern == "no_evidence"
    assert advise(rebalance(assigning_ms=9_000, is_assigning=True), {}).pattern == "waiting_for_assignment"
    assert advise(rebalance(assigning_ms=9_000), {}).pattern == "no_evidence"


def test_a_member_that_only_waits_for_others_is_no_blocker():
    waits = blocker("waits", late_ms=HOUR, late_now=False, waiting_now=0)
    present = {"waits": MemberNow("waiting", MINUTE, is_blocked=True), "holds": MemberNow("revoking", MINUTE)}
    assert advise(rebalance(waits, blocker("holds", late_ms=1_000, waiting_now=1)), present).member_id == "holds"


def test_a_member_that_waits_for_others_and_has_to_revoke_is_not_told_that_partitions_are_free():
    told = advise(rebalance(blocker()), {"m1": MemberNow("waiting", MINUTE, is_blocked=True)})
    assert told.pattern == "silent_member"
    assert "free" not in told.sentence


def test_other_kinds_of_groups_wait_for_a_topology_a_worker_or_the_next_round():
    not_ready = rebalance(group_type="streams", not_ready_ms=9_000, assigning_ms=12_000, is_not_ready=True)
    assert advise(not_ready, {}).pattern == "not_ready"
    delayed = advise(rebalance(**DELAYED), {})
    assert (delayed.pattern, delayed.who) == ("worker_delay", None)
    assert delayed.sentence == (
        "The leader waits until 1970-01-01 00:00:08 UTC for workers that left; "
        "the log shows no connector or task that they left behind"
    )
    assert delayed.next.startswith("Wait until 1970-01-01 00:00:08 UTC")
    assert advise(rebalance(group_type="classic", blockers=None), {}).pattern == "next_round"
    downgraded = advise(rebalance(group_type="classic", causes=["downgraded"], blockers=None), {})
    assert downgraded.next.startswith("Check that every member polls")
    late = advise(rebalance(group_type="classic", causes=["downgraded"]), {})
    assert late.sentence.endswith(" since, for longer than any join phase lasts")
    assert late.next.startswith("Look at the broker that coordinates the group")
    assert (downgraded.pattern, downgraded.sentence[:32]) == ("next_round", "The group became a classic one, ")


def test_members_that_did_not_ask_for_the_next_generation_are_named():
    row = rebalance(blocker(late_ms=HOUR, last_state="revoking"), group_type="classic", delay_ms=None)
    told = advise(row, members_of(row, {}))
    assert (told.pattern, told.member_id, told.who) == ("next_round", "m1", "stuck-app @ 10.0.1.232")
    assert told.sentence == (
        "stuck-app @ 10.0.1.232 was to give up partitions and to join again, and has not for ≥ 1 h, longer than any "
        "join phase lasts: these partitions have no owner"
    )
    row = rebalance(
        *(blocker(each, late_ms=HOUR, last_state="revoking") for each in "ab"),
        **DELAYED | {"delay_ms": 0, "expected_at": None},
    )
    told = advise(row, members_of(row, {}))
    assert told.sentence.startswith("stuck-app @ 10.0.1.232 and 1 other worker were to give up connectors and tasks")
    assert told.next.startswith("Restart them, ")


def worker(name, units, *, is_back=False):
    return Gone(f"http://{name}/", units, is_back=is_back)


def test_workers_that_left_are_named_with_what_they_ran():
    one, other = worker("a", 3), worker("b", 2)
    told = advise(rebalance(**DELAYED), {}, [one])
    assert told.who == "worker http://a/"
    assert told.sentence == (
        "Worker http://a/ left 3 connectors and tasks behind; the leader does not assign them to a worker for 8 s"
    )
    told = advise(rebalance(**DELAYED), {}, [one, other])
    assert told.who == "2 workers"
    assert told.sentence.startswith("2 workers left 5 connectors and tasks behind; ")
    assert told.next.startswith("Start http://a/, http://b/ again before ")


def test_nobody_is_told_to_start_a_worker_that_is_back():
    told = advise(rebalance(**DELAYED), {}, [worker("a", 3, is_back=True)])
    assert "connectors and tasks behind, and is back; " in told.sentence
    assert told.next.startswith("Wait until 1970-01-01 00:00:08 UTC")
    told = advise(rebalance(**DELAYED), {}, [worker("a", 3, is_back=True), worker("b", 1)])
    assert told.sentence.startswith("2 workers left 4 connectors and tasks behind; 1 worker is back; the leader ")
    assert told.next.startswith("Start http://b/ again before ")
    many = [worker(name, 1, is_back=name == "b") for name in "abcdef"]
    told = advise(rebalance(**DELAYED), {}, many)
    assert told.next.startswith("Start http://a/, http://c/, http://d/ and 2 more workers again before ")


def test_a_leader_that_waits_beyond_its_delay_is_the_trouble():
    late, in_time = (
        rebalance(**DELAYED | {"duration_ms": 8_000 + 10_001}),
        rebalance(**DELAYED | {"duration_ms": 18_000}),
    )
    told = advise(late, {}, [worker("a", 3)])
    assert told.sentence.endswith("the leader should have assigned them to a worker by 1970-01-01 00:00:08 UTC")
    assert told.next.startswith("Look at the leader's log")
    assert advise(in_time, {}, [worker("a", 3)]).next.startswith("Start the worker again")
    assert advise(late, {}).sentence.startswith("The leader should have ended its wait for workers that left by 1970-")
    assert advise(late, {}).next == told.next
    assert advise(in_time, {}).next.startswith("Wait until ")


def test_members_of_a_streams_group_have_tasks():
    row = rebalance(blocker(last_state="revoking"), group_type="streams")
    assert "asked to give up tasks" in advise(row, {"m1": MemberNow("revoking", MINUTE)}).sentence
    assert "its awaited tasks, which are free" in advise(row, {"m1": MemberNow("waiting", MINUTE)}).sentence


def test_many_epochs_are_a_storm_unless_one_member_was_late_throughout():
    present = {"m1": MemberNow("behind", MINUTE)}
    assert advise(rebalance(blocker(late_ms=MINUTE), epochs=30), present).pattern == "join_leave_storm"
    assert advise(rebalance(blocker(), epochs=30), present).pattern == "silent_member"


@pytest.mark.parametrize(
    ("kind", "causes", "step"),
    [
        ("classic", ["follow_up"], "Read the log of each member for why it joins again"),
        ("classic", ["unknown", "assignor_changed"], "Give all members the same partition.assignment.strategy"),
        ("consumer", ["member_joined"], "Nothing, if all of them are there soon"),
        (
            "consumer",
            ["member_joined", "topic_metadata_changed"],
            "Find out who creates, deletes or extends the topics",
        ),
        ("streams", ["assignment_configs_changed"], "Find out who changes the configuration of the group"),
    ],
)
def test_processes_that_restart_are_looked_for_only_if_members_left(kind, causes, step):
    told = advise(rebalance(epochs=30, group_type=kind, causes=causes), {})
    assert (told.pattern, told.next[: len(step)]) == ("join_leave_storm", step)
    assert told.sentence.endswith("; no member left meanwhile")
    told = advise(rebalance(epochs=30, group_type=kind, causes=causes, members_left=3), {})
    assert told.sentence.endswith("; 3 members left meanwhile")
    assert told.next.startswith("Find out why its members restart")


def test_ids_are_printed_safely_and_whole():
    assert client_text("app\x1b[31m", None) == "app\\x1b[31m"
    assert client_text(None, "/::1", "i" * 200) == f"::1 (instance {'i' * 200})"
    nameless = blocker("m\n1", client_id=None, client_host=None)
    assert advise(rebalance(nameless), {"m\n1": MemberNow("behind")}).who == "member m\\n1"


def test_the_runbook_has_an_entry_for_each_pattern_and_each_expectation():
    headings = re.findall(r"^### `(\w+)`$", (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(set(headings)) == len(headings)
    assert {*PATTERNS, NOT_CONSUMED.name, BEGAN_AGAIN.name, *(each.name for each in EXPECTATIONS)} == set(headings)
