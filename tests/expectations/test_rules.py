"""What rules make of rows that no audit found: operations that change several members at once, and censored rows."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.group.known_history import CENSORED, LEFT_CENSORED, OBSERVED, RIGHT_CENSORED
from kip848_records.specs.tables import WITH_GROUPS
from kip848_records.text import duration_text
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

START = datetime(2026, 1, 1, tzinfo=UTC)
RULES = {each.name: each for each in EXPECTATIONS}
LIMITS = {"max_seconds": 60.0, "max_seconds_over": 5.0, "max_flaps": 1.0, "max_bytes": 1000.0, "warn_percent": 80.0}


def at(second):
    return START + timedelta(seconds=second)


@pytest.fixture
def found(tmp_path_factory):
    """The verdicts of an expectation on made tables; those that are not named have no rows."""

    severities = []

    def found(rule, dialect="kafka", **tables):
        out = tmp_path_factory.mktemp("rules")
        rows = {name: [] for name in (*WITH_GROUPS, "quarantine", "partition_history")} | tables
        grouped = {
            name: [({"group_id": "g"} if name in WITH_GROUPS else {}) | row for row in rows[name]] for name in rows
        }
        run = {"run": 1, "dialect": dialect, "captured_at": at(1000)}
        write(out, "c", audit_runs=[run], **grouped)
        limits = {name: LIMITS[name] for name in RULES[rule].limits if name in LIMITS}
        judged = evaluated(DuckTables(str(out)), RULES[rule], Setting("error", limits))
        in_order = sorted(judged, key=lambda row: (row.offset is not None, row.offset or 0))
        severities[:] = [row.severity for row in in_order]
        return [(row.verdict, row.offset, row.message) for row in in_order]

    found.severities = severities
    return found


def state(member, state, start, end=None, offset=0, **columns):
    times = {"from_at": at(start), "to_at": None if end is None else at(end), "from_offset": offset}
    history = RIGHT_CENSORED if end is None else OBSERVED
    return {"member_id": member, "state": state, "member_epoch": 2, "history": history} | times | columns


def stay(member, joined, left=None, **columns):
    """A stay in which offsets are seconds."""
    end = {} if left is None else {"left_offset": left, "left_at": at(left)}
    row = {"member_id": member, "joined_offset": joined, "joined_at": at(joined), "rebalance_timeout_ms": 30_000}
    return row | end | columns


@pytest.mark.parametrize(
    ("history", "lasted", "verdict"),
    [
        (OBSERVED, 35, PASS),  # exactly the limit
        (OBSERVED, 36, VIOLATION),
        # Compaction may have removed the beginning.
        (LEFT_CENSORED, 30, UNKNOWN),
        (LEFT_CENSORED, 40, VIOLATION),
        (CENSORED, 40, VIOLATION),
        (OBSERVED, -10, UNKNOWN),
    ],
)
def test_a_revocation_that_may_have_begun_earlier_is_late_if_it_is_late(found, history, lasted, verdict):
    revoking = state("m", "revoking", 10, 10 + lasted, offset=10, history=history)
    ((said, offset, _),) = found("revocation_time", member_state_timeline=[revoking], membership=[stay("m", 1)])
    assert (said, offset) == (verdict, 10)


def test_lost_records_may_have_ended_what_is_late(found):
    revoking = state("m", "revoking", 10, offset=10, history=CENSORED)
    tables = {"member_state_timeline": [revoking], "membership": [stay("m", 1)]}
    for group, verdict in (
        ({"state": "Reconciling"}, VIOLATION),
        ({"state": "unknown"}, UNKNOWN),
        ({"state": "Reconciling", "has_lost_prefix": True}, UNKNOWN),
    ):
        assert [each for each, *_ in found("revocation_time", group_state=[group], **tables)] == [verdict]


def test_before_kafka_3_8_nobody_knows_who_revokes(found):
    tables = {"member_state_timeline": [state("m", "unknown", 10)], "membership": [stay("m", 1)]}
    assert found("revocation_time", **tables) == []
    assert [verdict for verdict, *_ in found("revocation_time", "kafka-3.7", **tables)] == [UNKNOWN]


def test_a_member_has_the_timeout_of_its_own_stay(found):
    """It left and joined again with the operation at 20: the state that follows is of the second stay."""
    stays = [stay("m", 1, 20), stay("m", 22, rebalance_timeout_ms=90_000)]
    states = [state("m", "revoking", 5, 20, offset=5), state("m", "revoking", 24, 100, offset=24)]
    said = found("revocation_time", member_state_timeline=states, membership=stays)
    assert [(verdict, message.split(",")[0]) for verdict, _, message in said] == [
        (PASS, "expected to revoke partitions within its rebalance timeout of 30 s"),
        (PASS, "expected to revoke partitions within its rebalance timeout of 1 min 30 s"),
    ]


GROUP_STATE = [{"state": "Stable", "has_full_history": True}]


def test_both_protocols_from_the_first_native_member_to_the_last_classic_one(found):
    states = [
        state("old", "reconciled", 10, 100, offset=10, is_classic=True),
        state("older", "reconciled", 10, 90, offset=11, is_classic=True),
        state("new", "waiting", 20, 30, offset=20),
        state("new", "reconciled", 30, offset=30),
    ]
    stays = [stay("old", 10, 100), stay("older", 10, 90), stay("new", 20)]
    said = found("mixed_protocols", member_state_timeline=states, membership=stays, group_state=GROUP_STATE)
    assert said == [
        (
            VIOLATION,
            20,
            "expected one protocol after 1 min, had both for 1 min 20 s (2 classic and 1 consumer members at first)",
        )
    ]


def test_a_classic_static_member_that_is_replaced_by_another_does_not_end_it(found):
    states = [
        state("new", "reconciled", 10, offset=10),
        state("old", "reconciled", 20, 50, offset=20, is_classic=True),
        state("again", "reconciled", 50, offset=53, is_classic=True),
    ]
    stays = [stay("new", 10), stay("old", 20, 50), stay("again", 52, joined_at=at(50))]
    ((verdict, offset, message),) = found(
        "mixed_protocols", member_state_timeline=states, membership=stays, group_state=GROUP_STATE
    )
    assert (verdict, offset) == (VIOLATION, 20)
    assert "has had both for 16 min 20 s" in message


def test_a_group_in_which_only_classic_members_are_left_is_still_half_way(found):
    states = [
        state("new", "reconciled", 10, 40, offset=10),
        state("old", "reconciled", 20, offset=20, is_classic=True),
    ]
    stays = [stay("new", 10, 40), stay("old", 20)]
    ((verdict, offset, message),) = found(
        "mixed_protocols", member_state_timeline=states, membership=stays, group_state=GROUP_STATE
    )
    assert (verdict, offset) == (VIOLATION, 20)
    assert "has had both for 16 min 20 s" in message


def test_a_classic_member_that_becomes_native_ends_it(found):
    states = [
        state("new", "reconciled", 10, offset=10),
        state("old", "reconciled", 20, 50, offset=20, is_classic=True),
        state("old", "reconciled", 50, offset=50),
    ]
    ((verdict, _, message),) = found(
        "mixed_protocols",
        member_state_timeline=states,
        membership=[stay("new", 10), stay("old", 20)],
        group_state=GROUP_STATE,
    )
    assert verdict == PASS
    assert "had both for 30 s (1 classic and 1 consumer members at first)" in message


def rebalance(offset, outcome="converged", took=100, history=OBSERVED, **columns):
    row = {"began_offset": offset, "began_at": at(offset), "duration_ms": took * 1000, "outcome": outcome}
    return row | {"history": history, "first_epoch": 3, "epochs": 1, "causes": ["member_joined"]} | columns


def test_a_rebalance_is_slow_only_if_it_converged(found):
    rows = [
        rebalance(1, took=60),
        rebalance(2, took=61),
        rebalance(3, "emptied"),
        rebalance(4, "deleted"),
        rebalance(5, clock_skew=True),
        rebalance(6, None),
        # It may have begun with an epoch of the one before.
        rebalance(7, history=LEFT_CENSORED),
        rebalance(8, "emptied", history=LEFT_CENSORED),
    ]
    said = found("rebalance_time", rebalance=rows)
    verdicts = [PASS, VIOLATION, PASS, PASS, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]
    assert [verdict for verdict, *_ in said] == verdicts
    assert said[1][2] == "expected to converge within 1 min, took 1 min 1 s (member joined)"
    assert said[6][2] == "expected to converge within 1 min, took 1 min 40 s as far as the log shows (member joined)"


@pytest.mark.parametrize(
    ("history", "since", "state", "verdict"),
    [
        (RIGHT_CENSORED, 900, {}, VIOLATION),
        # What is censored has lasted at least since the group was last Stable.
        (CENSORED, 900, {}, VIOLATION),
        (CENSORED, 960, {}, UNKNOWN),
        (CENSORED, 900, {"has_lost_prefix": True}, UNKNOWN),
        (RIGHT_CENSORED, 900, {"state": "unknown"}, UNKNOWN),
    ],
)
def test_an_open_rebalance_counts_with_its_age(found, history, since, state, verdict):
    present = {"state": "Reconciling", "since": at(since)} | state
    said = found("rebalance_time", rebalance=[rebalance(1, "open", 100, history)], group_state=[present])
    assert [verdict for verdict, *_ in said] == [verdict]


def test_a_group_that_is_stuck_is_one_error(found):
    tables = {"rebalance": [rebalance(1, "open", 990, RIGHT_CENSORED)]}
    tables["group_state"] = [{"state": "Reconciling", "since": at(10), "history": RIGHT_CENSORED}]
    ((verdict, *_),) = found("rebalance_time", **tables)
    assert (verdict, found.severities) == (VIOLATION, ["warn"])
    ((verdict, _, message),) = found("group_stable", **tables)
    assert (verdict, found.severities) == (VIOLATION, ["error"])
    assert message.startswith("expected Stable within 1 min, Reconciling for ≥ 16 min 30 s: ")


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([rebalance(1, took=61), rebalance(2, took=70)], [VIOLATION]),
        ([rebalance(1, took=50), rebalance(2, took=500, started_empty=True)], [PASS]),
        ([rebalance(1, took=50), rebalance(2, "emptied", 500), rebalance(3, "open", 500, RIGHT_CENSORED)], [PASS]),
        ([rebalance(1, took=50), rebalance(2, took=500, history=LEFT_CENSORED)], [PASS]),
        ([rebalance(1, took=50), rebalance(2, took=500, clock_skew=True)], [PASS]),
        ([rebalance(1, took=500, history=LEFT_CENSORED)], [UNKNOWN]),
        ([rebalance(1, None, started_empty=None)], [UNKNOWN]),
        ([rebalance(1, took=500, started_empty=True), rebalance(2, "emptied")], []),
    ],
)
def test_percentiles_are_of_rebalances_that_converged_in_groups_with_members(found, rows, verdict):
    rows = [{"started_empty": False} | row for row in rows]
    assert [each for each, *_ in found("rebalance_time_p95", rebalance=rows)] == verdict


def test_a_group_without_an_anomaly_passes_if_its_history_is_whole(found):
    anomaly = {"kind": "two_owners", "offset": 7, "expected": "a", "seen": "b"}
    whole, cut = ({"group_id": name, "history": history} for name, history in (("w", OBSERVED), ("c", CENSORED)))
    states = [whole, cut, {"history": OBSERVED}]
    said = found("one_owner", anomaly=[anomaly | {"is_proven": True}], group_state_timeline=states)
    assert sorted((verdict, offset) for verdict, offset, _ in said) == [(PASS, None), (UNKNOWN, None), (VIOLATION, 7)]
    said = found("one_owner", anomaly=[anomaly], group_state_timeline=states)
    assert sorted(verdict for verdict, *_ in said) == [PASS, UNKNOWN, UNKNOWN]
    assert "expected a, seen b" in [message for *_, message in said]
    # Another kind is no such violation.
    said = found("epochs_grow", anomaly=[anomaly | {"is_proven": True}], group_state_timeline=states)
    assert sorted(verdict for verdict, *_ in said) == [PASS, PASS, UNKNOWN]


@pytest.mark.parametrize(
    ("partitions", "duplicates", "sizes", "verdict"),
    [
        (6, 0, [4, 2], PASS),
        (5, 0, [4, 2], VIOLATION),
        (6, 1, [4, 2], VIOLATION),
        (6, 0, None, UNKNOWN),
        (6, 1, None, VIOLATION),
    ],
)
def test_a_target_covers_the_sizes_that_the_log_has(found, partitions, duplicates, sizes, verdict):
    assigned = {"target_partitions": partitions, "target_duplicates": duplicates, "history": OBSERVED}
    epochs = [{"group_epoch": epoch, "bump_offset": epoch} | assigned for epoch in (2, 3)]
    topics = ",".join(f'{{"topicName":"t","numPartitions":{size},"partitionMetadata":[]}}' for size in sizes or ())
    record = {"record": "ConsumerGroupPartitionMetadata", "value": f'{{"topics":[{topics}]}}'}
    said = found(
        "target_covers_topics",
        epoch_timeline=epochs,
        group_state=[{"group_epoch": 3, "assignment_epoch": 3, "has_full_history": True}],
        latest_state=[record] if sizes else [],
    )
    # Of earlier assignments only those are told that gave a partition to two members.
    assert [(each, offset) for each, offset, _ in said] == [(VIOLATION, 2)] * (duplicates > 0) + [(verdict, 3)]


def test_while_a_group_is_assigning_its_target_need_not_cover_its_topics(found):
    epoch = {"group_epoch": 3, "target_partitions": 1, "target_duplicates": 0}
    state = {"group_epoch": 4, "assignment_epoch": 3, "has_full_history": True}
    assert found("target_covers_topics", epoch_timeline=[epoch], group_state=[state]) == []


def test_only_consumer_groups_and_active_tasks_have_one_target_a_partition(found):
    """Several members of a share group may have one; a streams group's tasks are not counted in any record."""
    epochs = [
        {"group_id": group_id, "group_type": group_type, "target_duplicates": duplicates, "target_partitions": 2}
        for group_id, group_type, duplicates in (("a", "share", 1), ("b", "streams", 0), ("c", "streams", 1))
    ]
    epochs = [epoch | {"group_epoch": 3, "bump_offset": 7, "history": OBSERVED} for epoch in epochs]
    states = [{"group_id": group_id, "group_epoch": 3, "assignment_epoch": 3} for group_id in "abc"]
    said = found("target_covers_topics", epoch_timeline=epochs, group_state=states)
    assert [(verdict, offset) for verdict, offset, _ in said] == [(VIOLATION, 7)]


