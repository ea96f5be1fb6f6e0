"""Several copies of the log: what is found at each path, and what becomes of rows that more than one copy holds."""

import json
import shutil

import pytest

from kip848_records import cli
from kip848_records.errors import InputError
from kip848_records.sources.copies import merge_copies
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.listing import find_copies
from tests.dump_log import read_dump_logs
from tests.log_rows import log_of, table_of
from tests.sources.batches import read_rows

EPOCH, OTHER, COMMIT = b"\x00\x03\x00\x01g", b"\x00\x03\x00\x01h", b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
VALUE = b"\x00\x00\x00\x00\x00\x01\x00"


@pytest.fixture(scope="module")
def capture(captures):
    return captures / "kafka-4.0.0-zstd" / "segments"


@pytest.fixture(scope="module")
def dump(captures):
    return captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"


def found(engine, *paths, source_format=None):
    return [
        (copy.name, copy.format, len(copy.files))
        for copy in find_copies(engine.listing(), map(str, paths), source_format)
    ]


class TestPaths:
    def test_each_path_is_a_copy_of_its_own_format(self, engine, capture, dump):
        paths = [capture, dump, capture / "__consumer_offsets-1"]
        assert found(engine, *paths) == [
            (str(capture), "segments", 3),
            (str(dump), "parquet", 4),
            (str(paths[2]), "segments", 1),
        ]
        rows = read_rows(engine, map(str, paths)).to_pylist()
        assert {row["copies"][0] for row in rows if row["key"] and row["error"] is None} == set(map(str, paths))

    def test_a_path_that_is_given_twice_is_read_once(self, engine, dump):
        assert len(found(engine, dump, dump)) == 1

    def test_the_files_of_a_folder_one_by_one_are_one_copy(self, engine, capture, tmp_path):
        folder = tmp_path / "__consumer_offsets-0"
        shutil.copytree(capture / "__consumer_offsets-0", folder)
        (only,) = folder.glob("*.log")
        following = folder / f"{10**6:020}.log"
        shutil.copy(only, following)
        assert found(engine, only, following) == [(str(folder), "segments", 2)]
        assert found(engine, following) == [(str(following), "segments", 1)]

    @pytest.mark.parametrize("source_format", [None, "segments"])
    def test_a_folder_of_brokers_data_folders(self, engine, capture, tmp_path, source_format):
        for broker in ("broker-2", "broker 1 [a]"):
            shutil.copytree(capture, tmp_path / broker)
        (tmp_path / "notes.txt").touch()
        (tmp_path / "topics.json").write_text("{}")
        (tmp_path / "other" / "orders-0").mkdir(parents=True)
        expected = [(f"{tmp_path}/{broker}", "segments", 3) for broker in ("broker 1 [a]", "broker-2")]
        assert found(engine, f"{tmp_path}/", source_format=source_format) == expected

    def test_a_broker_s_own_folder_comes_before_those_below_it(self, engine, capture, tmp_path):
        shutil.copytree(capture, tmp_path / "data")
        shutil.copytree(capture, tmp_path / "data" / "backup")
        assert found(engine, tmp_path / "data") == [(f"{tmp_path}/data", "segments", 3)]

    @pytest.mark.parametrize("source_format", [None, "segments"])
    def test_folders_without_any_log(self, engine, tmp_path, source_format):
        (tmp_path / "broker" / "orders-0").mkdir(parents=True)
        with pytest.raises(InputError, match=f"^{tmp_path} holds no files to read"):
            find_copies(engine.listing(), str(tmp_path), source_format)

    def test_one_that_is_missing_is_named(self, engine, capture, dump, tmp_path):
        with pytest.raises(InputError, match=f"^there is nothing at {tmp_path}/nowhere; expected"):
            read_rows(engine, [str(capture), f"{tmp_path}/nowhere", str(dump)])

    def test_one_that_is_foreign_is_named(self, engine, capture, tmp_path):
        (tmp_path / "README.md").write_text("Hello")
        with pytest.raises(InputError, match=f"^{tmp_path} is not a dump of __consumer_offsets"):
            read_rows(engine, [str(capture), str(tmp_path)])

    def test_inspect_prints_what_two_copies_hold_once(self, capture, tmp_path, capsys):
        folder = capture / "__consumer_offsets-0"
        shutil.copytree(folder, tmp_path / "__consumer_offsets-0")
        assert cli.main(["inspect", str(folder), str(tmp_path), "--json", "--type", "3"]) == 0
        offsets = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
        printed = read_dump_logs(capture.parent / "oracle" / "dump-log")
        assert offsets == [r["offset"] for r in printed if r["partition"] == 0 and r["type"] == 3]


