"""Troubles of committed offsets that are over: what operators ask about is not only what lasts at the capture."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.report.consumption import groups_set_while_empty
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from tests import reported
from tests.classic_log import Consumer, generation
from tests.cli.offsets_log import START, Row, commit, write
from tests.progress import Watcher

STALL = "partition-stalls-until-the-next-rebalance"


def explained(tables, group):
    """What explain says of a group, its lines as one."""
    return " ".join(" ".join(part.plain for part in explain(GroupHistory(tables, group, "c"))).split())


@pytest.fixture(scope="module")
def stalled(tmp_path_factory):
    return reported.tables_of(reported.audited(STALL, tmp_path_factory.mktemp("stalled")))


def test_a_stall_that_a_rebalance_ended_stays_with_who_what_from_and_to(stalled):
    (row,) = stalled.rows("SELECT * FROM diagnosis", "c")
    assert (row.group_id, row.pattern, row.severity, row.count) == ("frame-reader", "not_consumed", "warning", 1)
    assert (row.is_present, row.ended_at) == (False, row.last_seen)
    assert row.sentence == (
        "kafka-python-3.0.8 @ 10.0.0.152 did not consume frames 1 for 1 h 40 min: the committed offset 5960 did not "
        "move from 2026-11-25 10:36:40 UTC to 2026-11-25 12:16:40 UTC, while frame-archive read 12,040 offsets more. "
        "It began with the rebalance at 2026-11-25 10:36:40 UTC, and ended with the rebalance at 2026-11-25 12:16:40 "
        "UTC."
    )


def test_explain_says_that_it_is_over(stalled):
    said = explained(stalled, "frame-reader")
    assert "Healthy" in said
    assert "not consumed (warning); 2026-11-25 10:36:40 UTC to 2026-11-25 12:16:40 UTC, over since then" in said


def completed(seconds, number, group, topic="t", **units):
    """A generation whose members have partitions of a topic."""
    members = [Consumer(name, {topic: numbers}, topics=(topic,)) for name, numbers in units.items()]
    value = {"currentStateTimestamp": START + 1000 * seconds, **generation(number, members)}
    return Row(seconds, encode_key(RECORDS[2], {"group": group}), encode_message(RECORDS[2].value_layouts(3)[0], value))


def emptied(seconds, number, group):
    value = {"protocolType": "consumer", "generation": number, "protocol": None, "leader": None, "members": []}
    value |= {"currentStateTimestamp": START + 1000 * seconds}
    return Row(seconds, encode_key(RECORDS[2], {"group": group}), encode_message(RECORDS[2].value_layouts(3)[0], value))


def handed_over(group, first, second):
    """A partition goes to and fro between two members. `first`, `second`: what `a` commits when it gets it back."""
    return [
        completed(0, 1, group, a=[0, 1], b=[2]),
        *(commit(at, 10 * at, group=group) for at in (20, 40)),
        completed(50, 2, group, a=[1], b=[0, 2]),
        *(commit(at, 10 * at, group=group) for at in (60, 80)),
        completed(90, 3, group, a=[0, 1], b=[2]),
        commit(100, first, group=group),
        commit(120, 1200, group=group),
        completed(130, 4, group, a=[1], b=[0, 2]),
        *(commit(at, 10 * at, group=group) for at in (140, 160)),
        completed(170, 5, group, a=[0, 1], b=[2]),
        commit(180, second, group=group),
    ]


SET = [
    completed(0, 1, "set", "s", a=[0]),
    commit(10, 100, group="set", topic="s"),
    emptied(20, 2, "set"),
    commit(30, 40, group="set", topic="s"),
    completed(40, 3, "set", "s", a=[0]),
    commit(50, 130, group="set", topic="s"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    # What others commit at a handover is a seek of their application, or no step back.
    groups = [handed_over("stale", 400, 1200), handed_over("seek", 390, 1190), handed_over("well", 900, 1700), SET]
    write(folder / "log", *sorted((row for rows in groups for row in rows), key=lambda row: row.seconds))
    options = AuditOptions((str(folder / "log"),), str(folder / "out"), cluster="c", offset_commits=True)
    run_audit(None, options, Watcher())
    return reported.tables_of(folder / "out")


def test_commits_of_old_positions_at_handovers_are_one_trouble_of_the_member(made):
    (row,) = made.rows("SELECT * FROM diagnosis WHERE pattern = 'stale_commits'", "c")
    assert (row.group_id, row.subject["client_id"], row.count, row.is_present) == ("stale", "a", 2, True)
    assert row.sentence == (
        "a @ 10.0.0.1 commits old positions when it gets partitions back: 2 times in 2 handovers of t 0, from "
        "2026-11-27 11:48:20 UTC to 2026-11-27 11:49:40 UTC, its first commit there was the last one of its own stay "
        "before, below what others had committed between (the last time 1200 in place of 1600). At least the offsets "
        "between are read again each time, up to 400 offsets."
    )


def test_an_offset_that_was_set_back_without_members_is_at_the_top(made):
    said = explained(made, "set")
    told = (
        "For information: at 2026-11-27 11:47:10 UTC, while the group had no members, a tool or a client without a "
        "member id set the committed offset of s 0 back, from 100 to 40. Who began there reads at most 60 offsets "
        "again."
    )
    assert 0 < said.index(told) < said.index("Rebalances")


def test_the_summary_says_it_too(made):
    (said,) = (" ".join(part.plain.split()) for part in groups_set_while_empty(made, "c"))
    assert said == (
        "For information: offsets of set (s) were set back by up to 60 while it had no members, the last at "
        "2026-11-27 11:47:10 UTC"
    )


def test_it_is_no_trouble(made):
    assert made.rows("SELECT * FROM diagnosis WHERE group_id = 'set' AND severity <> 'info'", "c") == []
