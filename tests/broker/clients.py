"""Real clients for a broker of the tests: consumers that poll in threads, commits, transactions."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from tests.broker.running import Broker, done
from tests.broker.waiting import T, wait_until

Partition = tuple[str, int]

HELD_S = 900
"""For how long a member that holds gives nothing up, unless it is released: longer than any test."""
_SOON = {KafkaError._WAIT_COORD, KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}
"""What a request meets where the coordinator has just moved or started."""


def make_topic(broker: Broker, topic: str, partitions: int = 1) -> None:
    """Return when the topic is there, and all its partitions have a leader."""
    done(broker.admin.create_topics([NewTopic(topic, partitions)]))

    def leaders() -> list[int]:
        found = broker.admin.list_topics(topic, timeout=5).topics[topic].partitions.values()
        return [each.leader for each in found if each.leader >= 0]

    wait_until(lambda: len(leaders()) == partitions, f"topic {topic}")


def produce(broker: Broker, topic: str, records: int = 10) -> None:
    """Write records into the topic, to its partitions in turn."""
    producer = Producer(broker.client() | {"linger.ms": "0"})
    partitions = len(producer.list_topics(topic, timeout=5).topics[topic].partitions)
    for number in range(records):
        producer.produce(topic, str(number), partition=number % partitions)
    if producer.flush(20):
        raise TimeoutError(f"{topic}: not all records were written")


class Member:
    """A consumer that polls in a thread of its own, and commits what it has read.

    With `holds` it gives no partitions up: asked to, it waits for `release`, while its heartbeats go on.
    """

    def __init__(self, settings: dict[str, str], topics: list[str], *, holds: bool):
        self._consumer = Consumer(settings)
        self._owned: set[Partition] = set()
        self._read = 0
        self._released = threading.Event()
        self._asked = threading.Event()
        self._left = threading.Event()
        self._error: BaseException | None = None
        if not holds:
            self._released.set()
        self._consumer.subscribe(topics, on_revoke=self._revoke)
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def partitions(self) -> set[Partition]:
        """Return what it owns, by its own account. Raises what ended it, if something did."""
        if self._error:
            raise self._error
        return self._owned

    def wait_for(self, count: int) -> set[Partition]:
        """Return the partitions when there are `count` of them."""
        return wait_until(lambda: len(self.partitions()) == count, f"{count} partitions") and self._owned

    def wait_until_asked(self) -> None:
        """Return when the member, which holds, was asked to give partitions up."""
        wait_until(self._asked.is_set, "the coordinator asks for partitions")

    def wait_until_read(self, records: int) -> None:
        """Return when so many records have come."""
        wait_until(lambda: self._read >= records, f"{records} records")

    def release(self) -> None:
        """Give up what was asked for, and whatever is asked for later."""
        self._released.set()

    def leave(self) -> None:
        """Return when the member has left its group (a static one: for the time being)."""
        self._left.set()
        self._released.set()
        self._thread.join(30)
        if self._thread.is_alive():
            raise TimeoutError("a member does not leave: not within 30 s")

    def _revoke(self, _consumer, _partitions) -> None:
        self._asked.set()
        self._released.wait(HELD_S)

    def _take(self, message: Message | None) -> None:
        if message and not message.error():
            self._read += 1
        elif message and message.error().fatal():
            raise KafkaException(message.error())

    def _poll(self) -> None:
        try:
            while not self._left.is_set():
                self._take(self._consumer.poll(0.05))
                # All calls are made here: from another thread some wait for this one, which waits for them.
                self.id = self._consumer.memberid()
                self.metadata = self._consumer.consumer_group_metadata()
                self._owned = {(part.topic, part.partition) for part in self._consumer.assignment()}
        except BaseException as error:  # noqa: BLE001
            self._error = error
        finally:
            self._consumer.close()


@contextmanager
def consumer(  # noqa: PLR0913
    broker: Broker,
    group: str,
    topics: Iterable[str] = (),
    *,
    regex: str | None = None,
    instance_id: str | None = None,
    protocol: str = "consumer",
    holds: bool = False,
    more: Mapping[str, str] | None = None,
) -> Iterator[Member]:
    """Join `group`; leave it at the end.

    `regex` is for the coordinator to match (KIP-848's own kind). `protocol` is consumer or classic, `more` are further
    settings of librdkafka.
    """
    settings = broker.client() | {
        "group.id": group,
        "client.id": f"client-of-{group}",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": "100",
        "topic.metadata.refresh.interval.ms": "500",
    }
    if protocol == "classic":
        settings |= {"heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
    if instance_id:
        settings["group.instance.id"] = instance_id
    wanted = [*topics, *([f"^{regex.removeprefix('^')}"] if regex else [])]
    member = Member(settings | dict(more or {}), wanted, holds=holds)
    try:
        yield member
    finally:
        member.leave()


def commit(broker: Broker, group: str, offsets: Mapping[Partition, int], times: int = 1) -> None:
    """Commit offsets for a group without members, `times` times: each is a record a partition."""
    outsider = _outsider(broker, group)

    for _ in range(times):
        _answered(lambda: outsider.commit(offsets=parts_of(offsets), asynchronous=False), f"a commit of {group}")
    outsider.close()


def committed(broker: Broker, group: str, partition: Partition) -> int | None:
    """Return the offset that the group has committed; None if it has none."""
    outsider = _outsider(broker, group)
    asked = [TopicPartition(*partition)]
    (found,) = _answered(lambda: outsider.committed(asked, timeout=20), f"the offset that {group} has committed")
    outsider.close()
    return found.offset if found.offset >= 0 else None


def _answered(ask: Callable[[], T], what: str) -> T:
    """Ask until the coordinator, which may have just moved or started, answers."""

    def answer() -> list[T]:
        try:
            return [ask()]
        except KafkaException as error:
            if error.args[0].code() not in _SOON:
                raise
            return []

    return wait_until(answer, what)[0]


def commit_in_transaction(
    broker: Broker, group: str, offsets: Mapping[Partition, int], *, abort: bool = False, member: Member | None = None
) -> None:
    """Commit offsets as part of a transaction, or abort it.

    For a group that has members, `member` is the one whose offsets they are.
    """
    with open_transaction(broker, group, offsets, member=member) as producer:
        (producer.abort_transaction if abort else producer.commit_transaction)(20)


@contextmanager
def open_transaction(
    broker: Broker, group: str, offsets: Mapping[Partition, int], *, member: Member | None = None
) -> Iterator[Producer]:
    """Commit offsets of a group in a transaction that is open until the block ends it through the producer.

    `member`: see `commit_in_transaction`.
    """
    settings = broker.client() | {"transactional.id": f"open-{group}-{time.monotonic_ns()}"}
    producer = Producer(settings | {"transaction.timeout.ms": "600000"})
    producer.init_transactions(20)
    producer.begin_transaction()
    metadata = member.metadata if member else _outsider(broker, group).consumer_group_metadata()
    producer.send_offsets_to_transaction(parts_of(offsets), metadata, 20)
    yield producer
    # A broker answers before it has written the markers; the next producer of the id gets its answer after that.
    Producer(settings).init_transactions(20)


def _outsider(broker: Broker, group: str) -> Consumer:
    return Consumer(broker.client() | {"group.id": group, "enable.auto.commit": "false"})


def parts_of(offsets: Mapping[Partition, int]) -> list[TopicPartition]:
    """Return offsets as clients take them."""
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
