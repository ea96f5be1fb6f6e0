"""What a broker's group coordinator loads: records that a test writes, and whether the coordinator took them."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, Message, Producer

from tests.broker.offsets_topic import group_in
from tests.broker.requests import NO_ERROR, NOT_COORDINATOR, describe_error
from tests.broker.running import OFFSETS, Broker
from tests.broker.waiting import wait_until

# Brokers let no other client write to an internal topic (`AdminUtils.ADMIN_CLIENT_ID`).
_MAY_WRITE = "__admin_client"


def write_records(broker: Broker, partition: int, records: Iterable[tuple[bytes, bytes | None]]) -> int:
    """Append records to a partition of `__consumer_offsets`, and return the offset of the first.

    The coordinator sees them when it loads the partition the next time.
    """
    producer = Producer(broker.client() | {"client.id": _MAY_WRITE, "linger.ms": "100"})
    offsets, refused = [], []

    def delivered(error: KafkaError | None, message: Message) -> None:
        refused.append(error) if error else offsets.append(message.offset())

    for key, value in records:
        producer.produce(OFFSETS, value, key, partition, on_delivery=delivered)
    if producer.flush(20) or refused:
        raise RuntimeError(f"partition {partition} takes no records: {refused[:1] or 'not within 20 s'}")
    return min(offsets)


def is_loaded(broker: Broker, partition: int) -> bool:
    """Return whether the coordinator has loaded a partition, once it has, or its log says that it could not."""
    group = group_in(partition, "asked")

    def answer() -> list[bool]:
        # Before it has begun to load, it answers as if it had failed.
        error = describe_error(broker, group)
        if error == NO_ERROR:
            return [True]
        return [False] if error == NOT_COORDINATOR and f" {OFFSETS}-{partition} " in _failures(broker) else []

    return wait_until(answer, f"the coordinator has tried to load partition {partition}", 60)[0]


def _failures(broker: Broker) -> str:
    return "".join(line for line in broker.printed().splitlines() if "Failed to load metadata from" in line)
