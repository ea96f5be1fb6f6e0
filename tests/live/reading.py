"""Groups of a real broker of which one reads on, and the others do not: each for a reason of its own."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from confluent_kafka import Message, Producer

from tests.broker.clients import Member, make_topic, parts_of
from tests.broker.running import Broker, done
from tests.broker.waiting import wait_until

TOPIC, GONE = "read-on", "read-on-gone"
PARTITIONS = 4
READ_FIRST = 100
"""Records that each member reads before its trouble: its commits then have a rhythm."""
SILENT_S = 30
POLL_MS = 10_000
"""max.poll.interval.ms of all clients: a partition that stands still for longer is suspected."""
RESET = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class Reader(Member):
    """A member whose commits say how far its worker is.

    `pause`: of one partition it asks for nothing more. `worker_dies`: it polls on, and nobody does the work.
    """

    def __init__(self, broker: Broker, group: str, topics: tuple[str, ...] = (TOPIC,), **more: str):
        self._offsets: dict[tuple[str, int], int] = {}
        self._to_pause: set[int] = set()
        self._works = True
        settings = broker.client() | {
            "group.id": group,
            "client.id": f"client-of-{group}",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": "500",
            "enable.auto.offset.store": "false",
            "max.poll.interval.ms": str(POLL_MS),
            "topic.metadata.refresh.interval.ms": "500",
        }
        super().__init__(settings | more, list(topics), holds=False)

    def pause(self, partition: int) -> None:
        """Stop reading one partition."""
        self._to_pause.add(partition)

    def worker_dies(self) -> None:
        """Let nothing that comes from now on be worked on."""
        self._works = False

    def read(self) -> dict[tuple[str, int], int]:
        """Return the position behind what was worked on, by partition."""
        return dict(self._offsets)

    def _take(self, message: Message | None) -> None:
        super()._take(message)
        for part in self._consumer.assignment():
            if part.partition in self._to_pause:
                self._consumer.pause([part])
        if message and not message.error() and self._works and message.partition() not in self._to_pause:
            self._offsets[message.topic(), message.partition()] = message.offset() + 1
            self._consumer.store_offsets(message)


@contextmanager
def written_to(broker: Broker, topics: tuple[str, ...]) -> Iterator[None]:
    """Write a record into each partition each 100 ms, as long as the topic is there."""
    ended = threading.Event()
    producer = Producer(broker.client() | {"linger.ms": "0"})

    def write() -> None:
        while not ended.wait(0.1):
            for topic in topics:
                for partition in range(PARTITIONS):
                    producer.produce(topic, b"x", partition=partition)
            producer.poll(0)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(10)
        producer.purge()


@contextmanager
def all_at_once(broker: Broker) -> Iterator[dict[int, int]]:
    """Let the groups have their trouble at once, and go on.

    Yields the offsets that `went-back` had committed before it was set back, by partition.
    """
    for topic in (TOPIC, GONE):
        make_topic(broker, topic, PARTITIONS)
    with ExitStack() as stack:

        def reader(group: str, topics: tuple[str, ...] = (TOPIC,), **more: str) -> Reader:
            member = Reader(broker, group, topics, **more)
            stack.callback(member.leave)
            return member

        stack.enter_context(written_to(broker, (TOPIC,)))
        with written_to(broker, (GONE,)):
            readers = {"reads-on": [reader("reads-on"), reader("reads-on")]}
            readers["pauses"] = [reader("pauses")]
            readers["worker-dies"] = [reader("worker-dies"), reader("worker-dies")]
            readers["topic-goes"] = [reader("topic-goes", (TOPIC, GONE))]
            readers["went-back"] = [reader("went-back")]
            readers["hangs"] = [reader("hangs", **{"enable.auto.commit": "false"})]
            work = Transactions(broker, readers["hangs"][0])
            while any(len(each.read()) == 0 or each._read < READ_FIRST for of in readers.values() for each in of):
                work.commit()
                time.sleep(0.5)
        readers["pauses"][0].pause(1)
        readers["worker-dies"][0].worker_dies()
        work.begin()
        done(broker.admin.delete_topics([GONE]))
        before = set_back(broker, readers["went-back"][0])
        reader("went-back").wait_for(PARTITIONS)
        time.sleep(SILENT_S)
        yield before


def set_back(broker: Broker, member: Reader) -> dict[int, int]:
    """Let the only member of a group leave, and set the group back to the beginning with Kafka's tool."""
    member.leave()
    group = "went-back"
    broker.command(RESET, "--group", group, "--reset-offsets", "--to-earliest", "--topic", TOPIC, "--execute")
    return {partition: offset for (_, partition), offset in member.read().items()}


class Transactions:
    """Offsets of a member that are committed in transactions."""

    def __init__(self, broker: Broker, member: Reader):
        self._member = member
        more = {"transactional.id": "of-hangs", "transaction.timeout.ms": "600000"}
        self._producer = Producer(broker.client() | more)
        self._producer.init_transactions(20)

    def begin(self) -> None:
        """Commit how far the member is in a transaction that stays open."""
        self._producer.begin_transaction()
        metadata = wait_until(lambda: getattr(self._member, "metadata", None), "metadata of the member")
        self._producer.send_offsets_to_transaction(parts_of(self._member.read()), metadata, 20)

    def commit(self) -> None:
        """Do so, and end it."""
        if self._member.read():
            self.begin()
            self._producer.commit_transaction(20)