def test_an_awaited_task_is_named_by_its_role_and_subtopology(found):
    task = {"partition": 3, "released_at": at(1), "subtopology_id": "0", "role": "standby"}
    lag = {"status": "open", "target_at": at(1), "first_bumped_at": at(1), "history": RIGHT_CENSORED}
    ((verdict, _, message),) = found("awaited_partition_free", rebalance_lag=[lag | {"awaited": [task]}])
    assert verdict == VIOLATION
    assert "standby task of subtopology 0 3 has had none for" in message


@pytest.mark.parametrize(
    ("size", "is_whole", "verdict"), [(700, True, PASS), (700, False, UNKNOWN), (900, False, VIOLATION)]
)
def test_the_largest_operation_counts(found, size, is_whole, verdict):
    state = {"largest_operation_bytes": size, "largest_operation_offset": 9, "has_full_history": is_whole}
    assert found("operation_size", group_state=[state]) == [
        (verdict, 9, f"expected operations of at most 1000 bytes, the largest has {size} bytes")
    ]


def test_a_partition_without_a_new_owner_is_judged_too(found):
    gap = {"from_member": "m", "released_at": at(1), "released_offset": 5, "topic": "t", "wanted": True}
    rows = [
        gap | {"history": RIGHT_CENSORED, "wanted_ms": 61_000},
        gap | {"history": RIGHT_CENSORED, "wanted_ms": 1_000, "released_offset": 6},
        # Records were lost before it had a new owner, as far as the log shows.
        gap | {"history": RIGHT_CENSORED, "wanted_ms": 61_000, "to_member": "n", "acquired_offset": 7},
        gap | {"history": OBSERVED, "wanted": None, "wanted_ms": None, "to_member": "n", "acquired_offset": 8},
    ]
    said = found("unowned_time", partition_handover=rows)
    assert [(verdict, offset) for verdict, offset, _ in said] == [(VIOLATION, 5), (PASS, 6), (UNKNOWN, 7)]
    assert said[0][2] == "expected t 0 to have an owner again within 1 min, had none for ≥ 1 min 1 s (after m)"


