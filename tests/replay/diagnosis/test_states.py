"""Groups and members in a state for long, and what changes to and fro."""

import time
from statistics import median
from types import SimpleNamespace

import pytest

from kip848_records.replay.diagnosis import job as job_module
from kip848_records.replay.diagnosis.diagnose import across_groups
from kip848_records.replay.diagnosis.observed import Generation, Resolution
from kip848_records.replay.diagnosis.outline import outline
from kip848_records.replay.diagnosis.stays import normalised
from kip848_records.replay.diagnosis.two_applications import two_applications
from tests.replay.diagnosis.groups import MINUTE, group, ms, owned, patterns, rebalance, stay, told


@pytest.mark.parametrize(
    ("client_id", "name"),
    [
        ("app-7d9f8b6c5d-x2x4z", "app-*"),
        ("consumer-orders-12", "consumer-orders-*"),
        ("app-f4589b2b-1e1f-4c7f-8b6c-7d9f8b6c5d00", "app-*"),
        ("billing-v3", "billing-v3"),
        ("rdkafka", "rdkafka"),
        (None, None),
    ],
)
def test_normalised_names(client_id, name):
    assert normalised(client_id) == name


def rollout(at, number, start=0, wait=0.5):
    """Old members leave one after another; each has a successor on another host."""
    old = [stay("app", start, at + n, client_host=f"/10.0.0.{n}") for n in range(number)]
    new = [stay("app", at + n + wait, client_host=f"/10.1.0.{n}") for n in range(number)]
    return old, new


def test_a_rolling_restart_is_one_row_without_alarm():
    old, new = rollout(60, 5)
    (episode,) = told(group(*old, *new, until=90))
    assert (episode.pattern, episode.severity, episode.count) == ("rolling_restart", "info", 5)
    assert (episode.first_seen, episode.last_seen, episode.ended_at) == (ms(60), ms(64.5), ms(64.5))
    assert episode.recognized_at == ms(63.5), "four of five were exchanged"


def test_new_members_may_come_first():
    old, new = rollout(60, 5, wait=-5)
    assert patterns(group(*old, *new, until=90)) == ["rolling_restart"]


def test_members_that_return_are_not_exchanged():
    old, new = rollout(60, 5)
    returned = [row._replace(returned=True) for row in old]
    again = [row._replace(member_id=before.member_id) for row, before in zip(new, old, strict=True)]
    assert not patterns(group(*returned, *again, until=90))


def test_newcomers_that_leave_are_no_rollout():
    old, new = rollout(60, 5)
    new[1] = new[1]._replace(left_at=ms(62), left_offset=ms(62), left_how="left")
    again = stay("app", 62.2, client_host="/10.1.0.1")
    assert not patterns(group(*old, *new, again, until=90))


def test_members_that_are_replaced_now_and_then_are_no_rollout():
    old, new = rollout(60, 5)
    seldom = [row._replace(left_at=row.left_at + 25 * MINUTE * n) for n, row in enumerate(old)]
    later = [row._replace(joined_at=row.joined_at + 25 * MINUTE * n) for n, row in enumerate(new)]
    assert not patterns(group(*seldom, *later, until=300))


def runs(number, every, lasts, **columns):
    return [stay("job", n * every, n * every + lasts, client_host=f"/10.0.0.{n}", **columns) for n in range(number)]


def test_a_timetable():
    (job,) = told(group(*runs(5, 60, 10), until=250, state="Empty"))
    assert (job.pattern, job.severity, job.count, job.median_interval_ms) == ("job", "info", 5, 60 * MINUTE)
    assert job.recognized_at == ms(180)
    assert not patterns(group(*runs(3, 60, 10), until=140, state="Empty"))
    assert not patterns(group(*runs(4, 60, 10), until=190, state="Empty", known_since=0))


def test_a_crash_loop_drifts():
    drifting = [row._replace(joined_at=row.joined_at + n * n * 20_000) for n, row in enumerate(runs(9, 7, 1))]
    assert "job" not in patterns(group(*drifting, until=80, state="Empty"))


