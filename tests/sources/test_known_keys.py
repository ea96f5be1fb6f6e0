"""Whether a source is the log of group coordinators at all: refused before any of it is written anywhere."""

import json
import struct
from base64 import b64encode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.errors import InputError
from kip848_records.sources import known_keys
from kip848_records.sources.known_keys import check_is_log, check_rows_are_log, known_key
from kip848_records.sources.listing import find_copies
from tests.log_rows import log_of
from tests.protocol.segment_writer import Record, write_batch
from tests.sources.test_segments import segment

EPOCH = b"\x00\x03\x00\x01g"
COMMIT = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
DRAFT_CONFIGURATION = b"\x00\x08\x00\x01g"
BUSINESS = [b"order-17", b"{}", b"", b"\x00", *(struct.pack(">q", n) for n in range(300)), b"\x00\x03\x00\x01gg"]
BUSINESS += [struct.pack(">i", n) for n in (0, 1, 5, 2 << 16, 3 << 16, 8 << 16, 8 << 16 | 1)]


def binary(keys):
    return pa.array(keys, pa.binary())


@pytest.mark.parametrize("key", [EPOCH, COMMIT, DRAFT_CONFIGURATION, b"\x00\x08\x00\x01g\x00\x01m"])
def test_one_key_is_enough(key):
    assert known_key(binary([*BUSINESS, None, key])) == key


def test_keys_of_other_topics():
    assert known_key(binary([*BUSINESS, None])) is None
    assert known_key(binary([])) is None


def write(path, source_format, keys, **columns):
    """A source of that format with these keys, one row each."""
    rows = [
        {"key": key, "partition": 0, "offset": n, "timestamp": 1_763_712_000_123, **columns}
        for n, key in enumerate(keys)
    ]
    if source_format == "segments":
        segment(
            path / "__consumer_offsets-0",
            0,
            *(write_batch([Record(row["offset"], 5, row["key"], b"v")]) for row in rows),
        )
    elif source_format == "json":
        lines = [row | {"key": b64encode(row["key"] or b"").decode(), "value": "AA=="} for row in rows]
        (path / "dump.json").write_text("\n".join(map(json.dumps, lines)))
    else:
        names = ["key", "partition", "offset", "timestamp", *columns]
        table = {name: [row[name] for row in rows] for name in names} | {"value": [b"v"] * len(rows)}
        types = {"key": pa.binary(), "value": pa.binary()}
        arrays = {name: pa.array(values, types.get(name)) for name, values in table.items()}
        pq.write_table(pa.table(arrays), path / "dump.parquet")
    return path


FORMATS = ("segments", "parquet", "json")


def check(engine, path):
    check_is_log(engine, find_copies(engine.listing(), str(path)))


@pytest.mark.parametrize("source_format", FORMATS)
def test_another_topic_is_refused(engine, tmp_path, source_format):
    write(tmp_path, source_format, BUSINESS)
    with pytest.raises(InputError, match=r"no record with a key .*; check that it is `__consumer_offsets`") as caught:
        check(engine, tmp_path)
    assert caught.value.message.startswith(str(tmp_path))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("source_format", FORMATS)
def test_a_log_needs_no_engine(engine, tmp_path, source_format, monkeypatch):
    copies = find_copies(engine.listing(), str(write(tmp_path, source_format, [*BUSINESS, EPOCH])))
    monkeypatch.setattr(known_keys, "check_rows_are_log", lambda *_: pytest.fail("asked the engine"))
    check_is_log(engine, copies)


@pytest.mark.parametrize("source_format", FORMATS)
def test_nor_does_an_engine_return_more_than_a_row(engine, tmp_path, source_format, monkeypatch):
    copies = find_copies(engine.listing(), str(write(tmp_path, source_format, [*BUSINESS, EPOCH])))
    monkeypatch.setattr(known_keys, "_has_local_known_key", lambda _: False)
    collect, returned = engine.collect, []
    monkeypatch.setattr(engine, "collect", lambda rows: returned.append(collect(rows)) or returned[-1])
    check_is_log(engine, copies)
    assert {len(rows) for rows in returned} == {1}


def test_each_copy_is_asked(engine, tmp_path):
    for name, keys in (("good", [EPOCH]), ("bad", BUSINESS)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "parquet", keys)
    copies = find_copies(engine.listing(), [str(tmp_path / "good"), str(tmp_path / "bad")])
    with pytest.raises(InputError, match="/bad has no record"):
        check_is_log(engine, copies)


def test_rows_of_another_topic_alone_are_refused(engine, tmp_path):
    """Their keys may look like anything."""
    write(tmp_path, "parquet", [b"x"], topic="orders")
    with pytest.raises(InputError, match="check that it is"):
        check(engine, tmp_path)


def test_a_damaged_source_is_for_quarantine(engine, tmp_path):
    damaged = bytearray(write_batch([Record(0, 5, b"order", b"v")]))
    damaged[-1] ^= 1
    segment(tmp_path / "__consumer_offsets-0", 0, bytes(damaged))
    check(engine, tmp_path)


def test_no_rows_are_another_matter(engine, tmp_path):
    segment(tmp_path / "__consumer_offsets-0", 0)
    check(engine, tmp_path)
    check_rows_are_log(engine, engine.relation(log_of([])), "a topic")


def test_rows_of_a_topic(engine):
    both, other = (engine.relation(log_of({"key": key} for key in keys)) for keys in ((b"order", COMMIT), (b"order",)))
    check_rows_are_log(engine, both, "kafka://b/t")
    with pytest.raises(InputError, match=r"^kafka://b/t has no record"):
        check_rows_are_log(engine, other, "kafka://b/t")
