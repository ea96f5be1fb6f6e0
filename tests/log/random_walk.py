"""Random histories of one partition: brokers that append, roll and clean its log, and copies taken on the way."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.log.cleaner import RETENTION, Batch, Log, marker
from tests.protocol.segment_writer import Record


@dataclass
class Walk:
    """`log` is the whole log, never cleaned; the brokers hold it too, each cleaned in its own way and time."""

    rng: random.Random
    brokers: list[Log]
    with_transactions: bool = True
    log: Log = field(default_factory=Log)
    now: int = 1000
    open: dict[int, bool] = field(default_factory=dict)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.now += self.rng.choice([0, 1, 10, RETENTION])
            self.rng.choices([self.append, self.end_transaction, self.roll, self.clean], [12, 3, 2, 3])[0]()

    def append(self) -> None:
        base = self.log.next_offset
        if self.with_transactions and self.rng.random() < 0.25:
            producer = self.rng.randrange(2)
            self.open[producer] = True
            self.write(Batch(base, base, (self.record(base, self.commit_key()),), producer))
            return
        keys = [self.group_key() if self.rng.random() < 0.7 else self.commit_key() for _ in range(self.size())]
        records = tuple(self.record(base + index, key) for index, key in enumerate(keys))
        self.write(Batch(base, base + len(keys) - 1, records))

    def end_transaction(self) -> None:
        if self.open:
            producer, _ = self.open.popitem()
            kind = self.rng.choice(["commit", "commit", "abort"])
            self.write(marker(self.log.next_offset, self.now, producer, kind))

    def roll(self) -> None:
        self.rng.choice(self.brokers).roll()

    def clean(self) -> None:
        broker = self.rng.choice(self.brokers)
        ends = [segment.base_offset for segment in broker.segments if segment.base_offset <= broker.cleanable_to()]
        ends += [batch.base_offset for batch in broker.batches() if batch.base_offset <= broker.cleanable_to()]
        to = self.rng.choice(ends)
        if to > broker.clean_to:
            broker.clean(to, self.now, lambda: self.rng.random() < 0.5)

    def write(self, batch: Batch) -> None:
        for log in [self.log, *self.brokers]:
            log.append(batch)

    def record(self, offset: int, key: bytes) -> Record:
        value = None if self.rng.random() < 0.3 else b"%d" % offset
        return Record(offset, self.now, key, value)

    def size(self) -> int:
        return self.rng.choice([1, 1, 2, 3])

    def group_key(self) -> bytes:
        group_id = self.rng.choice([b"a", b"b", b"c", b"d", b"e", b"f", b"%d" % self.now])
        return b"\x00\x03" + len(group_id).to_bytes(2, "big") + group_id

    def commit_key(self) -> bytes:
        return b"\x00\x01" + self.rng.choice([b"x", b"y"])


def data_records(log: Log, *, aborted: bool = True) -> Iterator[Record]:
    """The records of a log, markers left out."""
    outcomes = log.outcomes()
    for batch in log.batches():
        if batch.marker is None and (aborted or outcomes.get(batch.base_offset) != "abort"):
            yield from batch.records
