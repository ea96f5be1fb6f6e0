"""A LogBatch: what sources hold, each record once, whoever tells how its transaction ended."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.errors import InputError
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.sources.read import LogBatch, merged_rows
from kip848_records.specs.log_columns import LOG_COLUMNS
from tests.log_rows import files_of, in_log_order, log_of, newest_ms, table_of
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch, write_marker
from tests.sources.batches import merged, read_batch, read_rows
from tests.sources.test_segments import offset_commit, segment

EPOCH, COMMIT = b"\x00\x03\x00\x01g", b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"


def of_copies(engine, rows, *, copies=("a", "b", "c"), offset_commits=True):
    """Offset and outcome of each record of several copies."""
    batch = LogBatch(engine.relation(log_of(rows)), copies, needs_merge=True, offset_commits=offset_commits)
    return [(row["offset"], row["transaction"]) for row in in_log_order(merged(engine, batch)) if row["key"]]


def commit(offset, transaction, *copies):
    row = {"key": COMMIT, "value": b"%d" % offset, "producer_id": 7}
    return [row | {"offset": offset, "transaction": transaction, "copies": [copy]} for copy in copies]


def test_a_transaction_ends_as_a_copy_of_it_tells(engine):
    rows = [
        *commit(0, "pending", "a"),
        *commit(0, "aborted", "b"),
        *commit(1, "pending", "a"),
        *commit(1, "committed", "b"),
        # The next marker of its own copy decides, wherever the others have theirs.
        *commit(2, "pending", "a", "c"),
        {"offset": 3, "control": "abort", "transaction": "aborted", "producer_id": 7, "copies": ["c"]},
        *commit(4, "pending", "a"),
        {"offset": 5, "control": "commit", "transaction": "committed", "producer_id": 7, "copies": ["b"]},
    ]
    assert of_copies(engine, rows) == [(1, "committed"), (4, "pending")]


def test_rows_that_need_no_merge_are_left_as_they_are(engine):
    rows = engine.relation(log_of([{"key": EPOCH}]))
    batch = LogBatch(rows, ("a",), needs_merge=False, offset_commits=False)
    assert merged_rows(engine, batch) is rows


def test_one_copy_is_written_once(engine):
    rows = [{"key": EPOCH, "offset": 4}, {"key": EPOCH, "offset": 4}, *commit(5, "aborted", "a")]
    assert of_copies(engine, rows, copies=("a",)) == [(4, "none")]


class TestSeveralSources:
    def test_aborted_records_stay_until_copies_are_merged(self, engine, tmp_path):
        """One copy ends within a transaction that the other shows as aborted."""
        within = write_batch([offset_commit(0)], producer_id=5, transactional=True)
        segment(tmp_path / "short" / "__consumer_offsets-0", 0, within)
        segment(tmp_path / "long" / "__consumer_offsets-0", 0, within, write_marker(1, 5, "abort"))
        paths = [str(tmp_path / name) for name in ("short", "long")]
        batch = read_batch(engine, paths, offset_commits=True)
        assert (batch.needs_merge, set(batch.copies)) == (True, set(paths))
        assert [row["transaction"] for row in in_log_order(batch.rows)] == ["pending", "aborted", "aborted"]
        assert [row["control"] for row in in_log_order(merged(engine, batch))] == ["abort"]

    @pytest.mark.slow
    @pytest.mark.parametrize("offset_commits", [True, False])
    def test_aborted_records_are_counted_in_each_copy(self, tmp_path, offset_commits):
        aborted = write_batch([offset_commit(0), offset_commit(1)], producer_id=5, transactional=True)
        parts = [aborted, write_marker(2, 5, "abort"), write_batch([Record(3, 1003, EPOCH, b"")])]
        for name in ("one", "other"):
            segment(tmp_path / "in" / name / "__consumer_offsets-0", 0, *parts)
        source = str(tmp_path / "in")
        options = AuditOptions((source,), str(tmp_path / "out"), offset_commits=offset_commits)
        audit = run_audit(None, options, Watcher())
        assert (audit.copies, audit.aborted) == (2, 4)
        # What one copy shows as open, another shows as aborted: it is dropped in both.
        segment(tmp_path / "in" / "one" / "__consumer_offsets-0", 0, aborted)
        assert run_audit(None, options, Watcher()).aborted == (4 if offset_commits else 2)

    def test_rows_have_the_schema_of_a_log(self, engine, captures):
        folder = captures / "kafka-4.3.1-all-types"
        paths = [str(folder / name) for name in ("segments", "kafka-source.parquet")]
        for offset_commits in (False, True):
            batch = read_batch(engine, paths, offset_commits=offset_commits)
            assert table_of(batch.rows).schema == LOG_COLUMNS

    def test_a_dump_and_segments_of_one_log_agree(self, engine, captures):
        folder = captures / "kafka-4.3.1-all-types"
        paths = [str(folder / name) for name in ("segments", "kafka-source.parquet")]
        batch = read_batch(engine, paths, offset_commits=False)
        rows = [row for row in merged(engine, batch).to_pylist() if row["file"] is None]
        # The dump was taken a moment before the copy of the files, which have one record more.
        assert sorted(len(row["copies"]) for row in rows) == [1] + [2] * 751
        assert {row["error_code"] for row in rows} == {None}
        assert {row["leader_epoch"] for row in rows} == {0}


class TestDumps:
    """What a dump covers of each partition, and what it skips."""

    @pytest.fixture
    def read(self, engine, tmp_path):
        def read(rows, *, offset_commits=False):
            names = ["key", "value", "partition", "offset", "timestamp"]
            table = {name: [row.get(name) for row in rows] for name in names}
            types = {"key": pa.binary(), "value": pa.binary(), "timestamp": pa.timestamp("ms", "UTC")}
            arrays = {name: pa.array(values, types.get(name)) for name, values in table.items()}
            pq.write_table(pa.table(arrays), tmp_path / "dump.parquet")
            return table_of(read_batch(engine, str(tmp_path), offset_commits=offset_commits).rows)

        return read

    def row(self, offset, key=EPOCH, partition=0, timestamp=1_000):
        return {"key": key, "value": b"v", "partition": partition, "offset": offset, "timestamp": timestamp + offset}

    @pytest.mark.parametrize(
        ("offsets", "expected"),
        [
            ([0, 1, 2], (0, 2, False)),
            ([4, 5], (4, 5, False)),
            ([0, 2, 3], (0, 3, True)),
            # Saved twice, it has as many rows as offsets.
            ([0, 0, 2, 2], (0, 2, True)),
            ([0, 0, 1, 1], (0, 1, False)),
            # Offsets are counted in blocks, and a damaged dump may have negative ones.
            ([*range(-70, 140)], (-70, 139, False)),
            ([*range(-70, 0), *range(1, 140)], (-70, 139, True)),
        ],
    )
    def test_offsets_that_are_missing(self, read, offsets, expected):
        keys = [COMMIT, EPOCH]
        (file,) = files_of(read([self.row(offset, keys[n % 2]) for n, offset in enumerate(offsets)]))
        assert (file["first_offset"], file["last_offset"], file["has_gap"]) == expected
        assert (file["base_offset"], file["format"], file["unread"]) == (None, "parquet", [])

    def test_offset_commits_are_counted(self, read, engine):
        rows = [
            self.row(0, COMMIT),
            self.row(1, COMMIT, timestamp=5_000),
            self.row(2, b"\x00\x00", partition=1),
            self.row(3),
        ]
        log = read(rows)
        skipped = {file["partition"]: (file["skipped"], file["newest_skipped"]) for file in files_of(log)}
        assert skipped == {
            0: ([{"key_type": 1, "transaction": "unknown", "count": 2}], 5_001),
            1: ([{"key_type": 0, "transaction": "unknown", "count": 1}], 1_002),
        }
        assert newest_ms(engine, log) == 5_001
        assert [row["offset"] for row in in_log_order(log)] == [3]
        whole = read(rows, offset_commits=True)
        assert [file["skipped"] for file in files_of(whole)] == [[], []]
        assert len(in_log_order(whole)) == 4

    def test_offset_commits_in_error_stay(self, read):
        far = 400_000_000_000_000
        (row,) = in_log_order(read([self.row(0, COMMIT, timestamp=far), self.row(1, COMMIT)]))
        assert (row["offset"], row["error_code"], row["timestamp"]) == (0, "timestamp_out_of_range", None)

    def test_keys_that_tell_no_group(self, read):
        keys = {0: None, 1: b"\x00", 2: b"\x00\x03\x00\x05g", 3: b"\x00\x18", 4: EPOCH}
        told = {
            row["offset"]: (row["error_code"], row["error"])
            for row in in_log_order(read([self.row(*each) for each in keys.items()]))
        }
        too_short = "key: no key, or one too short to hold a record type"
        assert told == {
            0: ("key_without_type", too_short),
            1: ("key_without_type", too_short),
            2: ("key_without_group", "key: no group id"),
            3: (None, None),
            4: (None, None),
        }


def test_segments_say_the_same_of_keys(engine, tmp_path):
    records = [
        Record(n, 5, key, b"") for n, key in enumerate((None, b"\x00", b"\x00\x03\x00\x05g", b"\x00\x18", EPOCH))
    ]
    segment(tmp_path / "__consumer_offsets-0", 0, write_batch(records))
    rows = in_log_order(read_rows(engine, str(tmp_path)))
    codes = ["key_without_type", "key_without_type", "key_without_group", None, None]
    assert [row["error_code"] for row in rows] == codes
    assert rows[2]["error"].endswith("log: key: no group id")


class TestColumnsOfNulls:
    """A column that is null in every row is there all the same."""

    ROWS = tuple(
        {"key": "AAMAAWc=", "value": None, "partition": 0, "offset": n, "timestamp": 1_763_712_000_123}
        for n in range(3)
    )

    def test_json(self, engine, tmp_path):
        (tmp_path / "dump.json").write_text("\n".join(map(json.dumps, self.ROWS)))
        assert [row["value"] for row in in_log_order(read_rows(engine, str(tmp_path)))] == [None] * 3

    def test_json_that_does_not_name_it(self, engine, tmp_path):
        rows = [{name: value for name, value in row.items() if value is not None} for row in self.ROWS]
        (tmp_path / "dump.json").write_text("\n".join(map(json.dumps, rows)))
        with pytest.raises(InputError, match="has no column value;"):
            read_rows(engine, str(tmp_path))

    def test_parquet_without_a_type(self, engine, tmp_path):
        table = {name: [row[name] for row in self.ROWS] for name in self.ROWS[0]} | {"key": [EPOCH] * 3}
        pq.write_table(pa.table(table), tmp_path / "dump.parquet")
        assert [row["value"] for row in in_log_order(read_rows(engine, str(tmp_path)))] == [None] * 3
