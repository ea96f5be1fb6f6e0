"""Members that do not stay: `restart_loop`, `leaves_and_returns`, static members, `storm`."""

from itertools import pairwise

import pytest

from kip848_records.replay.diagnosis.observed import Gap, Generation
from tests.replay.diagnosis.groups import HOST, MINUTE, group, ms, patterns, rebalance, stay, told

OTHERS = [stay(f"other-{number}", 0, client_host=f"/10.0.1.{number}") for number in range(3)]


def restarts(number, every=5.0, lasts=1.0, first=60.0, client="app", **columns):
    """Stays of one name, one after another."""
    return [stay(client, first + n * every, first + n * every + lasts, **columns) for n in range(number)]


def test_a_process_that_restarts_again_and_again():
    (loop,) = told(group(*OTHERS, stay("app", 0, 59.5), *restarts(7), until=95))
    assert (loop.pattern, loop.severity, loop.count, loop.probable_cause) == ("restart_loop", "warning", 7, "ended")
    assert (loop.subject.client_id, loop.subject.client_host, loop.subject.members_of_that_name) == ("app", HOST, 1)
    assert (loop.first_seen, loop.recognized_at, loop.last_seen) == (ms(61), ms(81), ms(91))
    assert (loop.usual_stay_ms, loop.median_interval_ms, loop.is_present) == (MINUTE, 5 * MINUTE, True)


def test_it_ends_when_nothing_comes_for_three_times_its_gap():
    (loop,) = told(group(*OTHERS, stay("app", 0, 59.5), *restarts(7), stay("app", 95), until=600))
    assert loop.ended_at == ms(91 + 15)
    assert loop.severity == "warning"


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (4, {}),  # not often enough
        (8, {"every": 7.0}),  # each comes six minutes after the one before
        (8, {"every": 40.0, "lasts": 39.0}),  # each works for longer than half an hour
        (3, {"every": 20.0, "lasts": 19.0}),
    ],
)
def test_no_loop(number, options):
    assert not patterns(group(*OTHERS, stay("app", 0, 59.5), *restarts(number, **options), until=400))


def test_leaking_memory_takes_longer_than_ten_minutes():
    leaking = restarts(6, every=26.0, lasts=25.0)
    (loop,) = told(group(*OTHERS, stay("app", 0, 59.5), *leaking, until=230))
    assert (loop.pattern, loop.count) == ("restart_loop", 6)
    assert not patterns(group(stay("app", 0, 59.5), *leaking, until=230)), "others must stay"


def test_members_exchanged_in_parallel_are_no_loop():
    at_once = [stay("app", 60 + n / 10, 65 + n / 10) for n in range(20)]
    assert not patterns(group(*OTHERS, stay("app", 0, 59.5), *at_once, until=70))


def test_a_killed_process_is_a_member_until_its_session_ends():
    killed = restarts(7, every=2.0, lasts=2.7)
    (loop,) = told(group(*OTHERS, stay("app", 0, 60.5), *killed, until=75))
    assert (loop.probable_cause, loop.count) == ("killed", 7)


def test_a_classic_generation_without_the_killed_member_has_the_next_one():
    classic = {"group_type": "classic", "session_timeout_ms": 45_000}
    together = restarts(7, every=2.0, lasts=2.0, **classic)
    (loop,) = told(group(*OTHERS, stay("app", 0, 60, **classic), *together, until=75))
    assert (loop.probable_cause, loop.count) == ("killed_or_ended", 7)


def test_processes_that_died_before_their_classic_generation_was_complete_are_no_members_at_once():
    """As a broker wrote it of a process that was killed each ten seconds, with a session of 45 s."""
    classic = {"group_type": "classic", "session_timeout_ms": 45_000}
    dead = [stay("app", 60 + 0.75 * turn, 60.75 + 0.75 * turn, **classic) for turn in range(6) for _ in range(4)]
    (loop,) = told(group(*OTHERS, stay("app", 0, 60, **classic), *dead, until=67))
    assert (loop.count, loop.probable_cause, loop.subject.members_of_that_name) == (24, "killed", 1)
    assert loop.median_interval_ms == 5 * 45_000 // 23


@pytest.mark.parametrize("columns", [{}, {"group_type": "classic", "session_timeout_ms": 45_000}])
def test_threads_of_one_process_that_runs_for_less_than_a_session_are_no_loop(columns):
    runs = [stay("app", begin + n / 600, begin + 0.8 + n / 600, **columns) for begin in (60, 62) for n in range(5)]
    assert not patterns(group(*OTHERS, *runs, until=70))


