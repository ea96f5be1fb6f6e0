"""What happens to `__consumer_offsets` on a real broker: read, compacted, lost, made anew, given more partitions."""

import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, ResourceType

from kip848_records.protocol.group_partition import offsets_partition
from tests.broker.clients import commit, make_topic
from tests.broker.running import OFFSETS, Broker, done
from tests.broker.settings import PARTITIONS
from tests.broker.waiting import wait_until

FILLER = "filler"

_EAGER = {
    # The next record after so many milliseconds begins a segment, and what lies before it may be cleaned.
    "segment.ms": "1",
    "min.cleanable.dirty.ratio": "0.0",
    "delete.retention.ms": "0",
}


def partition_of(group: str, partitions: int = PARTITIONS) -> int:
    """Return the partition that the group's records are in."""
    return offsets_partition(group, partitions)


def group_in(partition: int, prefix: str = "group") -> str:
    """Return the first of `<prefix>-0`, `<prefix>-1` ... whose records are in a partition."""
    return next(name for name in (f"{prefix}-{number}" for number in count()) if partition_of(name) == partition)


def read(broker: Broker, partition: int) -> list[tuple[int, bytes, bytes | None]]:
    """Return offset, key and value of each record that is in a partition now, aborted transactions' too."""
    records = []
    reader = Consumer(
        broker.client()
        | {"group.id": "reads-only", "enable.auto.commit": "false", "isolation.level": "read_uncommitted"}
        | {"enable.partition.eof": "true", "fetch.wait.max.ms": "10"}
    )
    try:
        reader.assign([TopicPartition(OFFSETS, partition, 0)])
        while not (message := reader.poll(10)).error():
            records.append((message.offset(), message.key(), message.value()))
    finally:
        reader.close()
    return records


def ends(broker: Broker) -> dict[int, tuple[int, int]]:
    """Return the first offset of each partition, and the one that the next record gets."""
    reader = Consumer(broker.client() | {"group.id": "reads-only"})
    try:
        partitions = reader.list_topics(OFFSETS, timeout=10).topics[OFFSETS].partitions
        return {
            number: reader.get_watermark_offsets(TopicPartition(OFFSETS, number), timeout=10) for number in partitions
        }
    finally:
        reader.close()


def compact(broker: Broker, partitions: Iterable[int] = range(PARTITIONS)) -> None:
    """Return when all that was in the partitions is compacted, tombstones gone too.

    Each partition then ends with commits of a group named `filler-<n>`, for the topic `filler`.
    """
    with eager_cleaner(broker):
        for partition in partitions:
            # A pass of the cleaner gives tombstones the time from which on they may go, and the next drops them.
            clean(broker, partition)
            clean(broker, partition)


@contextmanager
def eager_cleaner(broker: Broker) -> Iterator[None]:
    """Let the broker close a segment with each record, and clean whatever is in closed ones, while the block runs."""
    if FILLER not in broker.admin.list_topics(timeout=5).topics:
        make_topic(broker, FILLER)
    _configure(broker, _EAGER)
    try:
        yield
    finally:
        _configure(broker, dict.fromkeys(_EAGER))


def lose(broker: Broker, partition: int) -> None:
    """Restart the broker without what was in a partition, which is empty then and begins at 0 again."""
    broker.stop()
    shutil.rmtree(broker.folder / f"{OFFSETS}-{partition}")
    broker.start()


def lose_batch(broker: Broker, partition: int, offset: int) -> None:
    """Restart the broker without the batch that begins at an offset, as one that lost a part of a file."""
    broker.stop()
    folder = broker.folder / f"{OFFSETS}-{partition}"
    file = max(each for each in folder.glob("*.log") if int(each.stem) <= offset)
    file.write_bytes(b"".join(batch for at, batch in batches(file.read_bytes()) if at != offset))
    for index in folder.glob(f"{file.stem}.*index"):
        index.unlink()
    broker.start()


def batches(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield base offset and bytes of each batch."""
    while content:
        offset, length = struct.unpack_from(">qi", content)
        yield offset, content[: 12 + length]
        content = content[12 + length :]


def make_anew(broker: Broker) -> None:
    """Delete the topic and let the broker make it again: empty, with another id, and `PARTITIONS` partitions.

    Groups are gone with it, and members of the new protocol end with an error. If partitions were added, the broker is
    restarted too.
    """
    partitions = len(ends(broker))
    before = broker.topic_id(OFFSETS)
    done(broker.admin.delete_topics([OFFSETS]))
    wait_until(lambda: broker.topic_id(OFFSETS) != before, "deletion")
    broker.make_offsets_topic()
    if partitions != PARTITIONS:
        broker.restart()  # it counted them when it started, and would put groups into partitions that are no more


def add_partitions(broker: Broker, partitions: int) -> None:
    """Return when the topic has so many partitions.

    The broker goes on to put each group where it was; once it is restarted, groups are elsewhere.
    """
    done(broker.admin.create_partitions([NewPartitions(OFFSETS, partitions)]))
    wait_until(lambda: len(ends(broker)) == partitions, f"{partitions} partitions")


def clean(broker: Broker, partition: int) -> None:
    """Return when the cleaner, which is eager, has been through all that was in the partition."""
    closed = close_segment(broker, partition)
    wait_until(lambda: cleaned(broker).get(partition, 0) >= closed, f"cleaning up to {closed}")


def close_segment(broker: Broker, partition: int) -> int:
    """Close the last segment of a partition, while the cleaner is eager; return the offset behind what was in it."""
    closed = ends(broker)[partition][1]

    def cut() -> bool:
        commit(broker, group_in(partition, FILLER), {(FILLER, 0): 0})
        return any(int(file.stem) >= closed for file in (broker.folder / f"{OFFSETS}-{partition}").glob("*.log"))

    wait_until(cut, f"a segment at {closed}")
    return closed


def cleaned(broker: Broker) -> dict[int, int]:
    """Return the offset up to which each partition is clean, as the broker keeps it in a file."""
    lines = (broker.folder / "cleaner-offset-checkpoint").read_text().splitlines()
    entries = [line.split() for line in lines if line.startswith(f"{OFFSETS} ")]
    return {int(partition): int(offset) for _, partition, offset in entries}


def _configure(broker: Broker, settings: Mapping[str, str | None]) -> None:
    """Set the topic's settings; None takes one back."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET if value else AlterConfigOpType.DELETE)
        for name, value in settings.items()
    ]
    done(
        broker.admin.incremental_alter_configs(
            [ConfigResource(ResourceType.TOPIC, OFFSETS, incremental_configs=entries)]
        )
    )
