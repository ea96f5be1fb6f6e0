"""One group id in two partitions: the topic got more of them, or logs of two clusters are mixed."""

import re
from itertools import count

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.group_partition import group_id_hash
from kip848_records.queries.texts import completed
from tests import reported
from tests.cli.offsets_log import commit, member, write
from tests.progress import Watcher

NAME = "offsets-topic-got-more-partitions"
MOVED = {"clicks-web": (44, 14), "invoices": (38, 18), "shipping": (8, 58)}
"""The partitions of groups before and since; `checkout` has partition 18 of 50 and of 60."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    return reported.audited(NAME, tmp_path_factory.mktemp("moved"))


@pytest.fixture(scope="module")
def tables(audited):
    return reported.tables_of(audited)


def test_a_group_is_where_it_began_again(tables):
    rows = tables.rows("SELECT * FROM group_state", "c")
    found = {row.group_id: (row.moved_from, row.partition) for row in rows}
    assert found == {**MOVED, "checkout": (None, 18)}
    assert {row.state for row in rows} == {"Stable"}
    health = tables.rows(completed("SELECT * FROM health_now"), "c")
    assert sorted((row.group_id, row.health) for row in health) == [(group, "healthy") for group in sorted(found)]


def test_what_was_before_the_move_is_history(tables):
    """The rows of the old partition have an end, and no row says that members are missing there."""
    old = {(before, group) for group, (before, _) in MOVED.items()}
    rows = tables.rows("SELECT * FROM group_state_timeline", "c")
    assert [row for row in rows if (row.partition, row.group_id) in old and row.to_at is None] == []
    assert {(row.partition, row.group_id) for row in rows} >= old
    stays = tables.rows(completed("SELECT * FROM consumption_now"), "c")
    assert {(row.offsets_partition, row.group_id) for row in stays}.isdisjoint(old)
    assert tables.rows("SELECT * FROM anomaly", "c") == []
    assert {row.pattern for row in tables.rows("SELECT * FROM diagnosis", "c")} == {"offsets_topic_grew", "began_again"}


def test_it_is_told_once_and_of_each_group_what_it_left_behind(tables):
    troubles = tables.rows("SELECT * FROM diagnosis", "c")
    (of_all,) = [row for row in troubles if row.group_id is None]
    assert of_all.sentence == (
        "__consumer_offsets got more partitions (50 before, 60 since) by 2026-11-25 10:47:15 UTC: 3 groups are in "
        "other partitions since, and began there without committed offsets: clicks-web, invoices, shipping."
    )
    assert {(row.partition, row.group_id) for row in troubles if row.group_id} == {
        (now, group) for group, (_, now) in MOVED.items()
    }
    (row,) = [row for row in troubles if row.group_id == "clicks-web"]
    assert row.sentence == (
        "The group is in partition 14 of __consumer_offsets since 2026-11-25 10:47:15 UTC, and was in 44: the topic "
        "got more partitions. It began again without its committed offsets, where auto.offset.reset says. They were: "
        "clicks 0-2 at 18000. Its first commits since: clicks 0-2 at 100."
    )


def test_explain_shows_the_group_that_is_there(audited, capsys):
    said = reported.printed(capsys, "explain", audited, "--group", "shipping")
    assert re.match(
        r"Group shipping of cluster c, captured at \S+ \S+ UTC: generation 1 was completed at 2026-11-25 10:47:18 UTC",
        said,
    )
    assert "They were: clicks 0-2 at 18000." in said
    assert "The following shows partition 58; until 2026-11-25 10:47:15 UTC the group was in 8" in said
    assert "no member" not in said
    assert "delete the group" not in said


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (("--group", "invoices"), "clicks,0,35700 clicks,1,35700 clicks,2,35700"),
        (("--group", "invoices", "--at", "2026-11-25T10:47:00Z"), "clicks,0,18000 clicks,1,18000 clicks,2,18000"),
        (("--all-groups", "--at", "2026-11-25T10:47:00Z"), "invoices,clicks,2,18000 shipping,clicks,0,18000"),
        (("--all-groups",), "invoices,clicks,2,35700 shipping,clicks,0,35700"),
    ],
)
def test_offsets_are_those_of_the_partition_of_that_time(audited, capsys, options, lines):
    assert lines in reported.printed(capsys, "offsets", audited, *options, "--quiet")


def name_in(**sizes):
    """The first group id with a partition for each number of them: name_in(of_2=1, of_3=0)."""
    wanted = {int(size.removeprefix("of_")): partition for size, partition in sizes.items()}
    return next(
        f"g{number}"
        for number in count()
        if all(group_id_hash(f"g{number}") % size == partition for size, partition in wanted.items())
    )


def audited_log(folder, **partitions):
    """The tables of a log: rows by partition, `p0`, `p1` …"""
    for partition, rows in partitions.items():
        write(folder / "log", *rows, partition=int(partition.removeprefix("p")))
    options = AuditOptions((str(folder / "log"),), str(folder / "out"), cluster="c", offset_commits=True)
    run_audit(None, options, Watcher())
    return reported.tables_of(folder / "out")


def test_groups_of_any_kind_move(tmp_path):
    """A consumer group whose members never left, and a simple one; before, the topic had two partitions."""
    consumers, simple, stays = name_in(of_2=0, of_3=2), name_in(of_2=1, of_3=2), name_in(of_2=0, of_3=0)
    tables = audited_log(
        tmp_path,
        p0=[*member(1, "t", group=consumers), commit(2, 5, group=consumers), commit(3, 1, group=stays)],
        p1=[commit(4, 7, group=simple)],
        p2=[*member(60, "t", group=consumers), commit(61, 1, group=simple), commit(9_000, 2, group=simple)],
    )
    rows = tables.rows("SELECT * FROM group_state", "c")
    assert {(row.group_id, row.group_type, row.moved_from, row.partition, row.members) for row in rows} == {
        (consumers, "consumer", 0, 2, 1),
        (simple, "simple", 1, 2, 0),
        (stays, "simple", None, 0, 0),
    }
    members = tables.rows("SELECT * FROM membership WHERE left_at IS NULL", "c")
    assert [(row.partition, row.group_id) for row in members] == [(2, consumers)]
    assert tables.rows("SELECT * FROM anomaly", "c") == []


def test_two_clusters_in_one_log(tmp_path):
    """Both are used all the time: no number of partitions explains that, and nothing is closed."""
    group = name_in(of_2=0, of_3=1)
    hours = range(0, 36_000, 600)
    tables = audited_log(
        tmp_path,
        p0=[commit(at, at, group=group) for at in hours],
        p1=[commit(at + 5, at, group=group) for at in hours],
    )
    rows = tables.rows("SELECT * FROM group_state", "c")
    assert {(row.partition, row.moved_from) for row in rows} == {(0, None), (1, None)}
    (row,) = [row for row in tables.rows("SELECT * FROM diagnosis", "c") if row.group_id is None]
    assert (row.pattern, row.is_present) == ("group_in_two_partitions", True)
    assert row.sentence == (
        f"Group {group} is in partitions 0, 1 of __consumer_offsets, the newest records in 1. A group has one "
        "partition, and it does not look as if the topic got more of them."
    )


def test_a_group_in_one_partition_did_not_move(tmp_path):
    tables = audited_log(tmp_path, p0=[commit(1, 5), commit(9_000, 6)], p1=[commit(1, 5, group="h")])
    assert tables.rows("SELECT * FROM diagnosis", "c") == []
    assert {row.moved_from for row in tables.rows("SELECT * FROM group_state", "c")} == {None}


HOURS = range(0, 36_000, 600)


def commits(group, of_hours):
    return [commit(at, at, group=group) for at in of_hours]


def audited_copies(out, *copies, cluster="c"):
    """The tables of copies that are merged, each the rows by partition."""
    sources = []
    for number, copy in enumerate(copies):
        sources.append(out.parent / f"{cluster} {len(list(out.parent.iterdir()))} {number}")
        for partition, rows in copy.items():
            write(sources[-1], *rows, partition=partition)
    run_audit(None, AuditOptions((*map(str, sources),), str(out), cluster=cluster, offset_commits=True), Watcher())
    return reported.tables_of(out)


def found_in(tables, cluster="c"):
    """Where groups are and were, and what is told."""
    rows = tables.rows("SELECT * FROM group_state", cluster)
    told = [row.pattern for row in tables.rows("SELECT * FROM diagnosis", cluster)]
    return sorted((row.group_id, row.partition, row.moved_from) for row in rows), sorted(told)


@pytest.mark.parametrize("is_behind_first", [False, True])
def test_copies_of_one_log_are_one_log(tmp_path, is_behind_first):
    """A follower's files are older than the leader's: no group is in two partitions for that."""
    moves, stays = name_in(of_2=1, of_3=2), name_in(of_2=0, of_3=0)
    leader = {0: commits(stays, HOURS), 1: commits(moves, HOURS)}
    follower = {partition: rows[:20] for partition, rows in leader.items()}
    copies = [leader, follower][:: -1 if is_behind_first else 1]
    assert found_in(audited_copies(tmp_path / "out", *copies)) == (sorted([(stays, 0, None), (moves, 1, None)]), [])


def test_copies_from_before_and_after_the_topic_grew_are_one_log(tmp_path):
    moves, stays = name_in(of_2=1, of_3=2), name_in(of_2=0, of_3=0)
    before = {0: commits(stays, HOURS[:10]), 1: commits(moves, HOURS[:10])}
    after = {0: commits(stays, HOURS), 1: commits(moves, HOURS[:20]), 2: commits(moves, HOURS[20:])}
    places = sorted([(stays, 0, None), (moves, 2, 1)])
    assert found_in(audited_copies(tmp_path / "out", before, after)) == (
        places,
        ["began_again", "offsets_topic_grew"],
    )


def lives():
    """A topic with two partitions, and the one that took its place, with three."""
    moves, stays = name_in(of_2=1, of_3=2), name_in(of_2=0, of_3=0)
    old = {0: commits(stays, HOURS[:20]), 1: commits(moves, HOURS[:20])}
    new = {0: commits(stays, HOURS[20:]), 2: commits(moves, HOURS[20:])}
    return moves, stays, old, new


@pytest.mark.slow
def test_a_topic_made_anew_did_not_grow(tmp_path):
    """What was read before is archived under another name, or replaced by the next copy."""
    moves, stays, old, new = lives()
    audited_copies(tmp_path / "out", old, cluster="c until run 1")
    tables = audited_copies(tmp_path / "out", new)
    assert found_in(tables) == (sorted([(stays, 0, None), (moves, 2, None)]), [])
    assert found_in(tables, "c until run 1") == (sorted([(stays, 0, None), (moves, 1, None)]), [])
    audited_copies(tmp_path / "again", old)
    assert found_in(audited_copies(tmp_path / "again", new)) == (sorted([(stays, 0, None), (moves, 2, None)]), [])


def test_copies_of_a_topic_and_of_the_one_made_anew_are_not_copies_of_one_log(tmp_path):
    """Where copies contradict each other, nothing says that the topic got more partitions."""
    moves, stays, old, new = lives()
    tables = audited_copies(tmp_path / "out", old, new)
    assert found_in(tables)[0] == sorted([(stays, 0, None), (moves, 1, None), (moves, 2, None)])
    (row,) = tables.rows("SELECT * FROM diagnosis", "c")
    assert (row.pattern, row.group_id) == ("group_in_two_partitions", None)
    assert row.sentence == (
        f"Group {moves} is in partitions 1, 2 of __consumer_offsets, the newest records in 2. A group has one "
        "partition, and at 20 offsets the sources have different records: they are not copies of one log."
    )
    assert "a topic that was deleted and created again" in row.next_step