class TestMergedRows:
    def test_of_equal_rows_one_stays_and_names_all_copies(self, engine):
        (row,) = merged(engine, [{"key": EPOCH, "value": VALUE, "copies": [name]} for name in ("b", "c", "a", "b")])
        assert (row["copies"], row["error"]) == (["a", "b", "c"], None)

    def test_tombstones_are_equal_too(self, engine):
        assert len(merged(engine, [{"key": EPOCH, "value": None, "copies": [name]} for name in "ab"])) == 1

    def test_the_outcome_of_a_transaction_that_one_copy_knows_counts(self, engine):
        pairs = [("pending", "committed"), ("aborted", "pending"), ("unknown", "none"), ("aborted", "unknown")]
        rows = [
            {"offset": offset, "key": COMMIT, "value": VALUE, "transaction": transaction, "copies": [name]}
            for offset, pair in enumerate(pairs)
            for name, transaction in zip("ab", pair, strict=True)
        ]
        told = [row["transaction"] for row in merged(engine, rows)]
        assert told == ["committed", "aborted", "none", "aborted"]

    def test_of_equal_rows_with_other_timestamps_the_first_stays(self, engine):
        copies = [("b", 3), ("a", 2), ("c", 4)]
        rows = [{"key": EPOCH, "value": VALUE, "timestamp": time_ms, "copies": [name]} for name, time_ms in copies]
        (row,) = merged(engine, rows)
        assert (row["timestamp"].microsecond, row["copies"]) == (2_000, ["a", "b", "c"])

    def test_other_bytes_at_one_place_are_errors_that_name_their_copies(self, engine):
        values = (VALUE, None, VALUE)
        rows = [{"key": EPOCH, "value": value, "copies": [name]} for name, value in zip("abc", values, strict=True)]
        told = {row["value"]: (row["error_code"], row["error"], row["copies"]) for row in merged(engine, rows)}
        words = "another row has the same partition and offset, but other bytes; this one is of"
        assert told == {
            VALUE: (ErrorCode.CONFLICT, f"{words} a, c", ["a", "c"]),
            None: (ErrorCode.CONFLICT, f"{words} b", ["b"]),
        }

    def test_markers_errors_and_what_files_cover_stay_with_their_copies(self, engine):
        kinds = (
            {"control": "commit"},
            {"value": b"x", "error_code": "bad_crc", "error": "unread"},
            {"file": {"format": "segments"}},
        )
        rows = [{**kind, "copies": [name]} for kind in kinds for name in "ab"]
        rows += [{"key": EPOCH, "value": VALUE, "copies": ["a"]}]
        told = sorted(
            (row["control"] or "", row["error"] or "", bool(row["file"]), row["copies"]) for row in merged(engine, rows)
        )
        expected = [("", "", False, ["a"])]
        expected += [
            each
            for name in "ab"
            for each in (("", "", True, [name]), ("", "unread", False, [name]), ("commit", "", False, [name]))
        ]
        assert told == sorted(expected)

    def test_of_equal_rows_the_one_stays_that_knows_the_leader_epoch(self, engine):
        rows = [
            {"key": EPOCH, "leader_epoch": epoch, "timestamp": at, "copies": [str(at)]}
            for at, epoch in enumerate((None, 4, None))
        ]
        assert [row["leader_epoch"] for row in merged(engine, rows)] == [4]


def merged(engine, rows):
    """The merged rows of one place, unless rows name others."""
    log = merge_copies(engine, engine.relation(log_of({"offset": 5} | row for row in rows)))
    return sorted(table_of(log).to_pylist(), key=lambda row: row["offset"])