def test_pods_that_are_deployed_one_by_one_and_stopped_together_are_no_loop():
    """As a broker wrote it."""
    before = [stay(f"app-7d9f8b6c5d-x{n}t4z", 0, 60 + n / 6) for n in range(6)]
    pods = [stay(f"app-8d9f8b6c5d-x{n}t4z", 60.1 + n / 6, 61.2 + n / 6000) for n in range(6)]
    assert patterns(group(*before, *pods, until=70)) == ["rolling_restart"]


def test_classic_members_that_end_at_their_poll_timeout():
    classic = {"group_type": "classic", "session_timeout_ms": 45_000}
    ended = restarts(4, every=25.0, lasts=5.05, **classic)
    (loop,) = told(group(*OTHERS, stay("app", 0, 40, **classic), *ended, until=145))
    assert (loop.pattern, loop.probable_cause, loop.count) == ("restart_loop", "poll_timeout", 4)


def test_processes_with_a_new_name_each_time():
    pods = [stay(f"app-7d9f8b6c5d-x2x{n}z", 60 + 5 * n, 64 + 5 * n, client_host=f"/10.0.2.{n}") for n in range(8)]
    (loop,) = told(group(*OTHERS, stay("app-7d9f8b6c5d-x2xzz", 0, 59.5), *pods, until=100))
    assert (loop.pattern, loop.subject.what, loop.subject.client_id, loop.count) == ("restart_loop", "app-*", None, 8)


def test_lost_records_make_it_silent():
    unseen = restarts(8, history="censored")
    assert not patterns(group(*OTHERS, *unseen, until=110))


def test_a_batch_is_no_alarm():
    runs = [stay(f"batch-{k}", 4 * n, 4 * n + 2) for n in range(12) for k in ("a", "b")]
    drifting = [row._replace(joined_at=row.joined_at + row.joined_at % 77_777) for row in runs]
    drifting = [row._replace(left_at=row.joined_at + 2 * MINUTE) for row in drifting]
    episodes = told(group(*drifting, until=50, state="Empty"))
    assert {(each.pattern, each.severity, each.probable_cause) for each in episodes} == {
        ("restart_loop", "info", "batch_or_all")
    }


@pytest.mark.parametrize(
    ("stays", "cause"),
    [([5.1] * 5, "poll_timeout"), ([20.0] * 5, "poll_timeout_possible"), ([1.0] * 5, "not_poll_timeout")],
)
def test_a_member_id_that_returns(stays, cause):
    found, at = [], 60.0
    for lasts in stays:
        found.append(stay("app", at, at + lasts, member_id="same", returned=True))
        at += lasts + 1
    first = stay("app", 0, 59, member_id="same", returned=True)
    last = stay("app", at, member_id="same")
    (episode,) = told(group(*OTHERS, first, *found, last, until=at + 1))
    assert (episode.pattern, episode.probable_cause, episode.count) == ("leaves_and_returns", cause, 6)
    assert episode.subject.member_id == "same"
    assert episode.recognized_at == found[2].joined_at


def test_the_stay_before_the_first_return_says_nothing():
    found = [stay("app", 60 + 6 * n, 65.1 + 6 * n, member_id="same", returned=True) for n in range(5)]
    first, last = stay("app", 58, 59, member_id="same", returned=True), stay("app", 90, member_id="same")
    (episode,) = told(group(*OTHERS, first, *found, last, until=91))
    assert episode.probable_cause == "poll_timeout"


def test_two_returns_are_chance():
    twice = [stay("app", at, at + 5.1, member_id="same", returned=True) for at in (60, 70)]
    assert not patterns(group(*OTHERS, *twice, stay("app", 80, member_id="same"), until=90))


def static(times, how="replaced", kind="classic", away=0.0):
    """Stays of an instance id, one after another, each with a new member id."""
    columns = {"instance_id": "app-1", "group_type": kind, "left_how": how, "away_ms": ms(away)}
    return [stay("app", begin, end, **columns) for begin, end in pairwise(times)]


def test_an_instance_id_with_two_holders():
    times = [0, *(60 + n / 2 for n in range(20))]
    (episode,) = told(group(*OTHERS, *static(times), stay("app", times[-1], instance_id="app-1"), until=70))
    assert (episode.pattern, episode.severity, episode.count) == ("duplicate_instance_id", "error", 20)
    assert episode.subject.instance_id == "app-1"
    assert episode.cost_share is None, "the log shows no rebalance"


