"""What an audit lands, what it counts of the rows that pass by, and that nothing of it stays."""

import pytest

from kip848_records.landing import landed
from tests.log_rows import in_log_order, log_of

GROUP = b"\x00\x01g"
EPOCH, COMMIT, OLD_COMMIT, UNKNOWN = (
    key_type + GROUP for key_type in (b"\x00\x03", b"\x00\x01", b"\x00\x00", b"\x00\x18")
)
ROWS = [
    {"key": EPOCH, "value": b"v", "compaction_gap": False},
    {"key": COMMIT, "value": b"v", "compaction_gap": False},
    {"key": COMMIT, "value": b"v", "transaction": "pending", "compaction_gap": False},
    {"key": COMMIT, "value": b"v", "transaction": "aborted", "timestamp": 9_000_000, "compaction_gap": False},
    {"control": "abort", "transaction": "aborted", "timestamp": 10_000_000, "compaction_gap": False},
    {"key": OLD_COMMIT, "value": b"v", "compaction_gap": False},
    {"key": UNKNOWN, "value": b"v", "compaction_gap": False},
    {"key": None, "value": b"v", "compaction_gap": False},
    {"value": b"junk", "error": "b: unread", "timestamp": None, "partition": 1},
    {"value": b"junk", "error": "a: unread", "timestamp": None, "partition": 1},
    {"key": EPOCH, "partition": 1, "offset": 0, "compaction_gap": False},
    {"key": EPOCH, "partition": 2, "offset": 0, "compaction_gap": False},
    {"key": EPOCH, "partition": 2, "offset": 5, "compaction_gap": True},
    {"key": EPOCH, "partition": 3, "offset": 1, "compaction_gap": False},
    {"key": EPOCH, "partition": 4, "offset": 0, "compaction_gap": None},
]


def places(log):
    return {(row["partition"], row["offset"]) for row in in_log_order(log)}


@pytest.fixture(scope="module")
def log(spark):
    return log_of(spark, ROWS)


def test_without_offset_commits(spark, log, tmp_path):
    with landed(spark, log, str(tmp_path), copies=["a"], offset_commits=False) as landing:
        kept = [row for row in ROWS if row.get("key") not in (COMMIT, OLD_COMMIT) and "control" not in row]
        assert landing.log.count() == len(kept)
        assert (0, 1) not in places(landing.log)
        assert landing.records == {0: 1, 1: 2, 3: 6, 24: 1, None: 1}
        assert (landing.aborted, landing.first_error) == (1, "a: unread")
        assert landing.newest.timestamp() == 9000


def test_with_offset_commits_markers_stay_to_settle_transactions(spark, log, tmp_path):
    with landed(spark, log, str(tmp_path), copies=["a"], offset_commits=True) as landing:
        assert {row["control"] for row in in_log_order(landing.log)} == {None, "abort"}
        assert {(0, 1), (0, 2), (0, 4), (0, 5)} <= places(landing.log)
        assert (0, 3) not in places(landing.log)
        assert landing.records == {0: 1, 1: 2, 3: 6, 24: 1, None: 1}


def test_the_newest_time_is_one_of_this_log_that_can_be_shown(spark, tmp_path):
    others = [
        {"topic": "orders", "error": "a row of topic orders", "timestamp": 2_000_000},
        {"key": EPOCH, "error": "timestamp out of range", "timestamp": 400_000_000_000_000},
        {"key": EPOCH, "timestamp": 3_000_000, "control": "commit"},
    ]
    for damaged, newest in (([], 1000.0), ([{"error": "unread", "timestamp": 1_500_000}], 1500)):
        rows = log_of(spark, [{"key": EPOCH, "timestamp": 1_000_000}, *others, *damaged])
        with landed(spark, rows, str(tmp_path), copies=["a"], offset_commits=False) as landing:
            assert landing.newest.timestamp() == newest


