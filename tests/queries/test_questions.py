"""The named questions: each runs on the tables of a capture, and its answer is what they say.

`test_both_engines.py` shows that Spark gives the same answers.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from kip848_records import __version__
from kip848_records.errors import InputError
from kip848_records.log.views import create_views
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from tests import made_tables
from tests.audits import CLUSTERS, WITH_RECORD_TABLES, dumped

QUESTIONS = {name: each.sql for name, each in questions().items()}
CAPTURE = "kafka-4.3.1"


@pytest.fixture
def ask(audits):
    """Answers a question about the capture."""
    tables = DuckTables(str(audits.out))
    return lambda name: tables.arrow(QUESTIONS[name], CLUSTERS[CAPTURE]).to_pylist()


@pytest.fixture
def ask_of(kinds):
    """Answers a question about a cluster of `kinds/`: rows as tuples."""
    tables = DuckTables(str(kinds))
    return lambda name, cluster: [tuple(row.values()) for row in tables.arrow(QUESTIONS[name], cluster).to_pylist()]


@pytest.fixture(scope="module")
def records(captures):
    """The records of the capture as Kafka's own tool prints them."""
    return dumped(captures / CAPTURE)


@pytest.fixture
def rows(audits):
    """Rows of a table, as a reader without Spark sees them."""
    return lambda table: audits.rows(CAPTURE, table)


def measured(rows):
    return [row for row in rows if row["history"] == "observed" and not row["clock_skew"]]


def test_each_question_is_tested():
    asked = {name.removeprefix("test_question_") for name in globals() if name.startswith("test_question_")}
    assert set(QUESTIONS) == asked


def test_question_not_converged(ask):
    answer = ask("not_converged")
    assert [(row["group_id"], row["state"], row["client_id"]) for row in answer] == [
        ("stuck", "Reconciling", "stuck-app"),
        ("stuck", "Reconciling", "stuck-app"),
    ]
    culprit, waits = answer
    assert (culprit["blocked_by"], waits["blocked_by"]) == ([], [culprit["member_id"]])


def test_a_connect_cluster_that_waits_for_a_worker_is_stuck(ask_of):
    (row,) = ask_of("not_converged", "connect")
    assert row[:3] == ("connect-cluster", "classic", "Stable")
    assert row[5:7] == ("connect-127.0.0.1:19603", "/127.0.0.1")


def test_question_slowest(ask, rows):
    ended = [row for row in measured(rows("rebalance")) if row["outcome"] == "converged" and not row["started_empty"]]
    longest = sorted((row["duration_ms"] for row in ended), reverse=True)[:10]
    assert [row["duration_ms"] for row in ask("slowest")] == longest


def test_question_percentiles(ask):
    answer = {row["group_id"]: row for row in ask("percentiles")}
    assert answer["slow-revoke"]["rebalances"] == 2
    assert answer["slow-revoke"]["p50_ms"] == 6507
    assert answer["slow-revoke"]["p95_ms"] == 6958
    assert next(iter(answer)) == "slow-revoke"


def test_question_unowned(ask, rows):
    handovers = rows("partition_handover")
    gaps = [row for row in handovers if row["history"] == "right_censored" and row["to_member"] is None]
    lost = [row["wanted_ms"] for row in measured(handovers) + gaps if row["wanted_ms"]]
    answer = ask("unowned")
    assert [row["wanted_ms"] for row in answer] == sorted(lost, reverse=True)[:10]
    assert (answer[0]["group_id"], answer[0]["topic"]) == ("static", "orders")


def test_a_time_without_an_owner_that_a_clock_or_the_log_does_not_show_is_left_out(tmp_path):
    row = {"group_id": "g", "group_type": "consumer", "topic": "t", "partition": 0, "history": "observed"}
    rows = [
        row | {"wanted_ms": 1, "to_member": "m"},
        row | {"wanted_ms": 9, "to_member": "m", "clock_skew": True},
        row | {"wanted_ms": 5, "history": "right_censored"},
        row | {"wanted_ms": 7, "to_member": "m", "history": "left_censored"},
        row | {"wanted_ms": 0, "to_member": "m"},
    ]
    rows = [{"clock_skew": False, **each} for each in rows]
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], partition_handover=rows)
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["unowned"], "c")
    assert [(row.wanted_ms, row.without_new_owner) for row in found] == [(5, True), (1, False)]