WEEK = 7 * 24 * 60


@pytest.mark.parametrize(
    ("lasted", "empty", "severity"),
    [
        (59, 30, None),
        (60, 30, "info"),
        (239, 30, "info"),
        (240, 30, "warning"),
        (300, 30, "warning"),
        (300, WEEK, "warning"),
        (300, WEEK + 1, "info"),
    ],
)
def test_everybody_left(lasted, empty, severity):
    found = told(group(stay("app", 0, lasted), stay("app", 1, lasted - 1), until=lasted + empty, state="Empty"))
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    if severity is not None:
        assert (found[0].pattern, found[0].count, found[0].first_seen) == ("everybody_left", 2, ms(lasted))
        assert found[0].recognized_at == ms(lasted + 10)


def test_it_was_empty_before_for_as_long():
    before = (stay("app", 0, 300), stay("app", 320, 700))
    assert [each.is_present for each in told(group(*before, until=735, state="Empty"))] == [False]
    assert [each.is_present for each in told(group(*before, until=741, state="Empty"))] == [False, True]


def test_everybody_left_ends_when_members_are_back():
    """It is the row of an earlier capture: its beginning, and when it could be known, stay what they were."""
    before = stay("app", 0, 300)
    (present,) = told(group(before, until=320, state="Empty"))
    (past,) = told(group(before, stay("app", 330), until=400))
    same = (
        "pattern",
        "subject",
        "first_seen",
        "recognized_at",
        "probable_cause",
        "incarnation",
        "evidence",
    )
    assert [getattr(past, name) for name in same] == [getattr(present, name) for name in same]
    assert (present.severity, past.severity) == ("warning", "info"), "most pauses that are over were on purpose"
    assert (present.ended_at, past.ended_at, past.last_seen) == (None, ms(330), ms(330))
    assert past.words[0].startswith("The group had no member for 30 min. The last to leave was")
    assert past.words[1].startswith("It has members again.")
    assert not patterns(group(before, stay("app", 305), until=400)), "they were back in time"


def test_spares():
    working, idle = stay("app", 0), stay("app", 1, client_host="/10.0.0.2")
    of_each = [owned(working, 0, None, is_idle=False), owned(idle, 1, None, is_idle=True)]
    assert not patterns(group(working, idle, until=240, owned=of_each)), "not yet four hours"
    (spares,) = told(group(working, idle, until=260, owned=of_each))
    assert (spares.pattern, spares.severity, spares.subject.members) == ("spares", "info", 1)
    assert (spares.first_seen, spares.recognized_at) == (ms(11), ms(251))
    assert spares.words[0].startswith("1 member (app @ 10.0.0.2) has had no partition")


def test_a_topic_that_is_not_there():
    rows = [stay("app", n, topics=("odrers",), client_host=f"/10.0.0.{n}") for n in range(2)]
    of_each = [owned(row, n, None, is_idle=True) for n, row in enumerate(rows)]
    assert not patterns(group(*rows, until=9, owned=of_each))
    (episode,) = told(group(*rows, until=12, owned=of_each))
    assert (episode.pattern, episode.severity, episode.subject.topics) == ("no_topic", "warning", ("odrers",))
    assert (episode.subject.members, episode.subject.clients) == (2, ("app",))
    assert episode.words[0].startswith("2 members (app @ 10.0.0.0, app @ 10.0.0.1) with a subscription to odrers")
    working = stay("app", 0, topics=("odrers", "orders"))
    assert not patterns(group(*rows, working, until=12, owned=[*of_each, owned(working, 0, None, is_idle=False)]))


def test_members_of_before_the_history_have_their_partitions():
    before = stay("app", 0, history="censored", client_host="/10.0.0.9")
    new = stay("app", 60)
    of_each = [owned(before, 0, None, is_idle=False), owned(new, 60, None, is_idle=True)]
    assert not patterns(group(before, new, until=90, owned=of_each)), "the new member is a spare"
    idle = [owned(before, 0, None, is_idle=True)]
    assert not patterns(group(before, until=90, owned=idle)), "it may have had some before"


