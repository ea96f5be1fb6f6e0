"""A plain model of a partition's log in a broker, and of the cleaner that compacts it (Kafka's `LogCleaner`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tests.protocol.segment_writer import MARKER_TYPES, Record, write_batch

RETENTION = 100
"""How long tombstones and markers stay after the pass that first sees them as such: delete.retention.ms."""


@dataclass(frozen=True)
class Batch:
    """A record batch; `transactional` if it has a producer, a marker (commit or abort) if it has a `marker`."""

    base_offset: int
    last_offset: int
    records: tuple[Record, ...]
    producer_id: int = -1
    marker: str | None = None
    delete_horizon: int | None = None

    def data(self) -> bytes:
        return write_batch(
            list(self.records),
            base_offset=self.base_offset,
            last_offset=self.last_offset,
            producer_id=self.producer_id,
            transactional=self.producer_id >= 0,
            control=self.marker is not None,
            delete_horizon=self.delete_horizon,
        )


def marker(offset: int, timestamp: int, producer_id: int, kind: str) -> Batch:
    key = bytes([0, 0, 0, MARKER_TYPES.index(kind)])
    return Batch(offset, offset, (Record(offset, timestamp, key, b"\x00\x00" + bytes(4)),), producer_id, kind)


@dataclass
class Segment:
    base_offset: int
    batches: list[Batch] = field(default_factory=list)

    def data(self) -> bytes:
        return b"".join(batch.data() for batch in self.batches)


@dataclass
class Log:
    """One broker's log of a partition: its segments, the last of them active, and up to where the cleaner has been."""

    segments: list[Segment] = field(default_factory=lambda: [Segment(0)])
    clean_to: int = 0

    @property
    def next_offset(self) -> int:
        last = next((batch for segment in reversed(self.segments) for batch in reversed(segment.batches)), None)
        return max(last.last_offset + 1 if last else 0, self.segments[-1].base_offset)

    def append(self, batch: Batch) -> None:
        self.segments[-1].batches.append(batch)

    def roll(self) -> None:
        if self.segments[-1].batches:
            self.segments.append(Segment(self.next_offset))

    def batches(self) -> Iterator[Batch]:
        return (batch for segment in self.segments for batch in segment.batches)

    def cleanable_to(self) -> int:
        """The base offset of the active segment, or the first offset of a transaction that is still open before it."""
        outcomes = self.outcomes()
        undecided = [batch.base_offset for batch in self.batches() if outcomes.get(batch.base_offset) == "pending"]
        return min([self.segments[-1].base_offset, *undecided])

    def outcomes(self) -> dict[int, str]:
        """By base offset, how the transaction of a batch ended: commit, abort or pending."""
        outcomes: dict[int, str] = {}
        ended: dict[int, str] = {}
        for batch in reversed(list(self.batches())):
            if batch.producer_id >= 0:
                if batch.marker:
                    ended[batch.producer_id] = batch.marker
                outcomes[batch.base_offset] = ended.get(batch.producer_id, "pending")
        return outcomes

    def clean(self, to: int, now: int, joins: Callable[[], bool] = lambda: True) -> None:
        """One pass of the cleaner up to the offset `to`; `joins` tells whether a segment goes into the file before."""
        last_offsets: dict[bytes | None, int] = {}
        outcomes = self.outcomes()
        for batch in self.batches():
            if batch.marker is None and outcomes.get(batch.base_offset) != "abort":
                dirty = (record for record in batch.records if self.clean_to <= record.offset < to)
                last_offsets.update((record.key, record.offset) for record in dirty)
        cleaner = _Pass(to, now, last_offsets, outcomes)
        cleaned: list[Segment] = []
        for segment in self.segments:
            if segment.base_offset >= to:
                cleaned.append(segment)
                continue
            kept = [batch for batch in map(cleaner.filtered, segment.batches) if batch]
            if cleaned and joins():
                cleaned[-1].batches += kept
            else:
                cleaned.append(Segment(segment.base_offset, kept))
        self.segments = cleaned
        self.clean_to = max(self.clean_to, to)

    def copy(self) -> "Log":
        return Log([Segment(segment.base_offset, list(segment.batches)) for segment in self.segments], self.clean_to)


@dataclass
class _Pass:
    to: int
    now: int
    last_offsets: dict[bytes | None, int]
    outcomes: dict[int, str]
    with_data: set[int] = field(default_factory=set)

    def filtered(self, batch: Batch) -> Batch | None:
        if batch.marker:
            # A marker goes when the data of its transaction has gone, and some time after that was seen.
            discardable = batch.producer_id not in self.with_data
            self.with_data.discard(batch.producer_id)
            gone = discardable and batch.delete_horizon is not None and batch.delete_horizon <= self.now
        else:
            discardable = False
            gone = self.outcomes.get(batch.base_offset) == "abort"
            if batch.producer_id >= 0:
                self.with_data.add(batch.producer_id)
        kept = () if gone else tuple(record for record in batch.records if batch.marker or self.stays(batch, record))
        if not kept and batch.last_offset + 1 != self.to:
            return None
        horizon = batch.delete_horizon
        if kept and horizon is None and (discardable or (not batch.marker and any(r.value is None for r in kept))):
            horizon = self.now + RETENTION
        return replace(batch, records=kept, delete_horizon=horizon)

    def stays(self, batch: Batch, record: Record) -> bool:
        if record.offset >= self.to:
            return True
        is_last = self.last_offsets.get(record.key, -1) <= record.offset
        is_passed = batch.delete_horizon is not None and batch.delete_horizon <= self.now
        return is_last and (record.value is not None or not is_passed)
