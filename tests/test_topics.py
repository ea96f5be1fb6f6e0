"""Where topic names come from."""

import json

import pytest

from kip848_records.errors import InputError
from kip848_records.topics import read_topics_file, topic_names

PLACE = "partition int, offset bigint"
TOPICS = "array<struct<topic_id: string, topic_name: string>>"


@pytest.fixture
def tables(spark):
    def topics(*rows):
        return spark.createDataFrame([(0, offset, list(pairs)) for offset, pairs in rows], f"{PLACE}, topics {TOPICS}")

    share = f"{PLACE}, initializing_topics {TOPICS}, initialized_topics {TOPICS}, deleting_topics {TOPICS}"
    commits = [
        (0, 1, "by-file", "file"),
        (0, 2, "by-commit", "commit"),
        (0, 3, "A" * 22, "nothing"),
        (0, 4, None, "none"),
    ]
    return {
        "consumer_group_partition_metadata": topics(
            (1, [("by-record", "old name")]), (9, [("by-record", "new name"), ("by-file", "not this")])
        ),
        "share_group_state_partition_metadata": spark.createDataFrame(
            [(0, 5, [("being-made", "i")], [("by-record", "not this"), ("made", "ii")], None)], share
        ),
        "offset_commit": spark.createDataFrame(commits, f"{PLACE}, topic_id string, topic string"),
    }


def test_the_surest_source_wins_and_of_its_records_the_last(spark, tables):
    names = topic_names(spark, tables, {"by-file": "given"}).collect()
    assert {row.topic_id: (row.topic, row.source) for row in names} == {
        "by-file": ("given", "topics_file"),
        "by-record": ("new name", "consumer_group_partition_metadata"),
        "being-made": ("i", "share_group_state_partition_metadata"),
        "made": ("ii", "share_group_state_partition_metadata"),
        "by-commit": ("commit", "offset_commit"),
    }


def test_without_offset_commits_they_are_not_asked(spark, tables):
    names = topic_names(spark, {name: tables[name] for name in tables.keys() - {"offset_commit"}}, {}).collect()
    assert "by-commit" not in {row.topic_id for row in names}


def test_a_topics_file(tmp_path):
    (tmp_path / "topics.json").write_text(json.dumps({"id": "n\N{SNAKE}"}), encoding="utf-8")
    assert read_topics_file(str(tmp_path / "topics.json")) == {"id": "n\N{SNAKE}"}


def test_a_topics_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError) as caught:
        read_topics_file(str(tmp_path / "topics.json"))
    assert caught.value.message == f"{tmp_path}/topics.json is no topics file: No such file or directory"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b"\xff", b"null"])
def test_what_is_no_topics_file(tmp_path, content):
    path = tmp_path / "topics.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r'topics\.json is no topics file: .+; expected JSON: {"<topic id>"'):
        read_topics_file(str(path))