def test_question_handovers(ask, rows):
    answer = ask("handovers")
    assert Counter((row["group_id"], row["topic"], row["partition"]) for row in answer) == Counter(
        (row["group_id"], row["topic"], row["partition"])
        for row in rows("partition_handover")
        if row["to_member"] is not None
    )
    payments = [row for row in answer if row["topic"] == "payments"]
    pairs = [(a, b) for a, b in pairwise(payments) if a["partition"] == b["partition"]]
    of_one_group = [(a, b) for a, b in pairs if a["group_id"] == b["group_id"]]
    assert of_one_group
    assert all(a["to_member"] == b["from_member"] for a, b in of_one_group)


def test_question_protocols(ask):
    assert ask("protocols") == [{"group_id": "upgrade", "what": "protocol", "used": ["classic", "consumer"]}]


def test_question_partial(ask):
    assert ask("partial") == [{"group_id": "stuck", "epochs": 3, "without_beginning": 0, "without_end": 2}]


def test_question_quarantine(ask, tmp_path):
    assert ask("quarantine") == []
    failed = {
        "partition": 1,
        "key": b"\0",
        "error_code": "value_truncated",
        "reason": "value: too short",
        "position": 3,
    }
    run = {"run": 1, "dialect": "kafka", "version": __version__}
    made_tables.write(tmp_path, "c", audit_runs=[run], quarantine=[failed | {"offset": offset} for offset in (7, 9)])
    (row,) = DuckTables(str(tmp_path)).arrow(QUESTIONS["quarantine"], "c").to_pylist()
    assert list(row.values()) == ["value_truncated", "value: too short", 1, 2, 7, 9]


def test_question_commits(audits):
    tables, cluster = DuckTables(str(audits.out)), CLUSTERS[WITH_RECORD_TABLES]
    rows = [row for row in audits.rows(WITH_RECORD_TABLES, "offset_commit") if not row["is_tombstone"]]
    kept = Counter((row["group"], row["topic"]) for row in rows if row["transaction"] in {"none", "committed"})
    answer = tables.rows(QUESTIONS["commits"], cluster)
    assert {(row.group_id, row.topic): row.commits for row in answer} == kept
    assert len(kept) > 3


def test_question_runs(ask):
    answer = ask("runs")
    assert [(row["run"], row["partition"], row["complete_from"]) for row in answer] == [(1, n, 0) for n in range(3)]
    assert {row["captured_at"].strftime("%M:%S.%f") for row in answer} == {"19:14.385000"}


def test_views_of_a_session_answer_a_question(spark, ask, audits):
    create_views(spark, str(audits.out), CLUSTERS[CAPTURE])
    assert [row.asDict() for row in spark.sql(QUESTIONS["protocols"]).collect()] == ask("protocols")


def test_a_folder_without_tables_and_a_cluster_that_is_not_there_are_refused(spark, audits, tmp_path):
    with pytest.raises(InputError, match="audit_runs"):
        create_views(spark, str(tmp_path), "demo")
    with pytest.raises(InputError, match="has no tables of cluster 'nowhere'"):
        create_views(spark, str(audits.out), "nowhere")


def test_question_generations(ask_of):
    first, *others = ask_of("generations", "group-kinds")
    assert first == ("coop", "follow_up", "cooperative", 4, 9, 113)
    assert ("eager", "member_joined") in {row[:2] for row in others}


def test_question_diagnosis(ask, rows):
    found = ask("diagnosis")
    expected = [row for row in rows("diagnosis") if row["explained_by"] is None]
    assert Counter(row["sentence"] for row in found) == Counter(row["sentence"] for row in expected)
    loop = next(row for row in found if row["group_id"] == "churn")
    assert (loop["pattern"], loop["severity"], loop["count"]) == ("restart_loop", "warning", 7)