def test_assignors_are_told_of_in_early_dialects_alone(found):
    tables = {"membership": [stay("m", 1)], "group_state_timeline": [{"history": OBSERVED}]}
    assert (RULES["assignor_versions"].needs, RULES["names_or_regex"].needs) == (["early_dialect"], ["draft_dialect"])
    assert [verdict for verdict, *_ in found("assignor_versions", "kafka-3.7", **tables)] == [PASS]
    assert [verdict for verdict, *_ in found("names_or_regex", "kip-848", **tables)] == [PASS]


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("value_truncated", VIOLATION),
        ("value_negative_version", VIOLATION),
        ("value_trailing_bytes", PASS),
        ("value_unknown_version", UNKNOWN),
        ("value_invalid_utf8", UNKNOWN),
        ("key_invalid_utf8", UNKNOWN),
        ("value_tag_size_mismatch", UNKNOWN),
    ],
)
def test_a_broker_forgives_some_errors(found, code, verdict):
    key = b"\x00\x03\x00\x01g"
    row = {"key": key, "offset": 3, "error_code": code, "reason": "value: so", "position": 0}
    said = found("loadable_records", quarantine=[row], group_state=[{"records": 5}])
    assert (verdict, 3) in [(each, offset) for each, offset, _ in said]


def test_records_of_disputed_types_may_be_of_another_dialect(found):
    rows = [
        {"key_type": 8, "group_id": "g", "offset": offset, "error_code": "value_truncated", "position": 0}
        for offset in (3, 4)
    ]
    said = found("loadable_records", quarantine=rows, group_state=[{"records": 1}])
    assert [verdict for verdict, offset, _ in said if offset] == [UNKNOWN, UNKNOWN]
    assert said[-1][2].endswith("perhaps of another dialect: see --dialect auto")
    said = found("loadable_records", quarantine=rows, group_state=[{"records": 2}])
    assert [verdict for verdict, offset, _ in said if offset] == [VIOLATION, VIOLATION]


