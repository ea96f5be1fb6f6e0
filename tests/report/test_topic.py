"""`kip848 topic`: what people and programs are told of what is in the topic."""

import json

import pytest

from kip848_records.cli import main
from kip848_records.report.topic import CHECKS
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
from tests.protocol.segment_writer import Record, write_batch

IDLE = (3, 5, 0, "")


def batch(written, **options):
    return write_batch([Record(written.offset, written.millis, written.key, written.value)], **options)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def told(capsys, *arguments):
    code = main(["topic", *map(str, arguments), "--quiet"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


@pytest.fixture
def troubled(tmp_path):
    """A group that commits without progress, one that was deleted and left an offset, and a hanging transaction."""
    idle = [commit(n, START + 1000 * n, "idle", "gone", 0, IDLE) for n in range(100)]
    left = commit(100, START + 100_000, "left", "here", 0, IDLE)
    ended = epoch(101, START + 101_000, "left", None)
    hanging = commit(102, START + 102_000, "txn", "here", 0, IDLE)
    last = epoch(103, START + 8_000_000, "idle", 1)
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
        "Look at: dead_offsets, open transactions"
    )
    for text in (
        "97 % of the offset commits change nothing",
        "idle: 99 % of its commits change nothing. Raise",
        "the group was deleted, its offsets stayed",
        "find-hanging",
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
        "txn": "simple",
    }
    assert {each["topic"]: each["is_gone"] for each in found["topics"]} == {"gone": True, "here": False}


def test_a_ticket_has_the_same_sections(troubled, capsys):
    shown = [line[4:] for line in told(capsys, troubled, "--markdown").splitlines() if line.startswith("### ")]
    assert shown[1:] == [
        "Is it healthy",
        "Transactions without a marker",
        "By type",
        "Who fills it",
        "Topics of the commits",
        "Committed offsets of groups without a record",
        "By partition",
        "Not looked at",
    ]


def test_what_a_dump_does_not_show_is_said(tmp_path, capsys):
    partitions = {0: random_partition("report")}
    write_dump(tmp_path / "log.parquet", partitions)
    found = json.loads(told(capsys, tmp_path / "log.parquet", "--json"))
    assert found["records"] == sum(each[0] for each in counted(partitions, shows_aborted=False).values())
    assert (found["bytes"], found["bytes_freed"], found["partitions"][0]["cleaning"]) == (None, None, None)
    assert len(found["not_looked_at"]) == 4
    assert {each["check"]: each["status"] for each in found["checks"]}["commit_rate"] == "unknown"
    assert "largest batch: the source does not show batches" in told(capsys, tmp_path / "log.parquet")


def test_healthy_topics_have_no_trouble(tmp_path, capsys):
    made = Partition(files={0: [batch(epoch(0, START, "g", 1)), batch(commit(1, START, "g", "t", 0, IDLE))]})
    write_segments(tmp_path / "log", {0: made})
    assert "No trouble is seen" in told(capsys, tmp_path / "log")


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
