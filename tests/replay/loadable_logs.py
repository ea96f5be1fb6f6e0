"""Logs of one partition, and what the coordinators of seven releases of Kafka made of them, from 3.9.1 to 4.4.0;
3.9.1-old is the default coordinator of 3.9, of the logs that were made by hand.

Each line of `loadable/logs.jsonl.gz` is a log: its name; `log`, a segment in base64; `refused`, by release, the offset
of the record that ended the load, null if the partition was loaded; and `converts`, by classic group, whether the
coordinator of 4.4.0 let a consumer member join. 115 logs were made by hand, and are named after their content; in 100
the records are in random order (`r…`). The others (`value …`) have values that no broker writes; they lack 3.9.1.
"""

import gzip
import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kip848_records.protocol.keys import key_columns
from kip848_records.protocol.segments.reader import Segment
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE, LOG_SCHEMA
from tests.replay.classic_logs import Tables, tables_of

_FILE = Path(__file__).parent / "loadable" / "logs.jsonl.gz"
_COMMITS = (b"\0\0", b"\0\1")
_SCHEMA = LOG_SCHEMA.append(pa.field(COMMIT_BEFORE, pa.int64()))


class LoadableLog(NamedTuple):
    """A log with Kafka's answers. `commits`: the groups with offset commits."""

    name: str
    rows: list[dict[str, Any]]
    refused: dict[str, int | None]
    converts: dict[str, bool]

    def tables(self, *, with_commits: bool = True) -> Tables:
        """The rows that the replay returns. `with_commits`: it knows where offset commits are."""
        return _tables(self.name, with_commits=with_commits)


@cache
def loadable_logs() -> tuple[LoadableLog, ...]:
    """All logs."""
    with gzip.open(_FILE, "rt", encoding="utf-8") as lines:
        found = map(json.loads, lines)
        return tuple(
            LoadableLog(each["name"], _rows(b64decode(each["log"])), each["refused"], each.get("converts", {}))
            for each in found
        )


@cache
def _tables(name: str, *, with_commits: bool) -> Tables:
    groups = []
    commits: dict[str | None, int] = {}
    for row in loadable_log(name).rows:
        if row["key"] is None or row["key"][:2] not in _COMMITS:
            groups.append({**row, COMMIT_BEFORE: commits.get(row["group_id"])})
        elif row["value"] is not None and with_commits:
            commits[row["group_id"]] = row["offset"]
    groups.sort(key=lambda row: (row["group_id"] or "", row["offset"]))
    return tables_of(pa.RecordBatch.from_pylist(groups, _SCHEMA))


def loadable_log(name: str) -> LoadableLog:
    return next(log for log in loadable_logs() if log.name == name)


def _rows(data: bytes) -> list[dict[str, Any]]:
    segment = Segment(memoryview(data), base_offset=None)
    rows = [row for each in segment.groups() for row in segment.rows(each, ~each.is_control).to_pylist()]
    _, group_ids = key_columns(pa.array([row["key"] for row in rows], pa.binary()))
    return [
        {**{name: row.get(name) for name in LOG_SCHEMA.names}, "partition": 0, "group_id": group_id}
        for row, group_id in zip(rows, group_ids.to_pylist(), strict=True)
    ]
