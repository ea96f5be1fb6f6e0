"""A committed offset below 0 is none: of a client that committed -1 for a while, and went on where it was."""

from datetime import UTC, datetime

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.texts import completed
from tests import reported
from tests.cli.offsets_log import START, commit, write
from tests.progress import Watcher

BEGAN, ENDED = datetime(2026, 11, 25, 10, 6, 50, tzinfo=UTC), datetime(2026, 11, 25, 10, 7, 20, tzinfo=UTC)
MEMBER = "ruby-kafka-fb3167a9-6cbd-4d3d-af42-294b087e6065"


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    return reported.audited("commits-of-minus-one", tmp_path_factory.mktemp("negative"))


@pytest.fixture(scope="module")
def tables(audited):
    return reported.tables_of(audited)


def test_it_is_no_jump(tables):
    assert tables.rows("SELECT * FROM commit_jump", "c") == []


def test_the_stay_says_what_it_replaced_and_until_when(tables):
    rows = {row.partition: row for row in tables.rows("SELECT * FROM commit_progress", "c")}
    assert {number: row.negative_commits for number, row in rows.items()} == {0: 0, 1: 3, 2: 0, 3: 3}
    assert {row.negative_offset for row in rows.values()} == {None, -1}
    assert {number: row.before_negative for number, row in rows.items() if row.negative_commits} == {
        1: 27_194_000,
        3: 27_196_000,
    }
    assert {(row.negative_from, row.negative_until) for row in rows.values() if row.negative_commits} == {
        (BEGAN, ENDED)
    }
    assert {row.member_id for row in rows.values()} == {MEMBER}


def test_it_counts_in_no_other_column(tables):
    """Each of the four partitions had 360 commits, and moved by 25 offsets each 10 s."""
    rows = {row.partition: row for row in tables.rows("SELECT * FROM commit_progress", "c")}
    assert {number: row.commits for number, row in rows.items()} == {0: 360, 1: 357, 2: 360, 3: 357}
    assert {row.backs for row in rows.values()} == {0}
    assert {row.min_offset for row in rows.values()} == {27_190_025, 27_191_025, 27_192_025, 27_193_025}
    assert {(row.member_rhythm_ms, row.last_offset - row.first_offset) for row in rows.values()} == {(10_000, 8_975)}


def test_it_is_told_with_who_what_and_when(tables):
    (row,) = tables.rows("SELECT * FROM diagnosis", "c")
    assert (row.pattern, row.severity, row.count, row.is_present) == ("negative_offsets", "warning", 2, False)
    assert (row.first_seen, row.ended_at) == (BEGAN, ENDED)
    assert row.sentence == (
        "ruby-kafka @ 10.0.0.41 committed -1 for maxwell 1, 3, in place of 27194000, 27196000, from "
        "2026-11-25 10:06:50 UTC to 2026-11-25 10:07:20 UTC. Clients take a negative offset for none: who had begun "
        "then would have done so where auto.offset.reset says."
    )


def test_explain_claims_no_amount(audited, capsys):
    said = reported.printed(capsys, "explain", audited, "--group", "maxwell-loader")
    assert "committed -1 for maxwell 1, 3" in said
    assert "read again" not in said
    assert "Jumps of committed offsets" not in said
    assert "maxwell 0-3 27199000 to 27202000 0 s goes on" in said


def test_a_file_of_offsets_has_no_negative_one(audited, capsys):
    command = ["offsets", audited, "--group", "maxwell-loader", "--quiet", "--at"]
    said = reported.printed(capsys, *command, "2026-11-25T10:07:00Z")
    assert said.startswith("maxwell,0,27193050 maxwell,2,27195050 note: 2 offsets of group maxwell-loader")
    assert (
        "left out: maxwell-loader maxwell 1, 3: -1 was committed at 2026-11-25 10:07:00 UTC, and a negative offset is "
        "none; pass an earlier time with --at"
    ) in said
    assert "maxwell,1,27194000" in reported.printed(capsys, *command, "2026-11-25T10:06:49Z")


@pytest.fixture(scope="module")
def without_members(tmp_path_factory):
    """The tables of two groups without members: one has -1 in place of an offset, the other never had an offset."""
    folder = tmp_path_factory.mktemp("without-members")
    never = [commit(at, -1, group="never") for at in (1, 9)]
    write(folder / "log", commit(1, 5, group="now"), commit(9, -1, group="now"), *never)
    options = AuditOptions((str(folder / "log"),), str(folder / "out"), cluster="c", offset_commits=True)
    run_audit(None, options, Watcher())
    return reported.tables_of(folder / "out")


def test_what_stands_at_the_end_is_present(without_members):
    """No member is there, so a tool may have done it: the next one begins where auto.offset.reset says."""
    (row,) = without_members.rows("SELECT * FROM diagnosis WHERE group_id = 'now'", "c")
    assert (row.severity, row.is_present, row.count) == ("warning", True, 1)
    assert row.sentence == (
        "A tool, or a client without a member id, committed -1 for t 0, in place of 5, since 2026-11-27 11:46:49 UTC. "
        "Clients take a negative offset for none: who begins now does so where auto.offset.reset says."
    )


def test_a_partition_that_never_had_an_offset_is_no_alarm(without_members):
    (row,) = without_members.rows("SELECT * FROM diagnosis WHERE group_id = 'never'", "c")
    assert (row.severity, row.first_seen.timestamp() * 1000) == ("info", START + 1000)
    troubles = without_members.rows(completed("SELECT DISTINCT group_id FROM troubles"), "c")
    assert [row.group_id for row in troubles] == ["now"]


def test_it_is_no_committed_offset(without_members):
    rows = without_members.rows(completed("SELECT * FROM committed_now"), "c")
    assert {row.group_id: row.committed for row in rows} == {"now": 0, "never": 0}