def test_what_was_landed_is_removed(spark, log, tmp_path):
    out = tmp_path / "a [b] 50%, c"
    with landed(spark, log, str(out), copies=["a"], offset_commits=False) as landing:
        assert landing.keep(landing.log.select("key"), "more").count() == landing.log.count()
        assert [path.name for path in out.iterdir()] == ["_landing"]
    assert list(out.iterdir()) == []


def test_it_is_removed_after_a_failure_as_well(spark, log, tmp_path):
    with pytest.raises(KeyError), landed(spark, log, str(tmp_path), copies=["a"], offset_commits=False):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_audit_left_is_removed(spark, log, tmp_path):
    (tmp_path / "_landing" / "other").mkdir(parents=True)
    with landed(spark, log, str(tmp_path), copies=["a"], offset_commits=False):
        assert not (tmp_path / "_landing" / "other").exists()
    assert not (tmp_path / "_landing").exists()


def test_a_log_of_nothing_but_offset_commits_is_counted(spark, tmp_path):
    # Nothing of it is left to land: Spark would never report what it saw.
    log = log_of(spark, [{"key": COMMIT, "value": b"v", "compaction_gap": False}] * 3)
    with landed(spark, log, str(tmp_path), copies=["a"], offset_commits=False) as landing:
        assert landing.records == {1: 3}
        assert landing.log.isEmpty()


def offset_commit(offset, transaction, *copies):
    row = {"key": COMMIT, "value": b"%d" % offset, "producer_id": 7, "compaction_gap": False}
    return [row | {"offset": offset, "transaction": transaction, "copies": [copy]} for copy in copies]


def test_a_transaction_ends_as_a_copy_of_it_tells(spark, tmp_path):
    rows = [
        *offset_commit(0, "pending", "a"),
        *offset_commit(0, "aborted", "b"),
        *offset_commit(1, "pending", "a"),
        *offset_commit(1, "committed", "b"),
        # The next marker of its own copy decides, wherever the others have theirs.
        *offset_commit(2, "pending", "a", "c"),
        {"offset": 3, "control": "abort", "transaction": "aborted", "producer_id": 7, "copies": ["c"]},
        *offset_commit(4, "pending", "a"),
        {"offset": 5, "control": "commit", "transaction": "committed", "producer_id": 7, "copies": ["b"]},
    ]
    with landed(spark, log_of(spark, rows), str(tmp_path), copies=["a", "b", "c"], offset_commits=True) as landing:
        told = [(row["offset"], row["transaction"]) for row in in_log_order(landing.log) if row["key"]]
        assert told == [(1, "committed"), (4, "pending")]
        assert landing.records == {1: 2}
        assert landing.aborted == 1


def covers(copy, first, last, gap):
    controls = {"start": 0, "file": first, "gap": gap, "end": last}
    return [{"control": c, "offset": o, "copies": [copy], "compaction_gap": False} for c, o in controls.items()]


def test_what_only_older_copies_hold_is_stale_where_history_does_not_reach_back_to_them(spark, tmp_path):
    rows = [{"offset": o, "key": EPOCH, "value": b"v", "copies": ["a"], "compaction_gap": False} for o in (0, 3)]
    rows += [{"offset": o, "key": UNKNOWN, "value": b"v", "copies": ["b"], "compaction_gap": False} for o in (1, 9)]
    rows += [{"offset": 3, "key": EPOCH, "value": b"v", "copies": ["b"], "compaction_gap": False}]
    rows += [*covers("a", 0, 5, gap=1), *covers("b", 0, 9, gap=9)]
    log = log_of(spark, rows)
    with landed(spark, log, str(tmp_path), copies=["a", "b"], offset_commits=False) as landing:
        assert places(landing.without_stale(landing.log.filter("key is not null"))) == {(0, 1), (0, 3), (0, 9)}
        told = {row.copy: (row.last_offset, row.complete_from, row.is_base) for row in landing.history.collect()}
        assert told == {"a": (5, 1, False), "b": (9, 9, True)}
    with landed(spark, log, str(tmp_path), copies=["a"], offset_commits=False) as landing:
        assert places(landing.without_stale(landing.log)) == places(landing.log)