def test_question_events(ask, rows):
    answer = [
        {name: value.replace(tzinfo=None) if isinstance(value, datetime) else value for name, value in row.items()}
        for row in ask("events")  # a session's times have no zone
    ]
    assert [row["at"] for row in answer] == sorted(row["at"] for row in answer)
    finished = [row for row in rows("rebalance") if row["outcome"] not in {None, "open", "unknown"} and row["ended_at"]]
    told = [row for row in answer if row["event"] == "rebalance_finished"]
    assert Counter(
        (row["group_id"], row["at"], row["outcome"], row["duration_ms"], row["members"], row["worst_blocker"])
        for row in told
    ) == Counter(
        (
            *(
                row["group_id"],
                row["ended_at"].replace(tzinfo=None),
                row["outcome"],
                row["duration_ms"],
                row["members"],
            ),
            row["blockers"][0]["client_id"] if row["blockers"] else None,
        )
        for row in finished
    )
    expected = Counter()
    for row in rows("diagnosis"):
        expected["trouble_began", row["group_id"], row["pattern"], row["recognized_at"].replace(tzinfo=None)] += 1
        if not row["is_present"]:
            expected["trouble_ended", row["group_id"], row["pattern"], row["ended_at"].replace(tzinfo=None)] += 1
    assert expected
    assert expected == Counter(
        (row["event"], row["group_id"], row["pattern"], row["at"]) for row in answer if row["pattern"]
    )


def test_question_new_events(ask):
    """At the first run, all of the history is new."""
    assert ask("new_events") == ask("events")