def revoking(at, slow_ms, others_ms):
    times = {"slow": slow_ms, "fast": others_ms, "fast2": others_ms}
    names = {"client_host": "/10.0.0.1", "instance_id": None}
    revoked = [
        SimpleNamespace(member_id=name, client_id=name, revoke_ms=spent, **names) for name, spent in times.items()
    ]
    return rebalance(at, "fast", revoked=tuple(revoked))


@pytest.mark.parametrize(("others_ms", "number", "told_of"), [(1000, 5, True), (8000, 5, False), (1000, 4, False)])
def test_slow_by_habit(others_ms, number, told_of):
    members = [stay(name, 0, member_id=name) for name in ("slow", "fast", "fast2")]
    slow = [revoking(60 + 20 * n, 20_000, others_ms) for n in range(number)]
    found = told(group(*members, until=200, rebalances=slow))
    assert [(each.pattern, each.subject.client_id) for each in found] == (
        [("slow_by_habit", "slow")] if told_of else []
    )
    if told_of:
        assert (found[0].count, found[0].rebalances) == (5, 5)
        assert "20 s" in found[0].facts["revoke_ms"].__str__() or found[0].facts["revoke_ms"] == 20_000


@pytest.mark.parametrize(("others", "told_of"), [(3, ["slow_by_habit"]), (2, [])])
def test_a_member_is_slow_beside_some_others_only(others, told_of):
    members = [stay(name, 0, member_id=name) for name in ("slow", "fast", "fast2")]
    both = [revoking(60 + 20 * n, 20_000, 1000) for n in range(5)]
    rows = [row._replace(revoked=row.revoked[: 1 + (n < others)]) for n, row in enumerate(both)]
    assert patterns(group(*members, until=200, rebalances=rows)) == told_of


def owing(row, since, **columns):
    values = {"state": "behind", "from_at": ms(since), "from_offset": ms(since), "is_classic": False}
    values |= {"group_type": "consumer", "history": "right_censored", "member_id": row.member_id}
    return SimpleNamespace(**values | columns)


def test_a_coordinator_that_is_silent():
    rows = [stay("app", 0, client_host=f"/10.0.0.{n}") for n in range(2)]
    states = [owing(rows[0], 60), owing(rows[1], 60, state="reconciled")]
    quiet = {"partition_last_at": ms(60.5), "newest_at": ms(70)}
    (episode,) = told(group(*rows, until=70, unsettled=states, **quiet))
    assert (episode.pattern, episode.count) == ("coordinator_silent", 1)
    assert episode.probable_cause == "broker_hangs_or_old_copy"
    assert not patterns(group(*rows, until=61, unsettled=states, **quiet)), "its session may still end"
    works = {"partition_last_at": ms(69), "newest_at": ms(70)}
    assert not patterns(group(*rows, until=70, unsettled=states, **works)), "the partition has later records"
    assert patterns(group(*rows, until=70, unsettled=states[:1], **works)) == ["coordinator_silent"]
    revokes = [owing(rows[0], 60, state="revoking")]
    assert not patterns(group(*rows, until=67, unsettled=revokes, **quiet)), "it has five minutes to revoke"
    assert patterns(group(*rows, until=67.1, unsettled=revokes, **quiet)) == ["coordinator_silent"]
    classic = [owing(rows[0], 60, is_classic=True)]
    assert not patterns(group(*rows, until=70, unsettled=classic, **quiet))


def resolved(*topics_at):
    return [("a.*", Resolution(ms(at), ms(at), None, frozenset(topics))) for at, topics in topics_at]


def test_topics_that_come_and_go():
    flapping = resolved(*((60 + 10 * n, ["a", "ab"] if n % 2 else ["a"]) for n in range(6)))
    (episode,) = told(group(stay("app", 0, regex="a.*"), until=120, resolutions=flapping))
    assert (episode.pattern, episode.count, episode.subject.topics) == ("flapping_topics", 4, ("ab",))
    assert episode.is_present
    (past,) = told(group(stay("app", 0, regex="a.*"), until=180, resolutions=flapping))
    assert not past.is_present, "nothing came or went for more than an hour"
    growing = resolved(*((60 + 10 * n, [f"a{k}" for k in range(n)]) for n in range(6)))
    assert not patterns(group(stay("app", 0, regex="a.*"), until=120, resolutions=growing))