@pytest.mark.parametrize(("seconds", "verdict"), [(86_400, PASS), (86_000, VIOLATION)])
def test_an_old_audit_is_told(tmp_path, seconds, verdict):
    write(tmp_path, "c", audit_runs=[{"run": 1, "captured_at": START}])
    (row,) = evaluated(DuckTables(str(tmp_path)), RULES["audit_is_recent"], Setting("error", {"max_age": seconds}))
    assert (row.verdict, row.group_id) == (verdict, None)
    assert row.message == f"expected an audit of the last {duration_text(seconds * 1000)}, the last one is 1 d old"


@pytest.mark.parametrize(("began", "verdict"), [(939, VIOLATION), (940, PASS)])
@pytest.mark.parametrize("group_type", ["share", "classic"])
def test_a_rebalance_that_the_state_of_a_group_does_not_show_counts_as_not_stable(found, group_type, began, verdict):
    state = {"group_type": group_type, "state": "Stable", "since": at(0), "history": RIGHT_CENSORED}
    rebalance = {"group_type": group_type, "outcome": "open", "began_at": at(began)}
    ((said, _, message),) = found("group_stable", group_state=[state], rebalance=[rebalance])
    assert said == verdict
    assert message.startswith("expected Stable within 1 min, rebalancing for ≥ ")


