"""Random logs of commits, tombstones, transactions and gaps, with what is in them: counted one record at a time."""

import random
from collections import defaultdict
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.specs.log_columns import TOPIC
from tests.protocol.segment_writer import Record, write_batch, write_marker

START = 1_795_780_000_000
GROUPS = ("a", "b", "gruppe-ü")
METADATA = ("", "", "m", "more than eight bytes of metadata", "x" * 200)


@dataclass(frozen=True)
class Written:
    """A record as the test knows it; `state`: what the commit says but for its times, None for a tombstone."""

    offset: int
    millis: int
    key_type: int
    group: str
    topic: str | None
    key: bytes
    value: bytes | None
    state: object
    is_aborted: bool = False


@dataclass
class Partition:
    """The records of a partition, and its files: lists of batches, by their base offset."""

    records: list[Written] = field(default_factory=list)
    files: dict[int, list[bytes]] = field(default_factory=dict)


def commit(offset, millis, group, topic, number, state):  # noqa: PLR0913, PLR0917
    """A commit; `state`: version, offset, leader epoch, metadata, None for a tombstone."""
    key = encode_key(RECORDS[1], {"group": group, "topic": topic, "partition": number})
    value = None
    if state is not None:
        version, committed, epoch, metadata = state
        fields = {"offset": committed, "leaderEpoch": epoch, "metadata": metadata, "commitTimestamp": millis}
        fields |= {"expireTimestamp": millis + 1, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}
        value = encode_message(RECORDS[1].value_layouts(version)[0], fields)
        state = (version, committed, epoch if version >= 3 else None, metadata)
    return Written(offset, millis, 1, group, topic, key, value, state)


def epoch(offset, millis, group, number):
    """A record of a consumer group; number None: its tombstone."""
    value = None if number is None else encode_message(RECORDS[3].value_layouts(0)[0], {"epoch": number})
    return Written(offset, millis, 3, group, None, encode_key(RECORDS[3], {"groupId": group}), value, number)


def random_partition(seed, batches=60, files=3):
    dice = random.Random(seed)  # noqa: S311 - not for secrets
    made = Partition()
    offset = 0
    for nth in range(batches):
        if nth % (batches // files) == 0:
            made.files[offset] = []
        if dice.random() < 0.1:
            offset += dice.randrange(1, 4)
        written = []
        for _ in range(dice.randrange(1, 6)):
            group, millis = dice.choice(GROUPS), START + offset * 1000
            if dice.random() < 0.15:
                written.append(epoch(offset, millis, group, dice.choice([None, offset])))
            else:
                state = (dice.randrange(5), dice.randrange(2), dice.randrange(2), dice.choice(METADATA))
                state = dice.choice([state, (3, 7, 1, ""), (4, 7, 1, ""), None])
                written.append(commit(offset, millis, group, dice.choice("tu"), dice.randrange(2), state))
            offset += 1
        outcome = dice.choice([None, None, "commit", "abort"])
        options = {} if outcome is None else {"producer_id": 7, "transactional": True}
        last = made.files[max(made.files)]
        last.append(write_batch([Record(w.offset, w.millis, w.key, w.value) for w in written], **options))
        if outcome is not None:
            last.append(write_marker(offset, 7, outcome, START + offset * 1000))
            offset += 1
        made.records += [Written(**{**vars(w), "is_aborted": outcome == "abort"}) for w in written]
    return made


def write_segments(folder, partitions):
    for number, made in partitions.items():
        place = folder / f"{TOPIC}-{number}"
        place.mkdir(parents=True)
        for base, batches in made.files.items():
            (place / f"{base:020}.log").write_bytes(b"".join(batches))


def rows_of(partitions):
    """The rows of Spark's Kafka source."""
    rows = [
        {"key": w.key, "value": w.value, "partition": number, "offset": w.offset, "timestamp": w.millis * 1000}
        for number, made in partitions.items()
        for w in made.records
    ]
    types = {"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64()}
    schema = pa.schema([*types.items(), ("timestamp", pa.timestamp("us", "UTC"))])
    return pa.Table.from_pylist(rows, schema)


def write_dump(file, partitions, row_group_size=None):
    pq.write_table(rows_of(partitions), file, row_group_size=row_group_size)


def counted(partitions, *, shows_aborted=True):
    """What is in the topic, by partition, type, group and topic: one record after another."""
    found = defaultdict(lambda: defaultdict(int))
    for number, made in partitions.items():
        last, times = {}, {}
        for w in made.records:
            of = found[number, w.key_type, w.group, w.topic]
            of["records"] += 1
            of["tombstones"] += w.value is None
            if w.is_aborted and shows_aborted:
                continue
            if w.key in last:
                is_same = w.key_type == 1 and w.state is not None and w.state == last[w.key][1].state
                of["unchanged"] += is_same
                times[w.key] = min(times.get(w.key, w.millis), last[w.key][2])
            first = last[w.key][2] if w.key in last else w.millis
            last[w.key] = (of, w, first)
        for of, w, _ in last.values():
            of["live_keys"] += w.value is not None
            of["kept_tombstones"] += w.value is None
            if w.key in times:
                of["since"] = min(of["since"] or times[w.key], times[w.key])
    return {
        place: (
            of["records"],
            of["tombstones"],
            of["live_keys"],
            of["kept_tombstones"],
            of["records"] - of["live_keys"] - of["kept_tombstones"],
            of["unchanged"] if place[1] == 1 else None,
            of["since"] or None,
        )
        for place, of in found.items()
    }