def generation(number, at, protocol):
    return Generation(ms(at), 0, number, "consumer", protocol, "assignor_changed", ms(at), ms(at), None, 4, "observed")


def test_assignors_that_change_to_and_fro():
    changed = [generation(n, 60 + 20 * n, "range" if n % 2 else "sticky") for n in range(6)]
    assert "assignor_flip" in patterns(group(stay("app", 0), until=200, generations=changed))
    once = [generation(n, 60 + 20 * n, "range" if n < 3 else "sticky") for n in range(6)]
    assert "assignor_flip" not in patterns(group(stay("app", 0), until=200, generations=once))


def test_votes_for_a_server_assignor():
    fixed = [stay(f"app-{n}x", 0, server_assignor=name, client_host=f"/{n}") for n, name in enumerate(["a", "b"])]
    extra = [
        stay("more", 60 + 20 * n, 70 + 20 * n, server_assignor="ab"[n % 2], client_host=f"/9{n}") for n in range(6)
    ]
    (episode,) = [each for each in told(group(*fixed, *extra, until=200)) if each.pattern == "assignor_flip"]
    assert "Last asked for: a by app-0x @ 0; b by app-1x @ 1, more @ 95." in episode.words[0]
    assert (episode.probable_cause, episode.subject.what, episode.count) == ("server", "a, b", 4)


def test_conversions_to_and_fro():
    rows = [
        SimpleNamespace(
            offset=n,
            at=ms(60 + 20 * n),
            direction="downgrade" if n % 2 else "upgrade",
            to_type="classic" if n % 2 else "consumer",
        )
        for n in range(6)
    ]
    canaries = [stay("canary", 60 + 20 * n, 80 + 20 * n, client_host=f"/10.0.1.{n}") for n in (0, 2, 4)]
    (episode,) = told(group(stay("app", 0), *canaries, until=200, migrations=rows))
    assert (episode.pattern, episode.probable_cause, episode.count) == ("assignor_flip", "conversion", 4)
    assert episode.words[0].endswith("Last asked for: consumer by canary @ 10.0.1.4.")


def test_two_applications_with_one_group_id():
    one = [stay("billing-1", 0, topics=("bills",), client_host="/1")]
    other = [stay("search-1", 5, topics=("words",), client_host="/2")]
    assert not patterns(group(*one, *other, until=14))
    (episode,) = told(group(*one, *other, until=16))
    assert (episode.pattern, episode.subject.clients) == ("two_applications", ("billing-*", "search-*"))
    for shared in ({"topics": ("bills", "words")}, {"client_host": "/1"}, {"client_id": "billing-2"}):
        assert not patterns(group(*one, other[0]._replace(**shared), until=60)), shared


def test_clocks_that_go_back_make_no_second_application():
    """A member that left before it joined, by another broker's clock, and two of them."""
    search = [stay("search-1", 0, topics=("words",), client_host="/2")]
    back = [stay(f"billing-{n}", 40 + 60 * n, 30 + 60 * n, topics=("bills",), client_host="/1") for n in range(2)]
    for stays in (back[:1], back):
        assert not patterns(group(*search, *stays, until=300))


def test_a_member_that_left_before_it_joined_is_no_old_member_of_a_rollout():
    old = [stay(f"app-{n}", 0, 60 + n, client_host=f"/{n}") for n in range(3)]
    new = [stay(f"app-{n}", 60.5 + n, client_host=f"/{n}") for n in range(3)]
    ghosts = [stay(f"ghost-{n}", 30 + n, 20 + n, client_host="/9") for n in range(3)]
    assert patterns(group(*old, *new, *ghosts, until=100)) == ["rolling_restart"]


