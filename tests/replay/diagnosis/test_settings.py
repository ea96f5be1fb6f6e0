"""The limits that users may change: what each one does, and for which groups."""

import re
from collections import Counter, defaultdict
from dataclasses import asdict

import pytest

from kip848_records.replay.diagnosis.diagnose import across_groups, episodes_of
from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.limits import ALL_PATTERNS, DEFAULTS, ENABLED, SECONDS, SHARE, limits_of
from kip848_records.replay.diagnosis.observed import Generation, ObservedRows
from kip848_records.replay.diagnosis.patterns import ACROSS_GROUPS, RULES, SETTINGS, changed_patterns
from kip848_records.replay.diagnosis.storm import Settings
from kip848_records.replay.inputs import ChangedLimit
from kip848_records.replay.rows import GroupOutline
from tests.replay.diagnosis.groups import MINUTE, group, ms, rebalance, stay, told
from tests.replay.diagnosis.scenes import scene
from tests.replay.diagnosis.test_loops import OTHERS, restarts
from tests.seeds import few

OTHER_LOGS = {
    ACROSS_GROUPS,
    "task_restarts",
    "assignment_not_applied",
    "configurations_differ",
    "endless_warm_ups",
    "not_initialized",
    "not_consumed",
    "offsets_lost",
}
"""Patterns that need several groups, workers of Connect, broken clients, share groups, or offset commits."""
ALL = [(pattern, name) for pattern, settings in SETTINGS.items() for name in settings]


def test_each_pattern_has_settings_and_a_rule_that_names_them():
    assert {*SETTINGS} == {*RULES}
    for pattern, rule in RULES.items():
        assert set(re.findall(r"`(\w+)`", rule)) == {*SETTINGS[pattern]}


def test_each_setting_has_the_key_of_its_pattern_and_a_reason():
    settings = [SETTINGS[pattern][name] for pattern, name in ALL]
    assert [setting.key for setting in settings] == [f"{pattern}.{name}" for pattern, name in ALL]
    for setting in settings:
        assert setting.reason.endswith(".")
        assert setting.least <= setting.default
        assert setting.read(setting.default) == setting.value == DEFAULTS[setting]
    units = {name: SETTINGS[pattern][name].unit for pattern, name in ALL}
    assert not {ENABLED, "groups"}.intersection(units)
    assert all((unit == SECONDS) == name.endswith("_seconds") for name, unit in units.items())


def test_of_several_patterns_of_ids_the_first_one_counts():
    changes = [
        ChangedLimit("storm", "batch-*", "moments", 9),
        ChangedLimit("storm", "batch-a*", "moments", 8),
        ChangedLimit("storm", "batch-a*", "within_seconds", 1.5),
        ChangedLimit("storm", None, "moments", 7),
        ChangedLimit("storm", None, "subjects", 6),
        ChangedLimit("job", "*", ENABLED, 0),
        ChangedLimit("job", "batch-*", ENABLED, 1),
        ChangedLimit("spares", None, ENABLED, 0),
        ChangedLimit("spares", "batch-?", ENABLED, 1),
        ChangedLimit("gone with a later version", None, "moments", 5),
    ]
    wanted = {"batch-a": (9, {"job"}), "orders": (7, {"job", "spares"}), None: (7, {"spares"})}
    for group_id, (moments, off) in wanted.items():
        limits = limits_of(changes, group_id)
        assert (limits[Settings.moments], limits[Settings.subjects], limits.off) == (moments, 6, off)
        assert limits[Settings.within_seconds] == DEFAULTS[Settings.within_seconds]
    assert limits_of(changes[1:3], "batch-a")[Settings.within_seconds] == 1500
    assert limits_of((), "batch-a") is DEFAULTS
    assert changed_patterns(changes) == ["storm", "job", "spares"]


