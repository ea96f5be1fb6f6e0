"""Which trouble over time explains an ongoing rebalance, from made-up rows: then no other client is blamed."""

from typing import NamedTuple

import pytest

from kip848_records.replay.blocker.advice import Advice
from kip848_records.replay.blocker.over_time import explained
from kip848_records.replay.diagnosis.episodes import Subject
from kip848_records.replay.rows import Blocker

SUBJECT = Subject()
APP = Subject(client_id="app", client_host="/10.0.0.1", members_of_that_name=1)
OTHER = APP._replace(client_id="other")
NOBODY = Blocker(**dict.fromkeys(Blocker._fields))
BLOCKER = NOBODY._replace(member_id="m1", client_id="app", client_host="/10.0.0.1", late_ms=60_000)
OPEN = Advice("silent_member", "m1", "app @ 10.0.0.1", "it is silent", "restart it")


class Trigger(NamedTuple):
    """A stay of a member that began the rebalance."""

    client_id: str
    client_host: str = "/10.0.0.1"
    member_id: str = "m9"
    instance_id: str | None = None
    left_how: str | None = None
    left_at: int | None = None


class Trouble(NamedTuple):
    """An alarm that lasts at the capture."""

    pattern: str
    subject: Subject
    median_interval_ms: int | None = 300_000
    words: tuple[str, str] = ("It is wrong.", "Mend it.")


def pattern(*troubles, advice=OPEN, worst=BLOCKER, triggers=()):
    return explained(advice, worst, troubles, [Trigger(each) for each in triggers]).pattern


def test_a_silent_coordinator_blames_no_client():
    silent = Trouble("coordinator_silent", SUBJECT._replace(what="partition 7", clients=["app"]), None)
    told = explained(OPEN, BLOCKER, [silent], [])
    assert told == Advice("coordinator_silent", None, None, "It is wrong", "Mend it")


def test_a_loop_of_the_blocker_names_it():
    told = explained(OPEN, BLOCKER, [Trouble("restart_loop", APP)], [])
    assert (told.pattern, told.member_id, told.who) == ("restart_loop", "m1", "app @ 10.0.0.1")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (APP._replace(member_id="m1"), "leaves_and_returns"),
        (APP._replace(member_id="m2"), "silent_member"),
        (APP._replace(instance_id="one"), "silent_member"),
        (SUBJECT._replace(what="app*", clients=["app", "app-2"]), "leaves_and_returns"),
        (OTHER, "silent_member"),
    ],
)
def test_the_subject_is_the_blocker_by_its_narrowest_name(subject, expected):
    assert pattern(Trouble("leaves_and_returns", subject)) == expected


def test_a_blocker_that_is_late_for_longer_than_a_turn_is_explained_only_by_its_own_loop():
    late = BLOCKER._replace(late_ms=3_600_000)
    loop = Trouble("restart_loop", OTHER)
    assert pattern(loop, triggers=["other"]) == "restart_loop"
    assert pattern(loop, triggers=["other"], worst=late) == "silent_member"
    assert pattern(loop) == "silent_member"
    assert pattern(Trouble("storm", SUBJECT)) == "storm"
    assert pattern(Trouble("storm", SUBJECT), worst=late) == "silent_member"
    assert pattern(Trouble("restart_loop", APP), worst=late) == "restart_loop"
    assert pattern(Trouble("restart_loop", APP._replace(members_of_that_name=3)), worst=late) == "silent_member"


def test_a_habit_explains_a_slow_revocation_alone():
    habit = Trouble("slow_by_habit", APP)
    assert pattern(habit, advice=OPEN._replace(pattern="slow_revocation")) == "slow_by_habit"
    assert pattern(habit) == "silent_member"


def test_a_topology_that_is_not_ready_and_troubles_without_rebalances_explain_nothing():
    not_ready = Advice("not_ready", None, None, "", "")
    for each in ("coordinator_silent", "storm", "restart_loop"):
        assert pattern(Trouble(each, APP), advice=not_ready, worst=None, triggers=["app"]) == "not_ready"
    for each in ("no_topic", "spares", "two_applications", "everybody_left"):
        assert pattern(Trouble(each, APP)) == "silent_member"


def test_a_storm_of_epochs_is_that_of_the_loop_that_began_it():
    storm = Advice("join_leave_storm", None, None, "30 epochs", "find out why")
    assert pattern(Trouble("restart_loop", OTHER), advice=storm, worst=None, triggers=["other"]) == "restart_loop"
    assert pattern(Trouble("restart_loop", OTHER), advice=storm, worst=None, triggers=["app"]) == "join_leave_storm"


def test_a_client_that_has_left_blocks_nobody():
    waits = Advice("waiting_for_assignment", None, None, "it waits", "wait")
    for is_member, who in ((True, "app @ 10.0.0.1"), (False, None)):
        told = explained(
            waits, None, [Trouble("restart_loop", APP)], [Trigger("app", left_how=None if is_member else "left")]
        )
        assert (told.pattern, told.member_id, told.who) == ("restart_loop", None, who)
