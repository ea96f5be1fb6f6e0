"""Segment files of a broker, damaged: what is said of groups is what the whole files say, or that it is unknown.

The product is its own oracle: an audit of damaged files is compared with its audit of the whole ones.
"""

import json
from base64 import b64encode

import pyarrow.parquet as pq
import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.specs.log_columns import TOPIC
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.log.damaged_segments import damaged_segments
from tests.progress import Watcher


@pytest.fixture(scope="module")
def segments(captures):
    """One partition's segment, by what is damaged in it."""
    damaged, *_ = damaged_segments(captures)
    return damaged


def write(folder, partition, segment):
    (folder / f"{TOPIC}-{partition}").mkdir(parents=True)
    (folder / f"{TOPIC}-{partition}" / f"{0:020}.log").write_bytes(segment)


def audited(sources, out):
    """Partition -> group -> state."""
    run_audit(None, AuditOptions(tuple(map(str, sources)), str(out)), Watcher())
    told = {}
    for row in table_rows(out, "group_state", "default"):
        told.setdefault(row["partition"], {})[row["group_id"]] = row["state"]
    return told


@pytest.fixture(scope="module")
def alone(segments, tmp_path_factory):
    """Damage -> group -> state, of each segment as the only copy of a partition."""
    folder = tmp_path_factory.mktemp("damaged")
    for partition, segment in enumerate(segments.values()):
        write(folder / "log", partition, segment)
    told = audited([folder / "log"], folder / "out")
    return {damage: told[partition] for partition, damage in enumerate(segments)}


@pytest.mark.parametrize("damage", ["crc", "base offset", "length", "large length"])
def test_behind_what_cannot_be_read_nothing_is_known(alone, damage):
    assert len(alone["whole"]) > 1
    assert set(alone[damage].values()) == {"unknown"}


def test_a_copy_of_a_live_log_may_end_within_a_batch(alone):
    assert alone["next batch begins"] == alone["whole"]
    assert "unknown" not in alone["cut"].values()


def test_what_one_copy_lacks_another_may_have(segments, alone, tmp_path):
    for partition, segment in enumerate(segments.values()):
        write(tmp_path / "damaged", partition, segment)
        write(tmp_path / "whole", partition, segments["whole"])
    told = audited([tmp_path / "damaged", tmp_path / "whole"], tmp_path / "out")
    assert told == dict.fromkeys(range(len(segments)), alone["whole"])


def test_a_copy_that_ended_within_a_batch_may_be_older_than_what_compaction_left(segments, alone, tmp_path):
    """Of the time at which it ended nobody knows everything; what there was then is known from what is there now."""
    assert len(set(alone["compacted"].values()) - {"unknown"}) > 0
    for partition, damage in enumerate(("cut", "crc", "large length")):
        write(tmp_path / "damaged", partition, segments[damage])
        write(tmp_path / "later", partition, segments["compacted"])
    told = audited([tmp_path / "damaged", tmp_path / "later"], tmp_path / "out")
    assert told == dict.fromkeys(range(3), alone["compacted"])


LOST_IN_THE_DUMP = (3, 6)


@pytest.fixture(scope="module")
def files_and_dump(captures, tmp_path_factory):
    """The files of a log, and a damaged dump of it: in the dump no epoch of any group can be read."""
    capture = captures / "kafka-4.3.1-all-types"
    folder = tmp_path_factory.mktemp("dump")
    rows = pq.read_table(capture / "kafka-source.parquet").to_pylist()
    (folder / "dump.json").write_text("\n".join(dump_line(row, LOST_IN_THE_DUMP) for row in rows))
    return capture / "segments", folder


@pytest.fixture(scope="module")
def tables_of_files_and_both(files_and_dump, tmp_path_factory):
    """The tables of the files alone, and those of both."""
    outs = [tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("both")]
    for out, sources in zip(outs, (files_and_dump[:1], files_and_dump), strict=True):
        audited(sources, out)
    return outs


@pytest.mark.slow
@pytest.mark.parametrize("table", ["group_state", "epoch_timeline", "latest_state", "membership", "rebalance_lag"])
def test_a_record_that_one_copy_cannot_read_is_not_lost(tables_of_files_and_both, table):
    alone, both = (Rows(table_rows(out, table, "default")) for out in tables_of_files_and_both)
    assert len(alone) > 1
    assert both == alone


def test_the_quarantine_shows_what_one_copy_cannot_read(tables_of_files_and_both):
    alone, both = (table_rows(out, "quarantine", "default") for out in tables_of_files_and_both)
    assert alone == []
    assert {row["error_code"] for row in both} == {"not_base64"}
    assert len(both) > 10


def test_alone_the_damaged_copy_knows_no_state(files_and_dump, tmp_path):
    states = audited(files_and_dump[1:], tmp_path)
    assert "unknown" in {state for groups in states.values() for state in groups.values()}


def dump_line(row, lost):
    """A line of a JSON dump; the values of records of these types are damaged."""
    key, value = ("" if row[name] is None else b64encode(row[name]).decode() for name in ("key", "value"))
    damaged = int.from_bytes(row["key"][:2], "big") in lost
    at = row["timestamp"].isoformat()
    line = {"key": key, "partition": row["partition"], "offset": row["offset"], "timestamp": at}
    return json.dumps(line | {"value": "***" if damaged else None if row["value"] is None else value})