def test_a_rebalance_is_new_that_ended_where_the_run_before_had_not_read(tmp_path):
    """By offsets, as the clock of the machine that read may differ."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    runs = [{"run": 1, "captured_at": at, "counted_until": {0: 8}}, {"run": 2, "captured_at": at + timedelta(hours=1)}]
    group = {"group_id": "g", "group_type": "consumer"}
    ended = [
        group | {"outcome": "converged", "began_offset": offset, "began_at": at, "ended_offset": offset, "ended_at": at}
        for offset in (7, 8, 9)
    ]
    nothing = dict.fromkeys(("diagnosis", "partition_history", *made_tables.OF_KINDS, "membership"), ())
    tables = nothing | {"audit_runs": runs, "rebalance": ended, "group_state_timeline": [group]}
    made_tables.write(tmp_path, "c", **tables)
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["new_events"], "c")
    assert len([row for row in found if row.event == "rebalance_finished"]) == 2


def test_question_lost_time(ask, rows):
    lost, parts = Counter(), Counter()
    for row in rows("rebalance"):
        lost[row["group_id"]] += row["unowned_ms"] or 0
    for row in rows("diagnosis"):
        lost[row["group_id"]] += row["away_ms"] or 0
    answer = ask("lost_time")
    for row in answer:
        lost[row["group_id"]] -= 1000 * row["partition_seconds"]
        parts[row["group_id"]] += 1
    assert parts
    assert all(0 <= ms <= 999 * parts[group] for group, ms in lost.items())
    assert [row["partition_seconds"] for row in answer] == sorted(
        (row["partition_seconds"] for row in answer), reverse=True
    )


def test_question_stopped_tasks(ask_of):
    found = ask_of("stopped_tasks", "connect")
    assert [row[1:4] for row in found] == [
        *(("sink1", task, "worker_left") for task in (-1, 0, 1)),
        *(("src2", task, "worker_left") for task in (-1, 0)),
    ]
    # By Connect's own delay of 8 s.
    assert {round((row[5] - row[4]).total_seconds(), 1) for row in found} == {8.0}
    assert {row[6] for row in found} == {"http://127.0.0.1:19603/"}


def test_tasks_that_stand_still_for_longest_come_first(tmp_path):
    released = {"later": 30, "unknown": None, "first": 10}
    rows = [
        {
            "group_id": "g",
            "subtopology_id": name,
            "task": 0,
            "status": "open",
            "released_at": None if at is None else datetime(2026, 1, 1, 0, at, tzinfo=UTC),
        }
        for name, at in released.items()
    ]
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], task_handover=rows, connect_assignment=[], membership=[])
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["stopped_tasks"], "c")
    assert [row.connector_or_subtopology for row in found] == ["unknown", "first", "later"]


def test_question_workers(ask_of):
    assert ask_of("workers", "connect") == [
        ("connect-cluster", "http://127.0.0.1:19602/", True, name, [-1, 0]) for name in ("src1", "src3")
    ]


@pytest.mark.parametrize("running", [[], None])
def test_a_worker_that_runs_nothing_is_shown(tmp_path, running):
    worker = {"group_id": "c", "generation": 2}
    made_tables.write(
        tmp_path,
        "made",
        audit_runs=[{"run": 1}],
        group_state=[worker | {"leader": "a"}],
        membership=[],
        connect_assignment=[
            worker | {"member_id": "a", "worker_url": "http://a/", "running": [{"connector": "s", "tasks": [0]}]},
            worker | {"member_id": "b", "worker_url": "http://b/", "running": running},
            {"group_id": "c", "generation": 1, "member_id": "old", "worker_url": "http://old/"},
        ],
    )
    answer = DuckTables(str(tmp_path)).arrow(QUESTIONS["workers"], "made").to_pylist()
    assert [tuple(row.values()) for row in answer] == [
        ("c", "http://a/", True, "s", [0]),
        ("c", "http://b/", False, None, None),
    ]


def test_question_owners(ask_of):
    rows = [(row[0], row[4], row[5], row[1], *row[6:12]) for row in ask_of("owners", "group-kinds")]
    found = {tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in rows}
    thread = "StreamThread-1-consumer"
    assert {row for row in found if row[0] == "st"} == {
        ("st", "0", "active", f"st-A-{thread}", (0, 1), (0, 1), (), 2, 2, 0),
        ("st", "0", "standby", f"st-A-{thread}", (2, 3), (2, 3), (), 2, 2, 0),
        ("st", "0", "active", f"st-C-{thread}", (2, 3), (2, 3), (), 2, 2, 0),
        ("st", "0", "standby", f"st-C-{thread}", (0, 1), (0, 1), (), 2, 2, 0),
    }
    assert {row for row in found if row[0] == "static"} == {
        ("static", "ss", None, "static-0", (0, 1), None, (), 2, None, 0),
        ("static", "ss", None, "static-1", (2,), None, (), 1, None, 0),
    }
    (revoking,) = (row for row in ask_of("owners", "streams-not-ready") if row[0] == "ns-gone")
    assert revoking[6:13] == ([0, 1, 2], [0, 1, 2], [0, 1, 2], 3, 3, 3, "revoking")


def test_question_streams_tasks(ask_of):
    found = ask_of("streams_tasks", "group-kinds")
    assert len(found) == 4
    assert found == sorted(found, key=lambda row: -row[5])
    assert {row[7] for row in found} == {True}


def test_question_shared_partitions(ask_of):
    found = ask_of("shared_partitions", "group-kinds")
    assert [row[1:] for row in found if row[0] == "share2"] == [("ss", number, 1) for number in range(3)]
    assert len([row for row in found if row[0] == "share1"]) == 12


def test_a_shared_partition_that_no_member_has_is_counted(tmp_path):
    topic = {"group_id": "g", "topic_id": "T", "topic": "orders", "state": "initialized", "partitions": [0, 1]}
    unread = topic | {"topic_id": "U", "topic": "unread"}
    stay = {"group_id": "g", "group_type": "share", "topics": ["orders"]}
    owned = {"group_id": "g", "group_type": "share", "topic_id": "T", "topic": "orders"}
    made_tables.write(
        tmp_path,
        "c",
        audit_runs=[{"run": 1, "dialect": "kafka", "version": __version__}],
        share_partition_state=[topic, unread],
        membership=[
            *(stay | {"member_id": member} for member in ("a", "b")),
            stay | {"member_id": "gone", "topics": ["unread"], "left_offset": 5},
        ],
        ownership=[owned | {"member_id": member, "partition": 1} for member in ("a", "b")],
    )
    answer = DuckTables(str(tmp_path)).arrow(QUESTIONS["shared_partitions"], "c").to_pylist()
    assert [tuple(row.values()) for row in answer] == [("g", "orders", 0, 0), ("g", "orders", 1, 2)]


def test_question_migrations(ask_of):
    up, down = ask_of("migrations", "group-kinds")
    assert [row[:2] for row in (up, down)] == [("mig", "upgrade"), ("mig", "downgrade")]
    assert up[2] < up[5] <= down[2]


def test_question_before_and_after(ask_of):
    found = [row for row in ask_of("before_and_after", "group-kinds") if row[0] == "mig"]
    assert [(row[1], row[4], row[6]) for row in found] == [("classic", 1, 3), ("consumer", 6, 12), ("classic", 1, 4)]


PARTITION = {"offsets_partition": 0, "topic": "t", "owner": "member", "released_offset": None, "history": "observed"}


def test_question_not_consumed(tmp_path):
    """One that another group has read, and one whose offset a transaction keeps; the longest silence first."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    minutes = {each: at + timedelta(minutes=each) for each in (10, 50, 60)}
    still = {"acquired_at": at, "advances": 9, "last_offset": 5, "rebalance_timeout_ms": 300_000, "commits": 9}
    rows = [
        PARTITION
        | still
        | {"group_id": "g", "partition": 1, "last_advance_at": minutes[10], "member_id": "m"}
        | {"behind_since": minutes[10], "ahead_by": 7, "ahead_group": "h"},
        PARTITION | still | {"group_id": "g", "partition": 2, "last_advance_at": minutes[50], "member_id": "n"},
        PARTITION | still | {"group_id": "g", "partition": 3, "last_advance_at": minutes[60], "member_id": "n"},
    ]
    pending = [{"group_id": "g", "topic": "t", "partition": 2, "offset": 8}]
    opened = {"producer_id": 7, "keys": pending, "status": "open", "first_at": minutes[50]}
    run = {"run": 1, "captured_at": minutes[60], "offset_commits": True}
    made_tables.write(tmp_path, "c", audit_runs=[run], commit_progress=rows, open_transaction=[opened])
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["not_consumed"], "c")
    names = ("partition", "owner", "state", "evidence", "silent_ms", "ahead_by", "ahead_group", "producer_id")
    assert [tuple(getattr(row, name) for name in names) for row in found] == [
        (1, "m", "suspected", "messages_waiting", 3_000_000, 7, "h", None),
        (2, "n", "blocked_by_transaction", None, 600_000, None, None, 7),
    ]


