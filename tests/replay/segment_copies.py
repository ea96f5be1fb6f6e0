"""Segment files of a broker, replayed in process: the rows of each table by its class's name."""

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.reading import RecordReader
from kip848_records.sources.rows import ROWS_SCHEMA
from kip848_records.sources.segment_rows import content_of, read_file, segment_files
from tests.replay.logs import Rows, inputs_of

_FIRST_OF_GROUPS = 2


def captured_at(copy: Path) -> int:
    """The time of a copy in ms since 1970."""
    text = (copy / "captured-at").read_text(encoding="utf-8").strip().replace("Z", "+00:00")
    return round(datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000)


def group_batch(copy: Path) -> pa.RecordBatch:
    """The log rows of groups in a copy's segments, as a replay reads them; without offset commits."""
    files = segment_files(map(str, copy.glob("segments/*/*.log")))
    tables = [
        pa.Table.from_batches(read_file(content_of(path), path, file), ROWS_SCHEMA) for path, file in files.items()
    ]
    rows = pa.concat_tables(tables)
    assert rows["error_code"].null_count == len(rows)
    rows = rows.filter(pc.and_(pc.is_null(rows["control"]), pc.is_null(rows["files"])))
    rows = rows.filter(pc.greater_equal(rows["key_type"], _FIRST_OF_GROUPS)).select(LOG_SCHEMA.names)
    in_order = rows.sort_by([(name, "ascending") for name in ("partition", "group_id", "offset")])
    (batch,) = in_order.combine_chunks().to_batches()
    return batch


def replayed_copy(copy: Path, inputs: ReplayInputs | None = None) -> Rows:
    """Replay a copy; by default its partitions are complete from offset 0 on."""
    batch = group_batch(copy)
    if inputs is None:
        partitions = pc.unique(batch["partition"]).to_pylist()
        inputs = inputs_of(dict.fromkeys(partitions, 0), captured_at(copy))
    return replayed_batch(batch, inputs)


def replayed_batch(batch: pa.RecordBatch, inputs: ReplayInputs) -> Rows:
    """Replay log rows, sorted by partition, group and offset."""
    numbers = PartitionNumbers()
    groups: dict[tuple[int, str], GroupReplay] = {}
    rows: Rows = defaultdict(list)
    for decoded in RecordReader(inputs.dialect, numbers).read([batch]):
        for row_class, others in decoded.others:
            rows[row_class.__name__] += others.to_pylist()
        for found in decoded.groups:
            place = found.partition, found.group_id
            group = groups.setdefault(place, GroupReplay(inputs, numbers, *place))
            for record in found.records:
                group.replay(record)
    for group in groups.values():
        for row in group.finish():
            rows[type(row).__name__].append(row)
    return rows
