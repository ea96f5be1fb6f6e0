"""A row's message does not depend on the rows around it, nor on the form that the column has."""

import random
from struct import pack

import numpy as np
import pyarrow as pa
import pytest

from kip848_records.protocol.columnar import Error, decode
from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.messages import RECORDS
from tests.protocol.comparisons import compare_messages
from tests.protocol.damage import mutate
from tests.protocol.samples import messages_by_layout


def column(rows):
    return pa.array(rows, pa.binary())


@pytest.fixture(scope="module")
def member():
    """The layout of type 8 and some messages of it."""
    (layout,) = RECORDS[8].value_layouts(0)
    return layout, [message for message in messages_by_layout()[layout] if 60 < len(message) < 300][:20]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_forms_of_a_column(member, kind):
    layout, messages = member
    expected = decode(layout, column(messages)).values.to_pylist()
    whole = pa.array(messages, kind)
    assert decode(layout, whole).values.to_pylist() == expected
    for first, length in ((0, 5), (7, 1), (7, 13), (20, 0)):
        decoded = decode(layout, whole.slice(first, length))
        assert decoded.values.to_pylist() == expected[first : first + length]
        assert len(decoded.errors) == len(decoded.positions) == length


@pytest.mark.parametrize("rows", [[], [None], [None] * 20])
def test_nothing_to_decode(member, rows):
    layout, _ = member
    decoded = decode(layout, column(rows))
    assert decoded.values.type == layout.struct.arrow
    assert decoded.values.to_pylist() == rows
    assert not decoded.errors.any()


def test_null_rows(member):
    layout, messages = member
    expected = decode(layout, column(messages)).values.to_pylist()
    rows = [row for message in messages for row in (None, message, b"")]
    decoded = decode(layout, column(rows))
    assert decoded.values.to_pylist() == [row for value in expected for row in (None, value, None)]
    assert list(decoded.errors) == [Error.NONE, Error.NONE, Error.TRUNCATED] * len(messages)


def test_one_failing_row_in_every_position(member):
    layout, messages = member
    expected = decode(layout, column(messages)).values.to_pylist()
    first = messages[0]
    broken = [b"", first[:5], first[:12], first[:-1], first + b"\0", first[:9] + b"\xff" * 30, b"\0" * 9]
    for place in range(len(messages)):
        for bad in broken:
            rows = [*messages[:place], bad, *messages[place + 1 :]]
            decoded = decode(layout, column(rows))
            assert np.flatnonzero(decoded.errors).tolist() == [place]
            assert decoded.values.to_pylist() == [*expected[:place], None, *expected[place + 1 :]]


def test_a_row_does_not_depend_on_its_batch():
    """Single rows are walked otherwise than many: both find the same."""
    rng = random.Random(8)  # noqa: S311 - not for secrets
    for layout, messages in messages_by_layout().items():
        short = [message for message in messages if len(message) < 400]
        rows = [mutate(rng, rng.choice(short), rng.choice(short)) for _ in range(60)]
        together = decode(layout, column(rows))
        for place, row in enumerate(rows):
            alone = decode(layout, column([row]))
            assert alone.errors[0] == together.errors[place]
            assert alone.positions[0] == together.positions[place]
            assert alone.values[0].as_py() == together.values[place].as_py()


def test_every_prefix_of_real_messages():
    for layout, messages in messages_by_layout().items():
        for message in [message for message in messages if len(message) < 200][:5]:
            compare_messages(layout, [message[:cut] for cut in range(len(message) + 1)])


def test_one_row_with_thousands_of_topics(member):
    layout, messages = member
    topics = [{"topicId": f"{number:022}", "partitions": [number]} for number in range(5000)]
    value = {"memberEpoch": 1, "previousMemberEpoch": 1, "state": 0, "assignedPartitions": topics}
    long = encode_message(layout, value | {"partitionsPendingRevocation": []})[2:]
    rows = [*messages[:10], long, *messages[10:], long[:-2], long[:100_000]]
    decoded = decode(layout, column(rows))
    assert np.flatnonzero(decoded.errors).tolist() == [21, 22]
    assert decoded.values[10].as_py()["assigned_partitions"][4999]["partitions"] == [4999]
    assert compare_messages(layout, rows) == 21


def test_alternating_types_versions_and_layouts():
    """Rows of every type and layout in turn, with tombstones, unknown types and broken ones between them."""
    found = messages_by_layout()
    samples = [
        (
            record,
            layout,
            pack(">h", record.key_type) + found[record.key_layout][0],
            pack(">h", version) + found[layout][0],
        )
        for record in RECORDS.values()
        for message in record.values
        for version, layout in message.layouts.items()
        if layout in found
    ]
    rows = []
    for record, layout, key, value in samples * 20:
        rows += [(record, layout, key, value), (record, None, key, None), (None, None, b"\x7f\xff", value)]
        rows += [(None, Error.TRUNCATED, key, value[:1]), (None, Error.MISSING_KEY, b"\0", value)]
        rows += [(None, Error.UNKNOWN_VERSION, key, b"\x7f\xff" + value[2:]), (None, Error.TRUNCATED, key[:3], value)]
    batch = decode_records(column([key for *_, key, _ in rows]), column([value for *_, value in rows]))
    assert batch.unknown.tolist() == [place for place, row in enumerate(rows) if row[2] == b"\x7f\xff"]
    failed = {place: row[1] for place, row in enumerate(rows) if isinstance(row[1], Error)}
    assert {int(place): Error(batch.errors[place]) for place in np.flatnonzero(batch.errors)} == failed
    assert [place for place in failed if batch.in_key[place]] == [p for p in failed if len(rows[p][2]) < 4]
    grouped = {}
    for group in batch.groups:
        assert group.rows.tolist() == sorted(group.rows)
        for place, row in enumerate(group.rows):
            grouped[int(row)] = (group.record, group.layout)
            alone = decode_records(column([rows[row][2]]), column([rows[row][3]])).groups[0] if row < 400 else None
            if alone:
                assert alone.key[0].as_py() == group.key[place].as_py()
                assert alone.value is None or alone.value[0].as_py() == group.value[place].as_py()
    assert {p: found[0] for p, found in grouped.items()} == {p: row[0] for p, row in enumerate(rows) if row[0]}
