"""The limits that users may change: what each one does, and for which groups."""

import re
from collections import Counter, defaultdict
from dataclasses import asdict
from functools import cache

import pytest

from kip848_records.replay.diagnosis.changed_limits import ChangedLimit, changed_patterns, limits_of
from kip848_records.replay.diagnosis.diagnose import across_groups, episodes_of
from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.limits import DEFAULTS, Limits
from kip848_records.replay.diagnosis.observed import ObservedRows
from kip848_records.replay.diagnosis.sentences import _WORDS
from kip848_records.replay.diagnosis.settings import (
    ACROSS_GROUPS,
    ALL_PATTERNS,
    ENABLED,
    RULES,
    SECONDS,
    SETTINGS,
    SHARE,
)
from kip848_records.replay.rows import GroupOutline
from tests.replay.diagnosis.groups import MINUTE, group, ms, rebalance, stay, told
from tests.replay.diagnosis.scenes import scene
from tests.replay.diagnosis.test_loops import OTHERS, restarts

OTHER_LOGS = {ACROSS_GROUPS, "task_restarts", "not_consumed", "offsets_lost"}
"""Patterns that need several groups, workers of Connect, or offset commits."""
ALL = [(pattern, name) for pattern, settings in SETTINGS.items() for name in settings]


def test_each_pattern_has_settings_and_a_rule_that_names_them():
    assert {*SETTINGS} == {*RULES} == {ALL_PATTERNS, *_WORDS}
    for pattern, rule in RULES.items():
        assert set(re.findall(r"`(\w+)`", rule)) == {*SETTINGS[pattern]}


def test_each_setting_is_one_field_and_has_a_reason():
    settings = [setting for of_pattern in SETTINGS.values() for setting in of_pattern.values()]
    assert max(Counter(setting.field for setting in settings).values()) == 1
    for setting in settings:
        assert setting.field in Limits._fields
        assert setting.reason.endswith(".")
        assert setting.least <= setting.default
        assert setting.value(setting.default) == getattr(DEFAULTS, setting.field)
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
    off = frozenset({"job"})
    assert limits_of(changes, "batch-a") == DEFAULTS._replace(storm_moments=9, storm_subjects=6, off=off)
    off = frozenset({"job", "spares"})
    assert limits_of(changes, "orders") == DEFAULTS._replace(storm_moments=7, storm_subjects=6, off=off)
    off = frozenset({"spares"})
    assert limits_of(changes, None) == DEFAULTS._replace(storm_moments=7, storm_subjects=6, off=off)
    assert limits_of(changes[1:3], "batch-a").storm_within == 1500
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


@cache
def by_pattern():
    """Groups by each pattern that they have; of many some."""
    histories = [history for name in ("healthy", "trouble", "days") for history in scene(name).groups.values()]
    found = defaultdict(list)
    for history in histories:
        for pattern in {ALL_PATTERNS, *(row[0] for row in rows_of(history))}:
            found[pattern].append(history)
    return {pattern: [*some[-8:], *MADE] for pattern, some in found.items()}


@pytest.mark.parametrize(("pattern", "name"), [each for each in ALL if each[0] not in OTHER_LOGS])
def test_each_setting_changes_rows_of_its_pattern(pattern, name):
    setting = SETTINGS[pattern][name]
    changed = set()
    for history in by_pattern()[pattern]:
        for value in (setting.least, 1 if setting.unit == SHARE else 1e9):
            before, after = rows_of(history), rows_of(history, ChangedLimit(pattern, None, name, value))
            changed |= {row[0] for row in (before - after) + (after - before)}
    assert changed
    if pattern != ALL_PATTERNS:
        assert pattern in changed
        assert changed <= {pattern} | ALSO_CHANGED.get(pattern, set())


def test_other_tests_stay_as_they_are():
    """Some numbers were those of two rules."""
    history = group(*OTHERS, *restarts(6), until=90)
    poll = ChangedLimit("restart_loop", None, "poll_timeouts", 1000)
    assert [row[0] for row in rows_of(history)] == [row[0] for row in rows_of(history, poll)] == ["restart_loop"]
    for history in by_pattern()["spares"]:
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