SUBSCRIPTIONS = {
    "by name": {"topics": ["read"]},
    "both": {"topics": ["read", "left"]},
    "by an expression": {"topics": [], "regex": "r.*"},
    "not resolved": {"topics": [], "regex": "l.*"},
    "not known": {},
    "has it": {"topics": ["read"], "member_id": "owner"},
    "streams": {"group_type": "streams"},
    "left": {"topics": ["read"], "left_offset": 9},
}
"""Members of groups that have committed offsets of the topics `read` and `left`."""


def test_question_not_subscribed(tmp_path):
    """Where all subscriptions are known, and in a group that has members."""
    run = {"run": 1, "captured_at": datetime(2026, 1, 1, tzinfo=UTC), "offset_commits": True}
    keys = [
        {
            "group_id": group,
            "key_type": 1,
            "offset": 10 * number + nth,
            "transaction": "none",
            "key": json.dumps({"group": group, "topic": topic, "partition": nth}, separators=(",", ":")),
            "value": json.dumps({"offset": 7}, separators=(",", ":")),
        }
        for number, group in enumerate(SUBSCRIPTIONS)
        for nth, topic in enumerate(("read", "left"))
    ]
    topology = '{"epoch":0,"subtopologies":[{"sourceTopics":["read"],"sourceTopicRegex":[]}]}'
    members = [{"group_id": group, "group_type": "classic"} | columns for group, columns in SUBSCRIPTIONS.items()]
    made_tables.write(
        tmp_path,
        "c",
        audit_runs=[run],
        latest_state=[*keys, {"group_id": "streams", "key_type": 23, "offset": 99, "value": topology}],
        membership=members,
        group_state=[{"group_id": group, "members": 1} for group in SUBSCRIPTIONS],
        regex_resolution=[{"group_id": "by an expression", "regex": "r.*", "topics": ["read"], "offset": 98}],
        commit_progress=[PARTITION | {"group_id": "has it", "topic": "left", "member_id": "owner", "partition": 1}],
    )
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["not_subscribed"], "c")
    assert [(row.group_id, row.topic, row.partition, row.committed) for row in found] == [
        (group, "left", 1, 7) for group in ("by an expression", "by name", "streams")
    ]


def test_question_compaction(tmp_path):
    """The partition that the cleaner does not come to is first."""
    usual = {"copy": "log", "cleaned_until": 9, "bytes": 10, "dirty_files": 2, "dirty_records": 1, "dirty_bytes": 9}
    left = {"partition": 2, "bytes": 51, "dirty_files": 8, "dirty_bytes": 50, "dirty_ms": 5}
    rows = [usual | {"partition": number, "dirty_ms": 1} for number in (0, 1)]
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], partition_content=[*rows, usual | left])
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["compaction"], "c")
    assert [(row.partition, row.state) for row in found] == [(2, "not_cleaned"), (0, "cleaned"), (1, "cleaned")]