def rows_of(history, *changes):
    """The rows of a group with changed limits."""
    again = GroupHistory(
        history.rows,
        history.captured_at,
        limits_of(changes, "g"),
        known_since=history.known_since,
        partition=history.partition,
        partition_last_at=history.partition_last_at,
        newest_at=history.newest_at,
    )
    return Counter(
        (each.pattern, each.subject, each.severity, each.first_seen, each.recognized_at, each.ended_at)
        for each in episodes_of(again)
    )


def loops(names):
    return [row for name in range(names) for row in restarts(14, first=60 + name * 0.2, client=f"app-{name}x")]


MADE = [
    group(*OTHERS, stay("app", 0, 59.5), *restarts(6, every=26.0, lasts=25.0), until=230),
    group(*OTHERS, *restarts(4, every=105.0, lasts=5.0, group_type="classic", session_timeout_ms=45_000), until=600),
    group(*OTHERS, *loops(3), until=135),
    group(*OTHERS, *restarts(6, instance_id="app-1"), until=100),
]
"""A process that leaks memory, one that rarely misses a poll, three at once that restart, and a static member."""

LOOPS = {"restart_loop", "leaves_and_returns", "static_member_flaps", "duplicate_instance_id"}
ALSO_CHANGED = {loop: {"storm"} for loop in LOOPS} | {
    "static_member_flaps": {"duplicate_instance_id", "storm"},
    "duplicate_instance_id": {"static_member_flaps", "storm"},
    "rolling_restart": {"static_member_flaps", "storm"},
    "job": {"restart_loop", "everybody_left"},
}
"""The patterns that build on another one."""


@pytest.fixture(scope="module", autouse=True)
def by_pattern():
    """Groups by each pattern that they have; of many some. Made before any case, whose time it would be."""
    histories = [history for name in ("healthy", "trouble", "days") for history in scene(name).groups.values()]
    found = defaultdict(list)
    for history in histories:
        for pattern in {ALL_PATTERNS, *(row[0] for row in rows_of(history))}:
            found[pattern].append(history)
    return {pattern: [*some[-8:], *MADE] for pattern, some in found.items()}


@pytest.mark.parametrize(("pattern", "name"), few([each for each in ALL if each[0] not in OTHER_LOGS], 12, "settings"))
def test_each_setting_changes_rows_of_its_pattern(by_pattern, pattern, name):
    setting = SETTINGS[pattern][name]
    changed = set()
    for history in by_pattern[pattern]:
        for value in (setting.least, 1 if setting.unit == SHARE else 1e9):
            before, after = rows_of(history), rows_of(history, ChangedLimit(pattern, None, name, value))
            changed |= {row[0] for row in (before - after) + (after - before)}
    assert changed
    if pattern != ALL_PATTERNS:
        assert pattern in changed
        assert changed <= {pattern} | ALSO_CHANGED.get(pattern, set())


def test_other_tests_stay_as_they_are(by_pattern):
    """Some numbers were those of two rules."""
    history = group(*OTHERS, *restarts(6), until=90)
    poll = ChangedLimit("restart_loop", None, "poll_timeouts", 1000)
    assert [row[0] for row in rows_of(history)] == [row[0] for row in rows_of(history, poll)] == ["restart_loop"]
    for history in by_pattern["spares"]:
        for idle in (0, 86_400):
            changed = rows_of(history, ChangedLimit("no_topic", None, "idle_seconds", idle))
            assert [row for row in changed if row[0] == "spares"] == [
                row for row in rows_of(history) if row[0] == "spares"
            ]
    limits = limits_of([ChangedLimit("coordinator_silent", None, "silent_seconds", 3600)], "g")
    old = GroupHistory(ObservedRows(), ms(60), limits, partition_last_at=0, newest_at=ms(5))
    assert old.is_copy_old(0)


def test_moves_of_tasks_have_settings():
    moves = [(ms(5 * number), number, "orders", 0, "worker") for number in range(12)]
    history = group(*OTHERS, until=70, task_moves=moves)
    assert [row[0] for row in rows_of(history)] == ["task_restarts"]
    for name, value in {"moves": 13, "within_seconds": 60, "lasts_seconds": 3600}.items():
        assert not rows_of(history, ChangedLimit("task_restarts", None, name, value))


