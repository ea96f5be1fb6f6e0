"""Topic names for the ids in assignments, from several sources, the most reliable first."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.errors import InputError
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.protocol.schema import NO_UUID
from kip848_records.queries.texts import rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.engines.engine import Engine, Relation

TOPICS_FILE: Final = "topics_file"
LIVE: Final = "cluster"
"""Sources of names outside of records: the user's file, and the metadata of the live cluster."""

_SOURCES: Final = (
    TOPICS_FILE,
    LIVE,
    "consumer_group_partition_metadata",
    "share_group_state_partition_metadata",
    OFFSET_COMMIT_TABLE,
)
"""From the most to the least reliable."""


def read_topics_file(path: str) -> dict[str, str]:
    """Return topic names by id from a JSON object of them; raises InputError if the file is not one."""
    try:
        topics = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError.bad_topics_file(path, str(error.strerror)) from None
    except ValueError as error:
        raise InputError.bad_topics_file(path, str(error)) from None
    if not isinstance(topics, dict) or not all(isinstance(name, str) for name in topics.values()):
        raise InputError.bad_topics_file(path, "it is not an object of names by id")
    return topics


def names_of_commits(engine: Engine, commits: Relation) -> Relation:
    """Return the last record of each name in offset commits, as rows of `replay.rows.TopicName`.

    `commits`: decoded ones, or those of `decode.records.checked_commits`.
    """
    text = rendered("pipeline/sql/names_of_commits.sql", source=OFFSET_COMMIT_TABLE, no_uuid=NO_UUID)
    return engine.sql(text, commits=commits)


def topic_names(given: Iterable[tuple[str, str, str]], found: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return the topics with known names, one row each: `topic_id`, `topic`, `source`.

    `given`: (topic id, topic, source), of which the last counts; `found`: rows of `replay.rows.TopicName`. A topic
    keeps its id and its name, and a new topic of the same name has another id: so the last of several records counts.
    """
    surest: dict[str, tuple[tuple[int, int, int], str, str]] = {}
    named = ((topic_id, topic, source, 0, place) for place, (topic_id, topic, source) in enumerate(given))
    for topic_id, topic, source, partition, offset in chain(named, _last_names(found)):
        rank = (_SOURCES.index(source), -offset, partition)
        if topic_id not in surest or rank < surest[topic_id][0]:
            surest[topic_id] = rank, topic, source
    rows = [(topic_id, topic, source) for topic_id, (_, topic, source) in surest.items()]
    columns = zip(*rows, strict=True) if rows else [()] * 3
    return pa.table([pa.array(column, pa.string()) for column in columns], ["topic_id", "topic", "source"])


def _last_names(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield the last record of each name in each batch: a name is repeated with each change of a group's topics."""
    for batch in batches:
        named = pa.Table.from_batches([batch]).filter(pc.field("topic").is_valid())
        last = named.group_by(["topic_id", "topic", "source", "partition"]).aggregate([("offset", "max")])
        columns = ("topic_id", "topic", "source", "partition", "offset_max")
        yield from zip(*(last[name].to_pylist() for name in columns), strict=True)