def test_question_who_commits(tmp_path):
    """Those with most commits first; a rate is of a minute at least."""
    commits = {"copy": "log", "key_type": 1, "topic": "t", "dirty_records": 120, "dirty_ms": 60_000, "live_keys": 1}
    rows = [
        commits | {"group_id": "few", "records": 200},
        commits | {"group_id": "many", "records": 300, "dirty_ms": 1},
        commits | {"group_id": "no commit", "records": 900, "key_type": 2, "topic": None},
    ]
    run = {"run": 1, "topic_content": True}
    made_tables.write(tmp_path, "c", audit_runs=[run], topic_content=rows, group_state=[{"group_id": "few"}])
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["who_commits"], "c")
    assert [(row.group_id, row.per_second, row.status) for row in found] == [
        ("many", None, "simple"),
        ("few", 2, "has_group"),
    ]


def test_question_jumps(tmp_path):
    """The newest first."""
    jumps = [
        {
            "group_id": "g",
            "topic": "t",
            "offset": each,
            "kind": "back",
            "jumped_at": datetime(2026, 1, each, tzinfo=UTC),
        }
        for each in (1, 2)
    ]
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], commit_jump=jumps)
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["jumps"], "c")
    assert [(row.group_id, row.kind, row.offset) for row in found] == [("g", "back", 2), ("g", "back", 1)]


def test_question_open_transactions(tmp_path):
    """The oldest first; what is not known of a live topic's partition is null."""
    opened = {
        "producer_id": 7,
        "group_ids": ["a", "b"],
        "keys": [{"group_id": "a"}] * 3,
        "status": "open",
        "records": 5,
    }
    rows = [opened | {"age_ms": age, "first_offset": age, "blocks_from": 1, "records_behind": 9} for age in (100, 2000)]
    read = {"partition": 4, "until_offset": 8, "is_read_to_end": False}
    run = {"run": 1, "captured_at": datetime(2026, 1, 1, tzinfo=UTC), "offset_commits": True, "partitions": [read]}
    made_tables.write(tmp_path, "c", audit_runs=[run], open_transaction=rows)
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["open_transactions"], "c")
    assert [(row.status, row.group_ids, row.waiting, row.first_offset, row.age_ms) for row in found] == [
        *(("open", "a, b", 3, age, age) for age in (2000, 100)),
        ("unnamed", None, None, 8, 0),
    ]


def test_question_simple_groups(tmp_path):
    """Beside groups with records; a group of an open transaction has no committed offset yet."""
    run = {"run": 1, "captured_at": datetime(2026, 1, 1, tzinfo=UTC), "offset_commits": True}
    simple = [{"group_id": name, "group_type": "simple", "state": "Empty"} for name in "ab"]
    commits = [
        {"group_id": name, "key_type": 1, "offset": n, "timestamp": n, "value": f'{{"offset":{committed}}}'}
        for n, (name, committed) in enumerate([("a", 0), ("a", 1), ("c", 2), ("a", -1)])
    ]
    states = [*simple, {"group_id": "c", "group_type": "consumer", "state": "Stable"}]
    made_tables.write(tmp_path, "c", audit_runs=[run], group_state=states, latest_state=commits)
    found = DuckTables(str(tmp_path)).rows(QUESTIONS["simple_groups"], "c")
    assert [(row.group_id, row.committed) for row in found] == [("a", 2), ("b", None)]


def test_question_ready_to_move(ask_of):
    found = {row[0]: (row[3], row[7]) for row in ask_of("ready_to_move", "group-kinds")}
    assert found == dict.fromkeys(("coop", "eager", "mig", "static"), ("online", 3))
    found = {row[0]: (row[1], row[3]) for row in ask_of("ready_to_move", "connect")}
    assert found["connect-cluster"] == ("connect", "not_a_consumer")
    assert found["connect-sink1"][1] == "replaced"


def test_question_migration_reasons(ask_of):
    found = {row[0]: row[1:] for row in ask_of("migration_reasons", "connect")}
    assert found["connect-cluster"] == ("protocol_type", None, None, None, "connect", 1)


def test_question_still_classic(ask_of):
    groups = [group for row in ask_of("still_classic", "group-kinds") for group in row[4]]
    assert sorted(set(groups)) == ["coop", "eager", "mig", "static"]
