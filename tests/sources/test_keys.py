"""Record types and group ids by the first bytes of keys: columns in a worker, and the JVM's expressions, agree."""

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from kip848_records.protocol.keys import GROUP_TYPES, key_columns, lacks_group
from kip848_records.protocol.messages import RECORDS
from kip848_records.sources.predicates import key_of_types
from kip848_records.sources.topic.spark_rows import group_id, key_type

KEYS = {
    "no key": (None, None, None),
    "empty": (b"", None, None),
    "one byte": (b"\x00", None, None),
    "a type": (b"\x00\x03", 3, None),
    "negative": (b"\xff\xfe\x00\x01g", -2, None),
    "a length cut": (b"\x00\x03\x00", 3, None),
    "no group": (b"\x00\x03\x00\x00", 3, ""),
    "a group": (b"\x00\x03\x00\x01g", 3, "g"),
    "a member": (b"\x00\x05\x00\x02gr\x00\x01m", 5, "gr"),
    "cut": (b"\x00\x03\x00\x03gr", 3, None),
    "negative length": (b"\x00\x03\xff\xffgr", 3, None),
    "longest": (b"\x00\x03\x7f\xff" + b"g" * 32767, 3, "g" * 32767),
    "not UTF-8": (b"\x00\x03\x00\x02\xff\xfe", 3, None),
    "UTF-8": (b"\x00\x10\x00\x04\xf0\x9f\x90\x8d", 16, "\N{SNAKE}"),
    "a commit": (b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00", 1, "g"),
    "of no known type": (b"\x00\x18\x00\x01g", 24, None),
}


def test_columns():
    keys, types, groups = zip(*KEYS.values(), strict=True)
    told_types, told_groups = key_columns(pa.array(keys, pa.binary()))
    assert told_types.to_pylist() == list(types)
    assert told_groups.to_pylist() == list(groups)
    assert (told_types.type, told_groups.type) == (pa.int32(), pa.string())


@pytest.mark.parametrize("name", KEYS)
def test_one_by_one_and_sliced(name):
    key, kind, group = KEYS[name]
    for keys in (pa.array([key], pa.binary()), pa.array([b"\x00\x05", key, b"x"], pa.binary())[1:2]):
        types, groups = key_columns(keys)
        assert (types.to_pylist(), groups.to_pylist()) == ([kind], [group])


def test_no_keys():
    assert [len(column) for column in key_columns(pa.array([], pa.binary()))] == [0, 0]


@pytest.mark.nightly
def test_the_jvm_says_the_same(spark):
    rows = spark.createDataFrame([(name, key) for name, (key, *_) in KEYS.items()], "name string, key binary")
    typed = rows.withColumn("key_type", key_type())
    columns = "name", "key_type", F.when(F.expr(key_of_types(RECORDS)), group_id()).alias("group")
    told = {row.name: (row.key_type, row.group) for row in typed.select(*columns).collect()}
    assert told == {name: tuple(expected) for name, (_, *expected) in KEYS.items()}


def test_records_of_groups_that_lack_one():
    types, groups = key_columns(pa.array([key for key, *_ in KEYS.values()], pa.binary()))
    lacking = {name for name, lacks in zip(KEYS, lacks_group(types, groups).to_pylist(), strict=True) if lacks}
    assert lacking == {"a type", "a length cut", "cut", "negative length", "not UTF-8"}
    assert {0, 1, 24}.isdisjoint(GROUP_TYPES)
