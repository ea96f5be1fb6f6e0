"""Where topic names come from."""

import json

import pyarrow as pa
import pytest

from kip848_records.errors import InputError
from kip848_records.pipeline.names import LIVE, TOPICS_FILE, names_of_commits, read_topics_file, topic_names
from tests.log_rows import table_of

PLACED = [("topic_id", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
FOUND = pa.schema([*PLACED[:2], ("source", pa.string()), *PLACED[2:]])
TYPE_4, TYPE_15 = "consumer_group_partition_metadata", "share_group_state_partition_metadata"


def rows_of(schema, rows):
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def test_the_surest_source_wins_and_of_its_records_the_last(engine):
    of_records = [
        ("by-record", "old name", TYPE_4, 0, 1),
        ("by-record", "new name", TYPE_4, 0, 9),
        ("by-file", "not this", TYPE_4, 0, 9),
        ("being-made", "i", TYPE_15, 0, 5),
        ("by-record", "not this", TYPE_15, 0, 50),
        ("unnamed", None, TYPE_15, 0, 5),
    ]
    commits = [("by-file", "file", 1), ("by-commit", "commit", 2), ("A" * 22, "nothing", 3), (None, "none", 4)]
    decoded = rows_of(pa.schema(PLACED), [(*commit[:2], 0, commit[2]) for commit in commits])
    found = [rows_of(FOUND, of_records), table_of(names_of_commits(engine, engine.relation(decoded)))]
    given = [("by-file", "first", TOPICS_FILE), ("by-file", "given", TOPICS_FILE), ("by-file", "live", LIVE)]
    names = topic_names(given, (batch for rows in found for batch in rows.to_batches()))
    assert sorted(zip(*names.to_pydict().values(), strict=True)) == [
        ("being-made", "i", TYPE_15),
        ("by-commit", "commit", "offset_commit"),
        ("by-file", "given", TOPICS_FILE),
        ("by-record", "new name", TYPE_4),
    ]


def test_no_topic_has_a_name():
    assert topic_names([], []).num_rows == 0


def test_a_topics_file(tmp_path):
    (tmp_path / "topics.json").write_text(json.dumps({"id": "n\N{SNAKE}"}), encoding="utf-8")
    assert read_topics_file(str(tmp_path / "topics.json")) == {"id": "n\N{SNAKE}"}


def test_a_topics_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError) as caught:
        read_topics_file(str(tmp_path / "topics.json"))
    assert caught.value.message == f"{tmp_path}/topics.json is not a topics file: No such file or directory"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b"\xff", b"null"])
def test_what_is_no_topics_file(tmp_path, content):
    path = tmp_path / "topics.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r'topics\.json is not a topics file: .+; expected JSON: {"<topic id>"'):
        read_topics_file(str(path))