def test_one_that_restarts_slowly_may_have_two():
    times = [0, *(60 + n * 3.0 for n in range(20))]
    (episode,) = told(group(*OTHERS, *static(times), stay("app", times[-1], instance_id="app-1"), until=121))
    assert (episode.pattern, episode.probable_cause) == ("static_member_flaps", "restarting_or_duplicate")


def test_a_static_member_that_goes_away():
    times = [0, *(60 + n * 5.0 for n in range(8))]
    away = static(times, kind="consumer", away=0.5)
    (episode,) = told(group(*OTHERS, *away, stay("app", times[-1], instance_id="app-1"), until=100))
    assert (episode.pattern, episode.probable_cause, episode.count) == ("static_member_flaps", "restarting", 8)
    assert episode.first_seen == ms(59.5)
    assert episode.usual_stay_ms == ms(4.5)


def test_a_static_member_that_keeps_its_member_id_lives():
    times = [0, *(60 + n * 5.6 for n in range(8))]
    same = [row._replace(member_id="same") for row in static(times, kind="consumer", away=0.5)]
    last = stay("app", times[-1], instance_id="app-1", member_id="same")
    (episode,) = told(group(*OTHERS, *same, last, until=105))
    assert (episode.pattern, episode.probable_cause) == ("leaves_and_returns", "poll_timeout")


def storm_of(names, each):
    """So many names restart, each as often, at moments of their own."""
    return [
        row
        for name in range(names)
        for row in restarts(each, every=15.0, lasts=14.0, first=60 + name * 1.3, client=f"app-{name}x")
    ]


def test_many_members_that_do_not_stay():
    episodes = told(group(*OTHERS, *storm_of(10, 5), until=140))
    assert [each.pattern for each in episodes if each.explained_by is None] == ["storm"]
    storm = next(each for each in episodes if each.pattern == "storm")
    assert (storm.probable_cause, storm.subject.members) == ("again", 10)


@pytest.mark.parametrize(("history", "is_told"), [("observed", True), ("left_censored", False)])
def test_members_of_a_classic_group_that_rejoin(history, is_told):
    rejoined = [
        Generation(
            ms(60 + 2 * n), 0, n, "consumer", "range", "unknown", ms(60 + 2 * n), ms(60 + 2 * n), None, 4, history
        )
        for n in range(25)
    ]
    found = [(each.pattern, each.probable_cause) for each in told(group(*OTHERS, until=120, generations=rejoined))]
    assert found == ([("storm", "rejoined")] if is_told else [])


def test_one_name_is_no_storm():
    assert patterns(group(*OTHERS, stay("app", 0, 59), *restarts(60, every=1.5), until=160)) == ["restart_loop"]


def test_what_it_costs():
    loop = restarts(7)
    began = [rebalance(row.joined_at / MINUTE, row.member_id, unowned_ms=60_000) for row in loop]
    other = rebalance(62, "another", unowned_ms=10**9)
    (episode,) = told(group(*OTHERS, stay("app", 0, 59.5), *loop, until=95, rebalances=[*began, other], sizes=[(0, 2)]))
    assert (episode.rebalances, episode.unowned_ms, episode.rebalances_shared) == (7, 7 * 60_000, 0)
    assert episode.cost_share == pytest.approx(7 / (2 * 30))
    assert episode.severity == "error"


def never_settled(*loops, lost=60_000):
    """One rebalance that all of some loops' members began, before the first of them ended, and its gaps."""
    stays = sorted((row for loop in loops for row in loop), key=lambda row: row.joined_at)
    gaps = {(row.member_id, row.left_at, row.left_at + lost): Gap(1, lost) for row in stays}
    began = stays[0].joined_at / MINUTE - 5
    long_one = rebalance(began, *(row.member_id for row in stays), epochs=40, unowned_ms=10**7, ended_at=None)
    return {"rebalances": [long_one], "gaps": gaps, "sizes": [(0, 2)]}


def test_a_loop_that_never_lets_its_group_settle_costs_what_was_lost_in_its_time():
    """As a broker wrote it: one rebalance of 212 epochs."""
    loop = restarts(7)
    (episode,) = told(group(*OTHERS, *loop, until=95, **never_settled(loop)))
    assert (episode.rebalances, episode.epochs) == (1, 40)
    assert episode.unowned_ms == episode.lost_ms == 6 * 60_000, "the first one follows none"
    assert episode.cost_share == pytest.approx(6 / (2 * (episode.last_seen - episode.first_seen) / MINUTE))
    assert episode.severity == "error"


