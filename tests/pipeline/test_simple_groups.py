"""A group that has committed offsets and no record of its own is a simple group, as Kafka's tools list it."""

import pytest

from kip848_records import cli
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.protocol.messages.classic import OFFSET_COMMIT_VALUE
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from kip848_records.specs.log_columns import TOPIC
from kip848_records.tables.__init__ import DEFAULT_CLUSTER
from tests.audits import table_rows
from tests.cli import offsets_log
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch, write_marker

VALUE = encode_message(OFFSET_COMMIT_VALUE.at(3), {"offset": 7, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0})
EPOCH = b"\0\3\0\1g"


def commit(offset, group="g", partition=0, *, value=VALUE, **transaction):
    key = encode_key(RECORDS[1], {"group": group, "topic": "t", "partition": partition})
    return write_batch([Record(offset, 1000 * offset, key, value)], **transaction)


def group_record(offset, *, is_deleted=False):
    return write_batch([Record(offset, 1000 * offset, EPOCH, None if is_deleted else b"\0\0\0\0\0\1\0")])


@pytest.fixture
def groups(tmp_path):
    """Audits a partition that begins at an offset; a group's rows of `group_state`: id, type, state, incarnation."""

    def audit(*batches, base=0, offset_commits=True):
        folder = tmp_path / "in" / f"{TOPIC}-0"
        folder.mkdir(parents=True)
        (folder / f"{base:020}.log").write_bytes(b"".join(batches))
        options = AuditOptions((str(tmp_path / "in"),), str(tmp_path / "out"), offset_commits=offset_commits)
        run_audit(None, options, Watcher())
        rows = table_rows(tmp_path / "out", "group_state", DEFAULT_CLUSTER)
        return sorted((row["group_id"], row["group_type"], row["state"], row["incarnation"]) for row in rows)

    return audit


def test_a_group_of_commits_only_is_empty(groups, tmp_path):
    assert groups(commit(0), commit(1, partition=1), commit(2, "h"), group_record(3)) == [
        ("g", "consumer", "Empty", 0),
        ("h", "simple", "Empty", 0),
    ]
    (row,) = DuckTables(str(tmp_path / "out")).rows(questions()["simple_groups"].sql, DEFAULT_CLUSTER)
    assert (row.group_id, row.state, row.committed, row.last_commit_at.timestamp()) == ("h", "Empty", 1, 2)


def test_without_offset_commits_none_is_known(groups):
    assert groups(commit(0, "h"), group_record(1), offset_commits=False) == [("g", "consumer", "Empty", 0)]


def test_a_group_whose_offsets_are_gone_is_none(groups):
    assert groups(commit(0), commit(1, value=None), commit(2, "h")) == [("h", "simple", "Empty", 0)]


def test_an_open_transaction_makes_a_group_and_an_aborted_one_does_not(groups):
    ended = [commit(0, producer_id=4, transactional=True), write_marker(1, 4, "abort")]
    opened = commit(2, "h", producer_id=5, transactional=True)
    assert groups(*ended, opened) == [("h", "simple", "Empty", 0)]


def test_a_group_that_was_deleted_and_commits_again_has_another_incarnation(groups):
    assert groups(group_record(0), group_record(1, is_deleted=True), commit(2)) == [("g", "simple", "Empty", 1)]


def test_where_records_were_lost_it_may_be_any_group(groups):
    assert groups(commit(5), base=5) == [("g", "simple", "unknown", 0)]


@pytest.mark.slow
def test_it_is_explained_as_every_group(groups, tmp_path, capsys):
    groups(commit(0), commit(1, partition=1))
    for source in (["out", "--group", "g"], ["in", "--offset-commits", "--group", "g"]):
        assert cli.main(["explain", str(tmp_path / source[0]), *source[1:]]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "Group g of cluster default, captured at 1970-01-01 00:00:01 UTC: Empty",
            "  no member, committed offsets only, 2 partitions, last commit at",
            "    1970-01-01 00:00:01 UTC",
        ]


def test_a_commit_that_was_removed_before_the_newer_copy_was_made_does_not_count(tmp_path):
    """The newer copy has neither the commit nor its tombstone: the cleaner removed both."""
    older = [offsets_log.commit(0, 5), offsets_log.commit(1, 5, group="h")]
    since = [offsets_log.commit(2, None), *(offsets_log.commit(each, each, group="h") for each in (3, 4, 5))]
    offsets_log.write(tmp_path / "older", *older)
    offsets_log.write(tmp_path / "newer", *older, *since, without={0, 1, 2})
    copies = tuple(str(tmp_path / name) for name in ("older", "newer"))
    run_audit(None, AuditOptions(copies, str(tmp_path / "out"), offset_commits=True), Watcher())
    for table in ("group_state", "latest_state", "commit_progress"):
        rows = table_rows(tmp_path / "out", table, DEFAULT_CLUSTER)
        assert {row["group_id"] for row in rows} == {"h"}, table


def test_a_key_may_name_any_partition_and_topic(tmp_path):
    commits = [offsets_log.commit(0, 5, -1), offsets_log.commit(1, 6, topic='q"\\'), offsets_log.commit(2, 7)]
    offsets_log.write(tmp_path / "log", *commits)
    run_audit(None, AuditOptions((str(tmp_path / "log"),), str(tmp_path / "out"), offset_commits=True), Watcher())
    assert cli.main(["explain", str(tmp_path / "out"), "--group", "g"]) == 0