def test_rounds_of_assignments_that_are_not_applied_have_settings():
    unapplied = (("member", (("orders", (3,)),), ()),)
    rounds = [
        Generation(
            *(ms(60 + n), 0, n, "consumer", "range", "follow_up"), *[ms(60 + n)] * 2, None, 4, "observed", unapplied
        )
        for n in range(12)
    ]
    history = group(*OTHERS, until=75, generations=rounds)
    assert [row[0] for row in rows_of(history)] == ["assignment_not_applied"]
    for name, value in {"rounds": 12, "within_seconds": 60}.items():
        assert not rows_of(history, ChangedLimit("assignment_not_applied", None, name, value))


def rounds(count, *, every=1.0, **columns):
    """Generations of a classic group, one every so many minutes."""
    shown = {"incarnation": 0, "protocol_type": "consumer", "protocol": "stream", "cause": "unknown", "ended_at": None}
    shown |= {"units": 4, "history": "observed", **columns}
    times = [(n, ms(60 + every * n)) for n in range(count)]
    return [Generation(offset=at, generation=n, joined_at=at, completed_at=at, **shown) for n, at in times]


def test_rounds_of_workers_with_different_configurations_have_settings():
    differ = rounds(12, protocol_type="connect", cause="config_mismatch", error=1)
    history = group(until=75, generations=differ)
    assert [row[0] for row in rows_of(history)] == ["configurations_differ"]
    for name, value in {"rounds": 12, "within_seconds": 60}.items():
        assert not rows_of(history, ChangedLimit("configurations_differ", None, name, value))


def test_copies_that_warm_up_have_settings():
    warm = rounds(12, every=10, cause="probing", warm_ups=(("m", ("0_1",)),))
    history = group(until=180, generations=warm)
    assert [row[0] for row in rows_of(history)] == ["endless_warm_ups"]
    for name, value in {"warm_up_seconds": 7300, "probes": 13}.items():
        assert not rows_of(history, ChangedLimit("endless_warm_ups", None, name, value))


@pytest.mark.parametrize("name", ["min_groups", "times", "share", ENABLED])
def test_storms_across_groups_have_settings(name):
    """Six of six groups begin a rebalance in a minute, and one of them had another one."""
    begins = {each: [(ms(100), each, ["/10.0.0.1"], False)] for each in range(6)}
    begins[0].append((ms(50), 0, ["/10.0.0.1"], False))
    outlines = [
        GroupOutline(
            group_id=f"g{each}",
            partition=0,
            hosts=["/10.0.0.1"],
            topics=[],
            run_begins=[0],
            run_ends=[None],
            begins=rows,
        )
        for each, rows in begins.items()
    ]

    def found(*changes):
        return [(row.pattern, row.severity) for row in across_groups(outlines, ms(200), changes)]

    assert found() == [("storm_across", "warning")]
    value = {"min_groups": 7, "times": 1000, "share": 1, ENABLED: 0}[name]
    change = ChangedLimit(ACROSS_GROUPS, None, name, value)
    assert found(change) == ([("storm_across", "warning")] if name == "share" else [])


def test_what_is_switched_off_explains_and_costs_all_the_same():
    stays = loops(3)
    began = [rebalance(row.joined_at / MINUTE, row.member_id, unowned_ms=60_000) for row in stays]
    whole = group(*OTHERS, *stays, until=135, rebalances=began, sizes=[(0, 2)])
    without = group(*OTHERS, *stays, until=135, rebalances=began, sizes=[(0, 2)])
    without.limits = limits_of([ChangedLimit("storm", "g*", ENABLED, 0)], "g")
    assert Counter(each.pattern for each in told(whole)) == {"restart_loop": 3, "storm": 1}
    told_without = [asdict(each) for each in told(without)]
    assert told_without == [asdict(each) for each in told(whole) if each.pattern != "storm"]
    assert {each["explained_by"] for each in told_without} == {"storm"}
