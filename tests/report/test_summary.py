"""The summary of made-up tables: thirty lines, the worst first, whatever the size of the cluster."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

from kip848_records.log.runs import PartitionRead
from kip848_records.queries.duck import DuckTables
from kip848_records.report.summary import _notes, summary
from kip848_records.tables.registry import TABLES
from tests import made_tables

CAPTURED = datetime(2026, 1, 1, 12, tzinfo=UTC)
_TABLES = ("group_state", "rebalance", "rebalance_lag", "member_state_timeline", "membership", "quarantine")


def ago(seconds):
    return CAPTURED - timedelta(seconds=seconds)


def group(name, state="Stable", seconds=60, members=2, converged=2, **columns):
    row = {"group_id": name, "group_type": "consumer", "state": state, "since": ago(seconds), "members": members}
    return row | {"converged_members": converged, "history": "right_censored"} | columns


def stuck(name, seconds, host="/10.0.0.1", late_ms=60_000):
    """Rows of a group that a member which revokes holds up."""
    keys = {"group_id": name, "group_type": "consumer"}
    blocker = {"member_id": f"{name}-m", "client_id": "stuck-app", "client_host": host, "instance_id": None}
    numbers = {"late_ms": late_ms, "blocked_ms": late_ms, "held_up": 23, "revoke_ms": late_ms, "away_ms": 0}
    numbers |= {"late_now": True, "waiting_now": 1}
    return {
        "group_state": group(name, "Reconciling", seconds, converged=0),
        "rebalance": keys
        | {
            "began_offset": 1,
            "outcome": "open",
            "duration_ms": seconds * 1000,
            "epochs": 1,
            "causes": ["member_joined"],
        }
        | {"blockers": [blocker | numbers | {"last_state": "revoking"}], "blockers_count": 1},
        "member_state_timeline": keys | {"member_id": f"{name}-m", "state": "revoking", "from_offset": 1},
        "membership": keys | {"member_id": f"{name}-m", "joined_offset": 1, "rebalance_timeout_ms": 300_000},
    }


def failing(name, pattern="restart_loop", severity="warning", **columns):
    """A group that works at capture, and what is wrong with it over time."""
    row = {"group_id": name, "pattern": pattern, "severity": severity, "is_present": True, "count": 84}
    nobody = dict.fromkeys(field.name for field in TABLES["diagnosis"].schema.field("subject").type)
    row |= {
        "subject": nobody | {"client_id": f"{name}-app", "client_host": "/10.0.0.1"},
        "first_seen": ago(7200),
        "incarnation": 0,
    }
    row |= {"partition": 0, "incarnation": 0}
    times = {"last_seen": ago(10), "recognized_at": ago(7000), "sentence": "It does not stay.", "next_step": "Look."}
    return {"group_state": group(name), "diagnosis": row | times | columns}


@pytest.fixture
def printed(tmp_path):
    """Write tables and print their summary: its lines."""

    def run(*rows, reads=(), run_number=1, earlier=(), timeline=(), out=tmp_path, lost=(), **audit):  # noqa: PLR0913
        tables = {name: [row[name] for row in rows if name in row] for name in (*_TABLES, "diagnosis")}
        runs = [{"run": 1 + n, "captured_at": at} for n, at in enumerate(earlier)]
        runs.append({"run": run_number, "captured_at": CAPTURED})
        history = [{"partition": 0, "first_offset": 0, "complete_from": 0}, {"first_offset": 0, "complete_from": 5}]
        history[1]["partition"] = 1
        for each, (first, last) in zip(history, lost, strict=False):
            each.update(is_base=True, first_lost_offset=first, last_lost_offset=last)
        tables |= dict.fromkeys(made_tables.OF_KINDS, ())
        made_tables.write(
            tmp_path, "c", **tables, audit_runs=runs, group_state_timeline=list(timeline), partition_history=history
        )
        counts = {"records": {3: 32_700_000}, "quarantined": 0, "captured_at": CAPTURED, "reads": reads}
        counts |= {"resumed": False, "skipped": 0, "dialect": "kafka"}
        options = SimpleNamespace(cluster="c", out=str(out), dialect="kafka", limits=(), offset_commits=False)
        said = SimpleNamespace(options=options, run=run_number, **counts | audit)
        console = Console(width=1000, highlight=False, color_system=None)
        with console.capture() as captured:
            for part in summary(DuckTables(str(tmp_path)), said):
                console.print(part)
        return [line.rstrip() for line in captured.get().splitlines()]

    return run


def test_five_thousand_groups_fit_thirty_lines_of_eighty_columns(printed):
    rows = [{"group_state": group(f"group-{n:05}")} for n in range(4_700)]
    rows += [stuck(f"stuck-{n:05}", 600 + n, f"/10.0.1.{n % 50}") for n in range(300)]
    # Two members of the oldest group wait, one of them for the blocker; held_up counts also members that left.
    waits = {"group_id": "stuck-00299", "group_type": "consumer", "state": "waiting", "from_offset": 2}
    rows += [{"member_state_timeline": waits | {"member_id": name}} for name in "ab"]
    finished = {"group_type": "consumer", "outcome": "converged", "history": "observed", "members_before": 2}
    rows += [
        {"rebalance": finished | {"group_id": f"group-{n:05}", "began_offset": 1, "duration_ms": n, "epochs": 2}}
        for n in range(100)
    ]
    reads = [PartitionRead(2, n, from_offset=0, until_offset=0, note="compaction removed records") for n in range(50)]
    lines = printed(*rows, reads=reads, earlier=[ago(9_000)], run_number=2, out="/data/audits of prod")
    assert len(lines) <= 30, "\n".join(lines)
    assert max(map(len, lines)) <= 80, "\n".join(lines)
    assert lines[:2] == [
        "CRITICAL  300 of 5,000 groups stuck, 299 for too long",
        "c, captured 2026-01-01 12:00:00 UTC",
    ]
    assert "50 partitions: compaction removed records" in lines
    assert re.fullmatch(r"Blocking clients \(3 of 50\) +groups +members waiting +oldest", lines[5])
    top = next(n for n, line in enumerate(lines) if line.startswith("Stuck groups (9 of 300)"))
    assert re.fullmatch(r"  stuck-00299 +≥ 14 min 59 s +0/2 +2 +stuck-app @ 10.0.1.49", lines[top + 1])
    assert re.fullmatch(r"  stuck-app @ 10.0.1.49 +6 +2 +≥ 14 min 59 s", lines[6])
    assert "Next   kip848 explain '/data/audits of prod' --group stuck-00299" in lines


def test_the_headline_counts_what_is_no_trouble_apart(printed):
    away = group("away", "Reconciling", waits_for_away_only=True)
    lines = printed({"group_state": group("fine")}, {"group_state": away}, {"group_state": group("?", "unknown")})
    assert lines[0].startswith("WARNING  0 of 3 groups stuck   c, captured 2026")
    assert lines[1] == "1 healthy · 1 waiting for absent static members · 1 insufficient data"
    assert "Data   32.7 M records · 0 undecodable · 1 of 2 partitions incomplete" in lines


def test_empty_groups_are_not_healthy(printed):
    rows = [{"group_state": group(name, "Empty", members=0, converged=0)} for name in "ab"]
    simple = {"group_state": group("only", "Empty", members=0, converged=None, group_type="simple")}
    lines = printed({"group_state": group("fine")}, *rows, simple)
    assert lines[0].startswith("OK  0 of 4 groups stuck")
    assert lines[1] == "1 healthy · 3 empty"


@pytest.mark.parametrize(
    ("reasons", "line"),
    [
        ([None, "malformed_subscription"], "1 of 2 classic groups cannot be upgraded: malformed subscription"),
        (
            ["protocol_type", "no_protocol", "streams_application, assignor_user_data", "streams_application", None],
            "3 of 4 classic groups cannot be upgraded: mostly streams application",
        ),
        ([None, "protocol_type"], None),
    ],
)
def test_classic_groups_that_cannot_be_upgraded_are_counted(printed, reasons, line):
    rows = [
        {"group_state": group(f"g{n}", group_type="classic", upgradable=each is None, upgradable_reason=each)}
        for n, each in enumerate(reasons)
    ]
    lines = printed(*rows, {"group_state": group("c")})
    assert [each for each in lines if "upgraded" in each] == ([line] if line else [])


def test_an_open_rebalance_of_an_unknown_group_is_not_stuck(printed):
    share = {"group_id": "s", "group_type": "share"}
    opened = share | {"began_offset": 1, "outcome": "open", "began_at": ago(720), "epochs": 1}
    lines = printed({"group_state": group("s", "unknown", group_type="share"), "rebalance": opened})
    assert lines[1] == "0 healthy · 1 insufficient data"
    assert not any(line.startswith("Stuck groups") for line in lines)


def test_all_is_well(printed):
    lines = printed({"group_state": group("fine")})
    assert lines[0].startswith("OK  0 of 1 group stuck   c, captured")
    assert lines[1] == "1 healthy"


def test_without_a_group_nothing_is_ok(printed):
    assert printed(records={})[:2] == ["NOTHING TO JUDGE  no groups   c, captured 2026-01-01 12:00:00 UTC", ""]


def test_where_no_record_decodes_there_is_more_than_nothing_to_judge(printed):
    assert printed(quarantined=3)[0].startswith("WARNING  no groups")


@pytest.mark.parametrize(
    ("others", "headline"),
    [
        ([], "WARNING  1 of 1 group stuck, all for an unknown time"),
        ([stuck("new", 60)], "WARNING  2 of 2 groups stuck, 1 for an unknown time"),
        ([stuck("old", 700)], "CRITICAL  2 of 2 groups stuck, 1 for too long, 1 for an unknown time"),
    ],
    ids=["alone", "new", "old"],
)
def test_a_group_that_is_stuck_for_an_unknown_time_may_be_so_for_too_long(printed, others, headline):
    undated = stuck("undated", 60)
    undated["group_state"]["since"] = None
    undated["rebalance"]["began_at"] = None
    lines = printed(undated, *others)
    assert lines[0] == headline or lines[0].startswith(f"{headline}   ")
    assert any(line.split()[:2] == ["undated", "unknown"] for line in lines)


@pytest.mark.parametrize(
    ("seconds", "headline"), [(600, "2 of 2 groups stuck, none"), (600.001, "2 of 2 groups stuck, all")]
)
def test_a_group_is_stuck_for_too_long_beyond_the_limit(printed, seconds, headline):
    assert f"{headline} for too long" in printed(stuck("a", seconds), stuck("b", seconds))[0]


@pytest.mark.parametrize("commits", [{0: 1}, {0: 2, 1: 4_586}, {}])
def test_offset_commits_that_were_not_looked_at_are_counted(printed, commits):
    count = sum(commits.values())
    said = [
        line for line in printed({"group_state": group("g")}, records={3: 9, **commits}) if "--offset-commits" in line
    ]
    noun = "offset commit" if count == 1 else "offset commits"
    assert said == bool(count) * [f"       {count:,} {noun} not looked at (--offset-commits)"]


def test_long_ids_are_whole(printed):
    name = "g" * 200
    assert any(name in line.split() for line in printed(stuck(name, 60)))


def was(name, state, **columns):
    row = {"group_id": name, "group_type": "consumer", "state": state, "from_at": ago(9_000), "from_offset": 1}
    return row | columns


def test_what_changed_since_the_last_run(printed):
    timeline = [
        was("new", "Stable", to_at=ago(700)),
        was("old", "Reconciling"),
        was("late", "Assigning", to_at=ago(700)),
        was("well", "Reconciling", to_at=ago(700)),
        was("hidden", "unknown"),
        was("born", "Empty", from_at=ago(1_200), to_at=ago(700), history="observed"),
        was("compacted", "Empty", from_at=ago(1_200), to_at=ago(700), history="left_censored"),
    ]
    # One that is stuck for less than the limit of group_stable is no news; one whose time is unknown may be.
    rows = [stuck("brief", 60), *(stuck(name, 700) for name in ("new", "old", "late", "hidden", "born", "compacted"))]
    shared = {"group_id": "share", "group_type": "share"}
    rows += [
        {"group_state": group("well")},
        {
            "group_state": group("share", group_type="share"),
            "rebalance": shared | {"began_offset": 1, "outcome": "open", "began_at": None, "epochs": 1},
        },
    ]
    reads = [PartitionRead(2, 0, from_offset=0, until_offset=0, note=None)]
    lines = printed(*rows, reads=reads, earlier=[ago(3_600)], run_number=2, timeline=timeline)
    assert (
        "Since the last run, default limits: 2 newly overdue, 1 recovered, 2 unknown, 1 stuck for an unknown time"
        in lines
    )


READS = [PartitionRead(2, 0, from_offset=0, until_offset=0, note=None)]


@pytest.mark.parametrize("reads", [READS, ()], ids=["topic", "copy"])
def test_a_group_that_was_stuck_for_a_moment_and_is_not_now_is_told(printed, reads):
    timeline = [was("g", "Reconciling", from_at=ago(3_700), to_at=ago(3_000)), was("g", "Stable", from_at=ago(3_000))]
    found = printed({"group_state": group("g")}, reads=reads, earlier=[ago(3_600)], run_number=2, timeline=timeline)
    assert "Since the last run, default limits: 1 no longer stuck" in found


def trouble(name, minutes, until=None):
    """A trouble over time that was recognized at once, and ended so many minutes before the capture."""
    ends = {"is_present": until is None, "ended_at": None if until is None else ago(60 * until)}
    row = {"group_id": name, "partition": 0, "pattern": "restart_loop", "severity": "warning", "sentence": "s"}
    times = {name: ago(60 * minutes) for name in ("first_seen", "last_seen", "recognized_at")}
    return {"group_state": group(name), "diagnosis": row | times | ends}


@pytest.mark.parametrize("reads", [READS, ()], ids=["topic", "copy"])
def test_which_troubles_began_or_ended_since_the_last_run(printed, reads):
    """It was an hour ago."""
    began = [trouble(name, 20) for name in ("a", "b")]
    rows = [*began, trouble("c", 100), trouble("d", 100, 30), trouble("e", 40, 30), trouble("f", 100, 70)]
    found = printed(*rows, reads=reads, earlier=[ago(3_600)], run_number=2)
    start = found.index("Since the last run, default limits: no group became overdue or recovered")
    assert found[start + 1] == "Troubles over time since then: 2 began, 1 ended, 1 came and went"


@pytest.mark.parametrize(("reads", "is_said"), [(READS, True), ((), False)], ids=["topic", "copy"])
def test_a_copy_that_is_audited_again_has_no_line_about_changes(printed, reads, is_said):
    found = printed(trouble("old", 100), reads=reads, earlier=[ago(3_600)], run_number=2)
    assert [line for line in found if "Since the last run" in line] == is_said * [
        "Since the last run, default limits: no group became overdue or recovered"
    ]
    assert not any("since then" in line for line in found)


def lines(parts):
    return [str(part) for part in parts]


@pytest.mark.parametrize("resumed", [True, False])
def test_a_run_that_finished_an_interrupted_one_says_so(resumed):
    said = lines(_notes(SimpleNamespace(reads=(), skipped=0, resumed=resumed)))
    assert said == resumed * [
        "The previous run was interrupted: this run finished its work, and all tables are complete again"
    ]


def test_where_history_cannot_be_proven_the_partitions_and_the_reason_are_named():
    def read(partition, first=5, until=9, **known):
        return PartitionRead(2, partition, from_offset=first, until_offset=until, **known)

    reads = [
        read(0),
        read(1, is_gapless=False),
        read(2, is_gapless=False, first_repeated_key=7),
        read(3, is_gapless=False, first_repeated_key=5),  # proven from where this run read on
        read(4, is_gapless=False, first_repeated_key=8),
        read(5, first=9, is_gapless=False),  # nothing new
    ]
    audit = SimpleNamespace(reads=reads, skipped=0, resumed=False)
    says = (
        "history is complete only from the first repeated key on; Kafka does not show whether compaction "
        "removed the offsets before it, or transaction markers occupy them"
    )
    assert lines(_notes(audit)) == [f"Partitions 1-2, 4: {says}"]
    audit.reads = reads[:2]
    assert lines(_notes(audit)) == [f"Partition 1: {says}"]
    audit.reads = reads[:1]
    assert lines(_notes(audit)) == []


def test_records_of_another_dialect_are_named_with_the_way_out(printed):
    failed = {"quarantine": {"key_type": 8, "position": 3, "error_code": "value_too_long", "reason": "value: too long"}}
    said = printed({"group_state": group("g")}, failed, quarantined=1)
    assert "1 rows do not decode in the dialect kafka: try --dialect auto" in said
    assert not [line for line in printed({"group_state": group("h")}, quarantined=0) if "dialect" in line]


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (
            [(14, 20)],
            "Partition 0: records at offsets 14 to 20 were lost, not compacted",
        ),
        ([(14, 14)], "Partition 0: records at offset 14 were lost, not compacted"),
        (
            [(14, 20), (3, 9)],
            "Partitions 0-1: records were lost, not compacted (the table partition_history has their offsets)",
        ),
    ],
)
def test_what_was_lost(printed, lost, expected):
    lines = printed({"group_state": group("g")}, lost=lost)
    (line,) = (line for line in lines if line.startswith("Partition"))
    until = "until they are deleted or, for classic groups, complete another generation"
    assert line == f"{expected}; groups there are unknown from then on {until}"


def test_groups_that_fail_over_time_are_no_healthy_ones(printed):
    lines = printed(
        failing("b"),
        failing("a", "duplicate_instance_id", "error", count=1_531, at_least=True),
        failing("job", "job", "info"),
        failing("over", is_present=False, ended_at=ago(60)),
        failing("storm", explained_by="storm"),
        {"group_state": group("well")},
    )
    assert lines[0].startswith("WARNING  0 of 6 groups stuck")
    assert lines[1] == "2 failing over time \u00b7 4 healthy"
    start = next(n for n, line in enumerate(lines) if line.startswith("Failing over time "))
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        ["a", "≥", "2", "h", "1,531", "duplicate", "instance", "id", "a-app", "@", "10.0.0.1"],
        ["b", "2", "h", "84", "restart", "loop", "b-app", "@", "10.0.0.1"],
    ]
    assert any(line.endswith("--group a") for line in lines)


@pytest.mark.parametrize(("others", "shown"), [((), 8), ((stuck("s", 90),), 3)])
def test_stuck_groups_leave_less_room_for_those_that_fail(printed, others, shown):
    lines = printed(*others, *(failing(f"g{n}") for n in range(9)))
    start = next(n for n, line in enumerate(lines) if line.startswith(f"Failing over time ({shown} of 9)"))
    assert [line.split()[0] for line in lines[start + 1 : start + shown + 1]] == [f"g{n}" for n in range(shown)]


def test_a_client_that_blocks_for_long_is_not_cut_for_those_with_more_groups(printed):
    rows = [stuck(f"long-{n}", 90 + n, f"/10.0.0.{n}") for n in range(3)]
    rows += [stuck(f"short-{n}", 2, "/10.0.1.1") for n in range(9)]
    lines = printed(*rows)
    start = next(n for n, line in enumerate(lines) if line.startswith("Blocking clients (3 of 4)"))
    assert [line.split()[2] for line in lines[start + 1 : start + 4]] == ["10.0.0.2", "10.0.0.1", "10.0.0.0"]


@pytest.mark.parametrize(
    ("seconds", "headline"), [(600, "WARNING  1 of 1 group stuck, none"), (601, "CRITICAL  1 of 1 group stuck, all")]
)
def test_a_group_is_critical_only_beyond_the_limit_of_its_state(printed, seconds, headline):
    assert printed(stuck("s", seconds))[0].startswith(headline)


def test_long_names_and_two_causes_keep_eighty_columns_and_are_whole(printed):
    wide, host = "消费者" * 8, "/10.0.0.1"
    finished = {"group_type": "consumer", "outcome": "converged", "history": "observed", "members_before": 2}
    causes = ["topic_metadata_changed", "assignment_configs_changed"]
    slow = finished | {"group_id": f"slow-{wide}", "began_offset": 1, "duration_ms": 9_000, "epochs": 2}
    trouble = failing(f"failing-{wide}", subject=failing("x")["diagnosis"]["subject"] | {"client_id": wide})
    lines = printed(stuck(f"stuck-{wide}", 90, host), trouble, {"rebalance": slow | {"causes": causes}})
    tables = [line for line in lines if "kip848" not in line]  # a command is one line
    assert max(map(cell_len, tables)) <= 80, "\n".join(tables)
    for name in (f"stuck-{wide}", f"failing-{wide}", f"slow-{wide}", f"{wide} @ 10.0.0.1"):
        assert any(name in line for line in lines)
    assert "topics changed, assignment configuration changed" in " ".join(line.strip() for line in lines)


def test_groups_are_counted_once(printed):
    """One that is stuck and fails over time is stuck, and is not listed again."""
    both = failing("both")["diagnosis"]
    lines = printed(stuck("both", 90), {"diagnosis": both}, failing("fails"), {"group_state": group("fine")})
    assert lines[0].startswith("WARNING  1 of 3 groups stuck")
    assert "1 failing over time · 1 healthy" in lines
    start = next(n for n, line in enumerate(lines) if line.startswith("Failing over time  "))
    assert lines[start + 1].split()[0] == "fails"
    assert lines[start + 2] == ""
