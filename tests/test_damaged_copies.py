"""Segment files of a broker, damaged: what is said of groups is what the whole files say, or that it is unknown."""

import struct

import pytest

from kip848_records.audit import AuditOptions, run_audit
from kip848_records.sources.log import TOPIC
from tests.audits import table_rows
from tests.protocol.plain_segments import batches_of

PARTITION = 2


@pytest.fixture(scope="module")
def segments(captures):
    """One partition's segment, by what is damaged in one of its batches, which stands before two thirds of it."""
    (file,) = (captures / "kafka-4.3.1" / "segments" / f"{TOPIC}-{PARTITION}").glob("*.log")
    batches = batches_of(file.read_bytes())
    third = len(batches) // 3
    before, bad, behind = b"".join(batches[:third]), batches[third], b"".join(batches[third + 1 :])
    base, length = struct.unpack_from(">qi", bad)
    return {
        "whole": before + bad + behind,
        "crc": before + bad[:-1] + bytes([bad[-1] ^ 1]) + behind,
        "base offset": before + struct.pack(">q", base | 1 << 40) + bad[8:] + behind,
        "length": before + struct.pack(">qi", base, length ^ 1 << 4) + bad[12:] + behind,
        "large length": before + struct.pack(">qi", base, length ^ 1 << 24) + bad[12:] + behind,
        "cut": before + bad[:30],
        "compacted": before + bad + b"".join(batches[third + 1 : -8] + batches[-5:]),
        "next batch begins": before + bad + behind + bytes(5),
    }


def write(folder, partition, segment):
    (folder / f"{TOPIC}-{partition}").mkdir(parents=True)
    (folder / f"{TOPIC}-{partition}" / f"{0:020}.log").write_bytes(segment)


def audited(spark, sources, out):
    """Partition -> group -> state."""
    run_audit(spark, AuditOptions(tuple(map(str, sources)), str(out)), lambda _: None)
    told = {}
    for row in table_rows(out, "group_state", "default"):
        told.setdefault(row["partition"], {})[row["group_id"]] = row["state"]
    return told


@pytest.fixture(scope="module")
def alone(spark, segments, tmp_path_factory):
    """Damage -> group -> state, of each segment as the only copy of a partition."""
    folder = tmp_path_factory.mktemp("damaged")
    for partition, segment in enumerate(segments.values()):
        write(folder / "log", partition, segment)
    told = audited(spark, [folder / "log"], folder / "out")
    return {damage: told[partition] for partition, damage in enumerate(segments)}


@pytest.mark.parametrize("damage", ["crc", "base offset", "length", "large length"])
def test_behind_what_cannot_be_read_nothing_is_known(alone, damage):
    assert len(alone["whole"]) > 1
    assert set(alone[damage].values()) == {"unknown"}


def test_a_copy_of_a_live_log_may_end_within_a_batch(alone):
    assert alone["next batch begins"] == alone["whole"]
    assert "unknown" not in alone["cut"].values()


def test_what_one_copy_lacks_another_may_have(spark, segments, alone, tmp_path):
    for partition, segment in enumerate(segments.values()):
        write(tmp_path / "damaged", partition, segment)
        write(tmp_path / "whole", partition, segments["whole"])
    told = audited(spark, [tmp_path / "damaged", tmp_path / "whole"], tmp_path / "out")
    assert told == dict.fromkeys(range(len(segments)), alone["whole"])


def test_a_copy_that_ended_within_a_batch_may_be_older_than_what_compaction_left(spark, segments, alone, tmp_path):
    """Of the time at which it ended nobody knows everything; what there was then is known from what is there now."""
    assert len(set(alone["compacted"].values()) - {"unknown"}) > 0
    for partition, damage in enumerate(("cut", "crc", "large length")):
        write(tmp_path / "damaged", partition, segments[damage])
        write(tmp_path / "later", partition, segments["compacted"])
    told = audited(spark, [tmp_path / "damaged", tmp_path / "later"], tmp_path / "out")
    assert told == dict.fromkeys(range(3), alone["compacted"])
