"""An offset commit counts from the marker of its transaction on, also if that is in a later file than the commit.

A transaction without a marker is open.
"""

from datetime import UTC, datetime

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.protocol.messages.classic import OFFSET_COMMIT_VALUE
from kip848_records.specs.log_columns import TOPIC
from kip848_records.tables.__init__ import DEFAULT_CLUSTER
from tests.audits import table_rows
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch, write_marker

LAYOUT = OFFSET_COMMIT_VALUE.at(3)
SECOND = 1000


def key(group="g", topic="t", partition=0):
    return encode_key(RECORDS[1], {"group": group, "topic": topic, "partition": partition})


def value(offset):
    return encode_message(LAYOUT, {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0})


def commit(offset, committed=0, *, at=None, producer=5, epoch=0, **names):
    """A transactional commit, second by second."""
    record = Record(offset, SECOND * (offset if at is None else at), key(**names), value(committed))
    return write_batch([record], producer_id=producer, producer_epoch=epoch, transactional=True)


def plain(offset):
    return write_batch([Record(offset, SECOND * offset, key("other"), value(1))])


@pytest.fixture
def audited(tmp_path):
    """Audits files of one partition, by their base offsets, and returns the rows of a table."""

    def audit(files, table="open_transaction", copy="in"):
        folder = tmp_path / copy / f"{TOPIC}-0"
        folder.mkdir(parents=True)
        for base, batches in files.items():
            (folder / f"{base:020}.log").write_bytes(b"".join(batches))
        sources = tuple(str(tmp_path / name) for name in ("in", "other") if (tmp_path / name).exists())
        run_audit(None, AuditOptions(sources, str(tmp_path / "out"), offset_commits=True), Watcher())
        return table_rows(tmp_path / "out", table, DEFAULT_CLUSTER)

    return audit


def producers(rows):
    return [(row["producer_id"], row["first_offset"], row["status"]) for row in rows]


@pytest.mark.parametrize(("outcome", "committed"), [("commit", 9), ("abort", 7), (None, 7)])
def test_the_marker_in_the_next_file(audited, outcome, committed):
    first = [write_batch([Record(0, SECOND, key(), value(7))]), commit(1, 9)]
    (row,) = audited({0: first, 2: [] if outcome is None else [write_marker(2, 5, outcome)]}, "latest_state")
    assert f'"offset":{committed}' in row["value"].replace(" ", "")


def test_only_the_last_commit_of_a_partition_in_a_transaction_counts(audited):
    log = [commit(0, 50), commit(1, 9, partition=1), commit(2, 40), write_marker(3, 5, "commit"), commit(4, 60)]
    rows = audited({0: [*log, write_marker(5, 5, "commit")]}, "commit_progress")
    found = {row["partition"]: [row[name] for name in ("first_offset", "commits", "backs", "advances")] for row in rows}
    assert found == {0: [40, 2, 0, 1], 1: [9, 1, 0, 0]}


def test_an_open_transaction(audited):
    """The last offset of each partition waits, behind what it blocks in the log; the age is measured to the end."""
    ended = [commit(0, 1), write_marker(1, 5, "commit", SECOND)]
    opened = [
        commit(2, 3, epoch=4),
        commit(3, 8, group="h", topic="a"),
        plain(4),
        commit(5, 4, epoch=4),
        commit(6, 2, epoch=4, partition=1),
    ]
    (row,) = audited({0: ended, 2: opened, 7: [plain(7)]})
    found = [row[name] for name in ("producer_id", "producer_epoch", "records", "group_ids", "status")]
    assert found == [5, 4, 4, ["g", "h"], "open"]
    assert [tuple(each.values()) for each in row["keys"]] == [("g", "t", 0, 4), ("g", "t", 1, 2), ("h", "a", 0, 8)]
    assert (row["first_offset"], row["last_offset"]) == (2, 6)
    assert (row["first_at"], row["last_at"]) == tuple(datetime.fromtimestamp(at, UTC) for at in (2, 6))
    assert (row["blocks_from"], row["records_behind"], row["age_ms"]) == (2, 6, 5 * SECOND)


def test_producers_have_one_row_each_and_the_first_of_them_blocks(audited):
    rows = audited({0: [commit(0, producer=9), commit(1, producer=3), commit(2, producer=9)]})
    assert sorted(producers(rows)) == [(3, 1, "open"), (9, 0, "open")]
    assert {(row["blocks_from"], row["records_behind"]) for row in rows} == {(0, 3)}


def test_a_transaction_that_timed_out_is_ended_by_a_marker_of_the_next_epoch(audited):
    files = {0: [commit(0, epoch=0)], 1: [write_marker(1, 5, "abort"), commit(2, epoch=1)], 3: [plain(3)]}
    assert producers(audited(files)) == [(5, 2, "open")]


def test_nothing_is_open_once_every_producer_has_a_marker(audited):
    assert audited({0: [commit(0)], 1: [write_marker(1, 5, "abort")]}) == []


def test_a_marker_may_be_among_what_cannot_be_read(audited):
    assert producers(audited({0: [commit(0), plain(1)], 2: [b"\xff" * 100]})) == [(5, 0, "unknown")]


def test_a_marker_behind_the_damage_ends_the_transaction_all_the_same(audited):
    damaged = bytearray(plain(1))
    damaged[-1] ^= 0xFF
    assert audited({0: [commit(0), bytes(damaged), write_marker(2, 5, "commit")]}) == []


def test_what_was_lost_before_the_transaction_is_no_doubt(audited):
    damaged = bytearray(plain(1))
    damaged[-1] ^= 0xFF
    assert producers(audited({0: [plain(0), bytes(damaged), commit(2)]})) == [(5, 2, "open")]


@pytest.mark.slow
def test_another_copy_shows_the_marker(audited):
    audited({0: [commit(0), plain(1)]})
    assert audited({0: [commit(0), plain(1), write_marker(2, 5, "commit"), plain(3)]}, copy="other") == []


def test_a_commit_that_does_not_decode_counts_as_a_record(audited):
    wrong = write_batch([Record(0, SECOND, key(), b"\0\3")], producer_id=5, transactional=True)
    (row,) = audited({0: [wrong, commit(1, 6, group="h")]})
    assert (row["records"], row["group_ids"], row["first_offset"]) == (2, ["h"], 0)