def test_many_groups_that_rebalance_at_once_are_told_once(found):
    row = {"pattern": "storm_across", "severity": "warning", "sentence": "Nine groups.", "next_step": "Look."}
    row |= {"is_present": False, "ended_at": at(10), "group_id": None, "incarnation": None, "partition": None}
    said = found("storm_across", diagnosis=[row, row | {"severity": "info"}], group_state=GROUP_STATE)
    assert [verdict for verdict, *_ in said] == [VIOLATION]
    assert found("storm_across", diagnosis=[], group_state=GROUP_STATE) == [
        (PASS, None, "none is seen; the history of all groups must be known for 1 d")
    ]


@pytest.mark.parametrize(("known_since", "verdict"), [(None, UNKNOWN), (at(3_600), UNKNOWN), (at(-90_000), PASS)])
def test_groups_that_are_not_known_may_have_rebalanced_at_once(found, known_since, verdict):
    cut = {"group_id": "cut", "has_full_history": False, "known_since": known_since}
    ((said, _, _),) = found("storm_across", diagnosis=[], group_state=[*GROUP_STATE, cut])
    assert said == verdict


@pytest.mark.parametrize(("severity", "as_shown"), [("error", "error"), ("warning", "warn")])
def test_a_trouble_is_no_worse_than_its_row(tmp_path, severity, as_shown):
    """A build fails for what costs much now, not for each trouble."""
    row = {
        "group_id": "g",
        "partition": 0,
        "pattern": "restart_loop",
        "severity": severity,
        "is_present": True,
        "sentence": "It fails.",
    }
    run = {"run": 1, "captured_at": at(1000)}
    write(
        tmp_path,
        "c",
        audit_runs=[run],
        diagnosis=[row],
        group_state=[{"group_id": "g"}],
        group_state_timeline=[],
        partition_history=[],
    )
    (found,) = evaluated(DuckTables(str(tmp_path)), RULES["restart_loop"], Setting("error", {"within_seconds": 0}))
    assert (found.verdict, found.severity) == (VIOLATION, as_shown)


