"""`kip848 topic`: what people and programs are told of what is in the topic."""

import json
from datetime import UTC, datetime

import pytest

from kip848_records.cli import main
from kip848_records.config import load_settings
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.report.topic import CHECKS, contents, headline, sections
from tests.made_tables import write
from tests.pipeline.made_topic import (
    START,
    Partition,
    commit,
    counted,
    epoch,
    random_partition,
    write_dump,
    write_segments,
)
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch

IDLE = (3, 5, 0, "")
NOW = datetime(2026, 1, 31, tzinfo=UTC)


def batch(written, **options):
    return write_batch([Record(written.offset, written.millis, written.key, written.value)], **options)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory):
    """Each log is audited once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def told(capsys, *arguments):
    code = main(["topic", *map(str, arguments), "--quiet"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    """A group that commits without progress, one that was deleted and left an offset, and a hanging transaction."""
    idle = [commit(n, START + 1000 * n, "idle", "gone", 0, IDLE) for n in range(100)]
    left = commit(100, START + 100_000, "left", "here", 0, IDLE)
    ended = epoch(101, START + 101_000, "left", None)
    hanging = commit(102, START + 102_000, "txn", "here", 0, IDLE)
    last = epoch(103, START + 8_000_000, "idle", 1)
    tmp_path = tmp_path_factory.mktemp("troubled")
    plain = [batch(each) for each in (*idle, left, ended)]
    opened = batch(hanging, producer_id=9, transactional=True)
    write_segments(tmp_path / "log", {0: Partition(files={0: [*plain, opened, batch(last)]})})
    (tmp_path / "topics.json").write_text(json.dumps({"AAAAAAAAAAAAAAAAAAAAAQ": "here"}))
    return tmp_path / "log"


def test_what_is_wrong_is_said_first(troubled, capsys):
    said = told(capsys, troubled, "--topics", troubled.parent / "topics.json")
    first, second, *_ = said.splitlines()
    assert first.startswith("cluster default, captured at ")
    assert second == (
        "104 records, 11.4 kB on the disk, in 1 partition: 95 % superseded, 98 % offset commits. "
        "Look at: dead_offsets, open transactions. 1 check passes, 0 unknown, 2 not applicable"
    )
    for text in (
        "97 % of the offset commits change nothing",
        "idle: 99 % of its commits change nothing. Raise",
        "the group was deleted, its offsets stayed",
        "open for longer than max_timeout + grace, 20 min: probably hanging",
        "find-hanging",
        "none behind offset 102 of partition 0 while the transaction there is open, none in the last segment",
        "compaction_alive: not applicable: no partition of segment files with enough segments",
        "hanging_transaction: not applicable: the audit decoded no offset commits",
        "1 topic that the list",
    ):
        assert text in " ".join(said.split())


def test_programs_get_all_of_it(troubled, capsys):
    found = json.loads(told(capsys, troubled, "--json", "--topics", troubled.parent / "topics.json"))
    assert (found["records"], found["commits"], found["unchanged"], found["max_message_bytes"]) == (104, 102, 99, None)
    assert found["bytes_freed"] < found["bytes"]
    assert [each["check"] for each in found["checks"]] == [*CHECKS]
    (partition,) = found["partitions"]
    assert (partition["open_producers"], partition["open_groups"], partition["open_from"]) == ([9], ["txn"], 102)
    groups = {each["group_id"]: each for each in found["groups"]}
    assert {name: each["status"] for name, each in groups.items()} == {
        "idle": "has_group",
        "left": "deleted",
        "txn": "pending",
    }
    assert {each["topic"]: each["list_state"] for each in found["topics"]} == {"gone": "gone", "here": "listed"}


def test_a_ticket_has_the_same_sections(troubled, capsys):
    shown = [line[4:] for line in told(capsys, troubled, "--markdown").splitlines() if line.startswith("### ")]
    assert shown[1:] == [
        "Is it healthy",
        "Transactions without a marker",
        "By type",
        "Who fills it",
        "Topics of the commits",
        "Committed offsets of groups that are gone",
        "Groups without a group record: the log does not say that they are gone",
        "By partition",
        "Not looked at",
    ]


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """A dump that is audited, and its partitions."""
    path, partitions = tmp_path_factory.mktemp("dump") / "log.parquet", {0: random_partition("report")}
    write_dump(path, partitions)
    assert main(["topic", str(path), "--quiet"]) == 0
    return path, partitions


def test_what_a_dump_does_not_show_is_said(dump, capsys):
    path, partitions = dump
    found = json.loads(told(capsys, path, "--json"))
    assert found["records"] == sum(each[0] for each in counted(partitions, shows_aborted=False).values())
    assert (found["bytes"], found["bytes_freed"], found["partitions"][0]["cleaning"]) == (None, None, None)
    assert len(found["not_looked_at"]) == 4
    assert {each["check"]: each["status"] for each in found["checks"]}["commit_rate"] == "unknown"
    assert "largest batch: the source does not show batches" in told(capsys, path)


def test_only_groups_that_are_gone_have_a_command_that_deletes_them(troubled, capsys):
    _, gone = told(capsys, troubled, "--markdown").split("### Committed offsets of groups that are gone\n")
    gone, maybe = gone.split("### Groups without a group record: the log does not say that they are gone\n")
    maybe = maybe.split("### ")[0]
    assert ("--delete" in gone, "`left`" in gone, "`txn`" in gone) == (True, True, False)
    assert ("--delete" in maybe, "`left`" in maybe, "`txn`" in maybe) == (False, False, True)


def test_the_limits_of_the_expectation_say_what_hangs(troubled, capsys):
    config = troubled.parent / "c.toml"
    config.write_text(
        "[expectations.hanging_transaction]\nmax_timeout = 7900\n[expectations.operation_size]\nmax_bytes = 5\n"
    )
    said = told(capsys, troubled, "--config", config)
    assert "its default is 1,048,588" in " ".join(said.split())
    assert "open transactions" not in said.splitlines()[1]
    assert "probably hanging" not in said


@pytest.fixture(scope="module")
def with_commits(troubled):
    out = troubled.parent / "out"
    options = AuditOptions((str(troubled),), str(out), offset_commits=True, topic_content=True)
    run_audit(None, options, Watcher())
    return out


def test_with_offset_commits_the_expectation_says_what_hangs(with_commits, capsys):
    read = told(capsys, with_commits)
    assert "Look at: dead_offsets, open transactions" in read.splitlines()[1]
    assert "hanging_transaction: fail" in read


@pytest.mark.parametrize("form", ["--json", pytest.param("--markdown", marks=pytest.mark.slow), None])
def test_rows_that_are_there_twice_are_not_counted(captures, capsys, form):
    code = main(["topic", str(captures / "reports"), "--quiet", "--no-cache", *([form] if form else [])])
    said = capsys.readouterr()
    assert code == 2
    assert said.err.startswith("error: what is in the topic of cluster default is not counted: the log was read")
    assert said.err.count("\n") == 2
    if form == "--json":
        found = json.loads(said.out)
        assert [found[name] for name in ("records", "superseded", "commits", "unchanged")] == [None] * 4
        assert found["not_counted"]
    else:
        assert "not counted: the log was read more than once" in said.out
        assert "0 records" not in said.out


def made(folder, *rows, **tables):
    content = [{"copy": "log", "key_type": 1, "topic": "t", "unchanged": 0} | row for row in rows]
    run = {"run": 1, "captured_at": NOW, "topic_content": True}
    write(folder, "c", audit_runs=[run], topic_content=content, **({"group_state": ()} | tables))
    opened = DuckTables(str(folder))
    (run,) = opened.chosen_runs("c")
    return contents(opened, run, (), load_settings())


@pytest.mark.parametrize(("last", "says"), [(-1, "0 records in 0 partitions. "), (0, "not counted: ")])
def test_a_topic_without_a_record_has_none(tmp_path, last, says):
    history = {"copy": "log", "is_base": True, "first_offset": 0, "last_offset": last}
    assert headline(made(tmp_path, partition_history=[history])).startswith(says)


def part(found, title):
    return next(each for each in sections(found) if each.title == title)


@pytest.mark.parametrize(
    ("busy", "says"),
    [
        ({}, "g made 75 % of all offset commits, 1.5 a second for each live key: commit by time or by batch"),
        ({"live_keys": 90}, "OffsetCommit fills it: 100 % of all records"),  # one a second for each
        ({"dirty_records": None}, "OffsetCommit fills it"),  # no rate is known
        ({"records": 3_000}, "OffsetCommit fills it"),  # half of the commits
    ],
)
def test_only_who_commits_most_and_often_is_told_to_commit_less(tmp_path, busy, says):
    group = {"group_id": "g", "records": 9_000, "live_keys": 60, "dirty_records": 9_000, "dirty_ms": 100_000}
    other = {"group_id": "h", "records": 3_000, "live_keys": 1, "dirty_records": 0, "dirty_ms": 100_000}
    (advice,) = part(made(tmp_path, group | busy, other), "Who fills it").notes
    assert advice.startswith(says)


def test_a_group_in_two_partitions_is_shown_with_them(tmp_path):
    rows = [{"group_id": "g", "partition": number, "records": 2, "live_keys": 1} for number in (0, 4)]
    found = made(tmp_path, *rows, {"group_id": "h", "partition": 1, "records": 1, "live_keys": 1})
    shown = [row[0] for row in part(found, "Who fills it").cells.rows]
    assert shown == ["g (partition 0)", "g (partition 4)", "h"]
    title = "Groups without a group record: the log does not say that they are gone"
    assert [row[0] for row in part(found, title).cells.rows] == shown


def test_after_losses_counts_are_minimums(tmp_path):
    history = {"copy": "log", "is_base": True, "first_lost_offset": 3, "last_lost_offset": 7}
    found = made(tmp_path, {"group_id": "g", "records": 2, "live_keys": 1}, partition_history=[history])
    assert "Counts of records are minimums: records were lost" in headline(found)
    first, *_ = sections(found)
    assert (
        "records were lost: partition 0, offsets 3 to 7. A key that counts as live may have ended there" in first.notes
    )


def test_healthy_topics_have_no_trouble(tmp_path, capsys):
    made = Partition(files={0: [batch(epoch(0, START, "g", 1)), batch(commit(1, START, "g", "t", 0, IDLE))]})
    write_segments(tmp_path / "log", {0: made})
    said = told(capsys, tmp_path / "log")
    assert said.splitlines()[1].endswith("offset commits. 1 check passes, 1 unknown, 2 not applicable")
    assert "Look at" not in said


@pytest.mark.slow
def test_with_offset_commits_the_owners_are_named(captures, capsys):
    found = json.loads(told(capsys, captures / "kafka-4.3.1" / "segments", "--offset-commits", "--json"))
    groups = {each["group_id"]: each for each in found["groups"]}
    assert groups["steady"]["presumed_clients"]


@pytest.mark.slow
def test_tables_without_the_count_are_refused(tmp_path, capsys):
    write_segments(tmp_path / "log", {0: Partition(files={0: [batch(epoch(0, START, "g", 1))]})})
    assert main(["audit", str(tmp_path / "log"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["topic", str(tmp_path / "out"), "--quiet"]) == 2
    assert "--topic-content" in capsys.readouterr().err
    audit = ["audit", str(tmp_path / "log"), "--out", str(tmp_path / "out"), "--quiet", "--topic-content"]
    assert main(audit) == 0
    capsys.readouterr()
    assert "1 record, " in told(capsys, tmp_path / "out")


def test_of_several_clusters_the_one_without_counts_is_named_last(tmp_path, capsys):
    for cluster, is_counted in (("counted", True), ("other", False)):
        rows = [{"copy": "log", "key_type": 1, "group_id": "g", "topic": "t", "records": 2, "live_keys": 1}]
        run = {"run": 1, "captured_at": NOW, "topic_content": is_counted}
        write(tmp_path, cluster, audit_runs=[run], topic_content=rows if is_counted else (), group_state=())
    assert main(["topic", str(tmp_path), "--quiet"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("cluster counted, captured at ")
    assert "cluster other" not in said.out
    assert said.err.startswith("error: ")
    assert "for cluster 'other'" in said.err
