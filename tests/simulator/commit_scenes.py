"""Scenes of consumption in memory: the rows of the log with their producers, and what really happened."""

import struct
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.consumption import CommitKeys
from kip848_records.simulate.partition_log import OrderedLog
from kip848_records.simulate.spec import START_MS
from tests.protocol.segment_writer import Record, write_batch
from tests.simulator.committing.all_scenes import SCENES
from tests.simulator.committing.scenes import MIN_HOURS
from tests.simulator.truth import collect

END = START_MS + round(MIN_HOURS * 3_600_000)
OFFSET_COMMIT = b"\x00\x01"
TOMBSTONE = -1


class Commit(NamedTuple):
    """A row of the log: `offset` is `TOMBSTONE` if it has no value; of a marker, `topic` is None."""

    group_id: str
    topic: str
    partition: int
    at: int
    offset: int
    producer_id: int
    place: int


def chosen(name=None, kind=None, style=None):
    """The scenes of a name, a kind of groups and a style."""
    wanted = (name, kind, style)
    return [scene for scene in SCENES if all(a in {None, b} for a, b in zip(wanted, scene[:3], strict=True))]


def id_of(scene):
    return f"{scene.name}-{scene.kind}-{scene.style}"


def played(*scenes, seed=0):
    """Play scenes in one partition: its rows, as `partition_log.LOG_ROWS`, and the facts by their names."""
    keys = CommitKeys()
    groups = []
    for scene in scenes:
        groups.append(scene.begin(seed, id_of(scene), keys))
        if scene.is_followed:
            groups.append(scene.follow(seed, id_of(scene), keys))
    for group in groups:
        group.run_until(END - 1_000)
    operations = sorted((each for group in groups for each in group.take_operations()), key=lambda each: each.time)
    commits = np.concatenate([group.take_commits(END) for group in groups])
    rows = OrderedLog(KAFKA_4_3, keys).rows(operations, commits)
    for group in groups:
        group.close(END)
    return rows, collect(groups)


def commits_of(rows):
    """The offset commits and their tombstones in the order of the log."""
    rows = rows.filter(pc.equal(pc.binary_slice(rows["key"], 0, 2), pa.scalar(OFFSET_COMMIT, pa.binary())))
    rows = rows.filter(pc.equal(rows["control"], -1))
    keys = {key: _key(key) for key in rows["key"].unique().to_pylist()}
    return [
        Commit(*keys[key], at, TOMBSTONE if value is None else struct.unpack_from(">q", value, 2)[0], producer, place)
        for key, value, place, at, producer in zip(
            *(rows[name].to_pylist() for name in ("key", "value", "offset", "timestamp", "producer_id")), strict=True
        )
    ]


def _key(key):
    group, topic = _text(key, 2), None
    topic = _text(key, 4 + len(group))
    return group.decode(), topic.decode(), struct.unpack(">i", key[-4:])[0]


def _text(key, at):
    (size,) = struct.unpack_from(">h", key, at)
    return key[at + 2 : at + 2 + size]


def write_segment(rows, folder):
    """Write the rows of a partition as the segment file that a broker would have."""
    folder.mkdir(parents=True)
    batches, batch, same = [], [], None
    for row in rows.to_pylist():
        kind = (row["producer_id"], row["producer_epoch"], row["control"])
        if kind != same or row["control"] >= 0 or len(batch) == 100:
            batches.append((same, batch))
            batch, same = [], kind
        batch.append(Record(row["offset"], row["timestamp"], row["key"], row["value"]))
    batches.append((same, batch))
    with (folder / f"{0:020}.log").open("wb") as file:
        for (producer_id, epoch, control), records in batches[1:]:
            of = {"producer_id": producer_id, "producer_epoch": epoch, "transactional": producer_id >= 0}
            file.write(write_batch(records, **of, control=control >= 0))