_KEY = {"group_id": "g", "topic": "t", "partition": 0, "offset": 9}
OPENED = {"producer_id": 7, "first_offset": 3, "last_offset": 4, "records": 2, "group_ids": ["g"], "keys": [_KEY]}
OPENED |= {"blocks_from": 3, "records_behind": 5, "status": "open"}
ALLOWED_MS = 1_200_000
"""Kafka's default of transaction.max.timeout.ms, and five minutes."""


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"age_ms": ALLOWED_MS}, PASS),
        ({"age_ms": ALLOWED_MS + 1}, VIOLATION),
        ({"age_ms": ALLOWED_MS + 1, "status": "unknown"}, UNKNOWN),
        ({"age_ms": None}, UNKNOWN),
        ({"age_ms": -1}, UNKNOWN),
    ],
)
def test_a_transaction_hangs_if_its_coordinator_would_have_aborted_it(found, columns, verdict):
    ((said, offset, message),) = found("hanging_transaction", open_transaction=[OPENED | columns], group_state=[{}])
    assert (said, offset) == (verdict, 3)
    assert message.endswith(": 1 committed offset of g wait for it, 5 records stand behind it")
    is_open = columns.get("status") is None
    assert ("is open for an unknown time" in message) == (is_open and not (columns["age_ms"] or 0) > 0)


def test_a_hanging_transaction_is_of_its_group_if_it_has_one(tmp_path):
    """So a setting for a group counts; the offsets of several groups are of none."""
    rows = [OPENED | {"age_ms": ALLOWED_MS + 1}]
    rows.append(rows[0] | {"producer_id": 8, "group_ids": ["g", "h"]})
    run = {"run": 1, "captured_at": START}
    write(tmp_path, "c", audit_runs=[run], open_transaction=rows, group_state=[{"group_id": "g"}])
    quiet = Setting("error", {}, {"g": Setting("error", {"max_timeout": 10_000.0})})
    found = evaluated(DuckTables(str(tmp_path)), RULES["hanging_transaction"], quiet)
    assert sorted((row.group_id or "", row.verdict) for row in found) == [("", VIOLATION), ("g", PASS)]


def live_run(run, second, until, *, is_read_to_end=False, offset_commits=True):
    read = {"partition": 0, "from_offset": 0, "until_offset": until, "is_read_to_end": is_read_to_end}
    return {"run": run, "captured_at": at(second), "partitions": [read], "offset_commits": offset_commits}


@pytest.mark.parametrize(
    ("runs", "verdicts"),
    [
        ([live_run(1, 0, 5), live_run(2, 1201, 5)], [VIOLATION]),
        ([live_run(1, 0, 5), live_run(2, 1200, 5)], [UNKNOWN]),
        ([live_run(1, 0, 5), live_run(2, 5000, 6)], [UNKNOWN]),
        ([live_run(1, 0, 5, is_read_to_end=True), live_run(2, 5000, 5)], [UNKNOWN]),
        ([live_run(1, 0, 5), live_run(2, 5000, 5, is_read_to_end=True)], [PASS]),
    ],
)
def test_a_live_topic_shows_only_for_how_long_the_stable_offset_stands(tmp_path, runs, verdicts):
    write(tmp_path, "c", audit_runs=runs, open_transaction=[], group_state=[])
    found = evaluated(DuckTables(str(tmp_path)), RULES["hanging_transaction"], Setting("error", {}))
    assert [row.verdict for row in found] == verdicts
    assert {(row.partition, row.offset, row.group_id) for row in found} <= {
        (0, None if verdicts == [PASS] else runs[-1]["partitions"][0]["until_offset"], None)
    }