def test_two_applications_that_come_and_go_often_are_found_in_linear_time():
    turns = 20_000
    search = [stay("search-1", 5 + 20 * n, 17 + 20 * n, topics=("words",), client_host="/2") for n in range(turns)]
    history = group(stay("billing-1", 0, topics=("bills",), client_host="/1"), *search, until=20 * turns)
    begun = time.process_time()
    assert sum(1 for _ in two_applications(history)) == turns
    assert time.process_time() - begun < 8


def test_tasks_that_move():
    moves = [(ms(60 + 5 * n), n, "sink", task, f"worker-{n % 2}") for n in range(11) for task in (0, 1)]
    (episode,) = told(group(stay("worker", 0), until=120, task_moves=moves))
    assert (episode.pattern, episode.count, episode.subject.members) == ("task_restarts", 22, 2)
    assert not patterns(group(stay("worker", 0), until=120, task_moves=moves[:18]))


def test_a_conversion_ends_no_stay():
    before = stay("app", 0, 60, group_type="classic", left_how="upgraded", member_id="same")
    behind = stay("app", 60, 62, joined_how="upgraded", member_id="same")
    history = group(before, behind, until=90)
    (whole,) = history.stays
    assert (whole.joined_at, whole.left_at, whole.is_measured) == (0, ms(62), True)


def test_the_kind_of_a_group_is_that_of_the_time():
    before = stay("app", 10, 60, group_type="classic", left_how="upgraded", member_id="same")
    behind = stay("app", 60, None, joined_how="upgraded", member_id="same")
    upgrade = SimpleNamespace(at=ms(60), offset=ms(60), direction="upgrade", to_type="consumer")
    history = group(before, behind, until=90, migrations=[upgrade])
    assert [history.kind_at(ms(at)) for at in (0, 59, 60, 90)] == ["classic", "classic", "consumer", "consumer"]
    workers = [generation(1, 0, "sessioned")._replace(protocol_type="connect")]
    assert group(stay("w", 0, group_type="classic"), until=90, generations=workers).kind_at(0) == "connect"


def outlines(number, shared_host=None, at=100.0):
    """Groups of two members; one member of each, on a host of its own or a shared one, begins a rebalance."""
    made = []
    for n in range(number):
        host = shared_host or f"/10.9.{n}.1"
        rows = [stay("app", 0, client_host=host, member_id=f"m{n}"), stay("app", 0, client_host=f"/10.8.{n}.1")]
        began = [rebalance(at + n * 0.02, f"m{n}")] if at else []
        made.append(outline(group(*rows, until=1000, partition=n % 50, rebalances=began), f"group-{n}-{at}-{host}"))
    return made


def test_many_groups_at_once():
    (storm,) = across_groups([*outlines(9), *outlines(20, at=0)], ms(1000))
    assert (storm.pattern, storm.severity, storm.probable_cause, storm.count) == (
        *("storm_across", "warning", "many_groups"),
        9,
    )
    assert storm.group_id is storm.incarnation is storm.partition is None
    assert not list(across_groups([*outlines(9), *outlines(80, at=0)], ms(1000))), "a tenth of the groups"


def test_many_groups_that_share_a_host():
    (storm,) = across_groups([*outlines(9, "/10.7.7.7"), *outlines(80, at=0)], ms(1000))
    assert (storm.probable_cause, storm.subject[9]) == ("shared_host", "/10.7.7.7")
    assert "10.7.7.7" in storm.sentence
    assert not list(across_groups(outlines(4, "/10.7.7.7"), ms(1000)))


def test_what_all_groups_share_is_no_cause():
    calm = [row._replace(group_id=f"calm-{n}") for n, row in enumerate(outlines(80, "/10.7.7.7", at=0))]
    assert not list(across_groups([*outlines(9, "/10.7.7.7"), *calm], ms(1000)))


def test_a_group_that_rebalances_all_the_time_does_not_count():
    rows = [stay("app", 0, member_id="a"), stay("app", 0, client_host="/10.8.0.1")]
    began = [rebalance(60 + n, "a") for n in range(30)]
    (row,) = [outline(group(*rows, until=1000, rebalances=began), "restless")]
    assert len(row.begins) == 6