def test_each_moment_of_a_rebalance_is_billed_once():
    first, second, third = restarts(7), restarts(7, client="other"), restarts(7, first=300, client="third")
    rows = told(group(*OTHERS, *first, *second, *third, until=340, **never_settled(first, second, third)))
    loops = [each for each in rows if each.pattern == "restart_loop"]
    assert sorted(each.unowned_ms for each in loops) == [6 * 60_000, 12 * 60_000, 12 * 60_000]
    assert sum(each.lost_ms for each in loops) == 18 * 60_000
    assert {each.rebalances_shared for each in loops} == {1}


def test_a_rebalance_that_two_rows_claim_is_billed_to_one():
    first, second = restarts(7), restarts(7, client="other")
    pairs = zip(first, second, strict=True)
    began = [rebalance(one.joined_at / MINUTE, one.member_id, two.member_id, unowned_ms=60_000) for one, two in pairs]
    rows = told(group(*OTHERS, *first, *second, until=95, rebalances=began, sizes=[(0, 2)]))
    assert {(each.pattern, each.unowned_ms, each.rebalances_shared) for each in rows} == {
        ("restart_loop", 6 * 60_000, 6)
    }
    assert sorted(each.lost_ms for each in rows) == [0, 6 * 60_000]


def test_a_past_episode_is_a_warning_at_most():
    loop = restarts(7)
    began = [rebalance(row.joined_at / MINUTE, row.member_id, unowned_ms=600_000) for row in loop]
    history = group(*OTHERS, stay("app", 0, 59.5), *loop, until=600, rebalances=began, sizes=[(0, 2)])
    (episode,) = told(history)
    assert episode.cost_share > 0.1
    assert episode.severity == "warning"


def test_only_rebalances_of_its_time_count():
    returned = [stay("app", 60 + 6 * n, 65.1 + 6 * n, member_id="same", returned=True) for n in range(5)]
    began = [rebalance(row.joined_at / MINUTE, "same") for row in returned]
    (episode,) = told(
        group(
            *OTHERS,
            stay("app", 0, 59, member_id="same", returned=True),
            *returned,
            until=300,
            rebalances=[rebalance(0, "same"), *began, rebalance(250, "same")],
        )
    )
    assert (episode.count, episode.rebalances) == (5, 5)


def test_after_a_calm_time_it_is_another_episode():
    again = restarts(7, first=400)
    episodes = told(group(*OTHERS, stay("app", 0, 59.5), *restarts(7), stay("app", 95, 399.5), *again, until=435))
    assert [(each.count, each.episode, each.is_present) for each in episodes] == [(7, 1, False), (7, 2, True)]


def test_history_that_was_cut():
    (loop,) = told(group(*OTHERS, stay("app", 0, 59.5), *restarts(7), until=95, known_since=ms(55)))
    assert loop.at_least
    (loop,) = told(group(*OTHERS, stay("app", 0, 59.5), *restarts(7), until=95, known_since=ms(5)))
    assert not loop.at_least


def test_stays_without_any_name_are_not_one_process():
    nameless = restarts(7, client=None, client_host=None)
    assert not patterns(group(*OTHERS, stay(None, 0, 59.5, client_host=None), *nameless, until=95))


def test_offsets_in_another_order_than_times():
    found = [stay("app", 60 + 6 * n, 65.1 + 6 * n, member_id="same", returned=True) for n in range(6)]
    found[1] = found[1]._replace(joined_at=ms(75), left_at=ms(75.5))
    (episode,) = told(group(*OTHERS, *found, until=97))
    assert episode.first_seen == ms(72)


def test_a_stay_that_ends_before_it_begins_is_not_measured():
    (backwards,) = group(stay("app", 60, 59), until=95).stays
    assert not backwards.is_measured


def test_a_cost_that_the_log_does_not_show_is_null():
    loop = restarts(7)
    began = [rebalance(row.joined_at / MINUTE, row.member_id, unowned_ms=None) for row in loop]
    (episode,) = told(group(*OTHERS, stay("app", 0, 59.5), *loop, until=95, rebalances=began, sizes=[(0, 2)]))
    assert (episode.unowned_ms, episode.empty_ms, episode.cost_share) == (None, 0, None)


def test_members_of_one_name_side_by_side_were_not_killed():
    """Who was killed is a member for a session; the next one of that name may be any of several."""
    stays = [stay("app", 60 + n / 20, 60 + n / 20 + 1 / 6) for n in range(14)]
    (episode,) = told(group(*stays, until=62))
    assert (episode.pattern, episode.probable_cause) == ("restart_loop", "killed_or_ended")
    killed = [stay("app", 60 + n, 61.7 + n) for n in range(14)]
    (episode,) = told(group(*killed, until=80))
    assert (episode.pattern, episode.probable_cause) == ("restart_loop", "killed")