def test_the_work_for_a_long_timetable_grows_with_its_runs(monkeypatch):
    seen = []
    monkeypatch.setattr(
        job_module, "median", lambda values: (seen.append(len(found := list(values))), median(found))[1]
    )
    (job,) = job_module.jobs(group(*runs(400, 60, 10), until=400 * 60, state="Empty"))
    assert len(job.runs) == 400
    assert sum(seen) < 60 * 400


def test_runs_do_not_overlap_if_a_stay_ends_before_it_begins():
    history = group(stay("app", 60, 10), stay("app", 61, 90), until=120, state="Empty")
    assert [run[:2] for run in history.runs] == [(ms(60), ms(60)), (ms(61), ms(90))]


def test_a_job_that_ended_does_not_hide_a_crash_loop():
    others = [stay(f"other-{n}", 11 * 60, client_host=f"/10.0.1.{n}") for n in range(3)]
    crashing = [stay("app", 12 * 60 + 5 * n, 12 * 60 + 5 * n + 1) for n in range(8)]
    found = told(group(*runs(9, 60, 10), *others, stay("app", 11 * 60, 719.5), *crashing, until=762))
    assert [each.pattern for each in found if each.is_present] == ["restart_loop"]
    assert [each.pattern for each in found if each.ended_at is not None] == ["job"]


def test_of_two_things_that_groups_share_equally_the_name_decides():
    first, second = (
        [row._replace(begins=tuple((at, offset, (a, b), by) for at, offset, _, by in row.begins)) for row in rows]
        for rows, (a, b) in ((outlines(9), ("/b", "/a")), (outlines(9), ("/a", "/b")))
    )
    calm = outlines(80, at=0)
    (one,), (other,) = (list(across_groups([*rows, *calm], ms(1000))) for rows in (first, second))
    assert one.subject[9] == other.subject[9] == "/a"


def test_a_group_id_in_two_partitions_is_two_groups():
    made = outlines(9)
    stale = [row._replace(partition=100, begins=(), run_begins=(), run_ends=()) for row in made]
    (storm,) = across_groups([*made, *stale, *outlines(20, at=0)], ms(1000))
    assert (storm.count, storm.probable_cause) == (9, "many_groups")


def test_a_member_of_before_the_history_is_present():
    before = stay("app", 0, 80, joined_at=None, joined_offset=None, history="left_censored")
    history = group(before, stay("app", 100), until=120, known_since=ms(50))
    assert [run[:2] for run in history.runs] == [(ms(50), ms(80)), (ms(100), None)]
    assert history.empty_ms(ms(50), ms(110)) == ms(20)
    assert history.empty_ms(ms(40), ms(110)) is None


def test_everybody_left_the_only_group_of_a_partition():
    """Its partition has no later record, as that of an old copy has none: the alarm says so."""
    rows = stay("app", 0, 300), stay("app", 1, 299)
    for last_at, is_silent in ((301, True), (329, False)):
        (episode,) = told(group(*rows, until=330, state="Empty", partition_last_at=ms(last_at), newest_at=ms(330)))
        assert (episode.severity, episode.facts["is_longest"]) == ("warning", False)
        assert ("an old one" in episode.words[0]) == is_silent


@pytest.mark.parametrize(
    ("last_at", "newest_at", "cause"),
    [
        (60.5, 70, "broker_hangs_or_old_copy"),
        (60.5, 60.5, "broker_hangs"),
        (69, 70, "coordinator_does_not_act"),
        (None, None, "broker_hangs_or_old_copy"),
    ],
)
def test_why_a_coordinator_is_silent(last_at, newest_at, cause):
    row = stay("app", 0)
    at = {"partition_last_at": last_at and ms(last_at), "newest_at": newest_at and ms(newest_at)}
    (episode,) = told(group(row, until=70, unsettled=[owing(row, 60)], **at))
    assert episode.probable_cause == cause
