"""The finished rows of a group that the patterns read, in little memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from kip848_records.kinds import STREAMS
from kip848_records.replay.group.known_history import SEEN
from kip848_records.replay.group.vocabulary import OPEN, RECONCILED, WORKER_LEFT
from kip848_records.replay.rows import ROW_CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kip848_records.replay.rows import Row

    Moment = int | tuple[int, int] | None
    """A time in ms, or a generation of a classic group, by incarnation and number."""

REMEMBERED: Final = 100_000
"""How many rows of a kind are remembered, the newest: of a process that restarts every ten seconds for eleven days."""

_TOPICS_OF_A_ROW: Final = 10
"""So many topics of a set take as much memory as a row."""
_UNITS: Final = 20
"""So many partitions and topics of a member are named, and compared with those of the round before."""
_SHARED: Final = 16
"""Sets of topics that are compared with new ones: more than members of a group have at a time, or change between."""


class Rebalance(NamedTuple):
    """What the patterns read of a row of `rebalance`. `revoked`: members with the ms that they took to revoke."""

    began_at: int
    began_offset: int
    ended_at: int | None
    outcome: str | None
    started_empty: bool | None
    causes: tuple[str, ...]
    trigger_member_ids: tuple[str, ...]
    epochs: int
    members: int | None
    unowned_ms: int | None
    late_ms: int | None
    partitions_moved: int | None
    revoked: tuple[Any, ...]


_REBALANCE: Final = attrgetter(*Rebalance._fields[:-1])


class Resolution(NamedTuple):
    """The topics of a regular expression, or of a classic member, from a record on.

    `weight`: how many rows without topics take as much memory.
    """

    offset: int
    at: int | None
    generation: tuple[int, int] | None
    topics: frozenset[str]
    weight: float = 1


class Generation(NamedTuple):
    """What the patterns read of a row of `classic_generation`.

    `unapplied`: member ids with the units that they kept and those that they lacked, as the column has them.
    `warm_ups`: member ids with the tasks of which they warm up a copy.
    """

    offset: int
    incarnation: int
    generation: int
    protocol_type: str | None
    protocol: str | None
    cause: str
    joined_at: int | None
    completed_at: int | None
    ended_at: int | None
    units: int | None
    history: str
    unapplied: Any = ()
    leader: str | None = None
    error: int | None = None
    warm_ups: Any = None


_GENERATION: Final = attrgetter(*Generation._fields)


class ConfigRead(NamedTuple):
    """Up to which offset a Connect worker had read its configuration, and which one the leader wanted.

    `begin`, `end`: the first and the last generation in which it was so, by incarnation and number.
    """

    url: str | None
    read: int
    wanted: int | None
    begin: tuple[int, int]
    end: tuple[int, int]


class ConfigBack(NamedTuple):
    """A generation, by incarnation and number, in which the offset of the leader's configuration went back."""

    place: tuple[int, int]
    before: int
    now: int


class LeftBehind(NamedTuple):
    """The connectors and tasks without a worker that one left behind: how many, and since when."""

    units: int
    released_at: int | None
    released_offset: int


class Workers:
    """The URLs of the workers of a Connect cluster, by incarnation and member id.

    `shared`: URLs, by incarnation, that two workers of one generation announced. `present`: member ids and URLs of the
    last generation, whose incarnation and number are `generation`.
    """

    def __init__(self) -> None:
        self.urls: dict[tuple[int, str], str] = {}
        self.shared: set[tuple[int, str]] = set()
        self.generation: tuple[int, int] = (-1, -1)
        self.present: list[tuple[str, str]] = []

    def add(self, row: Row) -> None:
        """Remember a worker of a generation; generations come in their order."""
        generation, url = (row.incarnation, row.generation), row.worker_url
        if generation != self.generation:
            self.generation, self.present = generation, []
        if url is None:
            return
        if any(each == url for _, each in self.present):
            self.shared.add((row.incarnation, url))
        self.present.append((row.member_id, url))
        key = row.incarnation, row.member_id
        self.urls[key] = max(url, self.urls.pop(key, url))
        if len(self.urls) > REMEMBERED:
            del self.urls[next(iter(self.urls))]


class ShareState(NamedTuple):
    """What the patterns read of a row of `share_partition_state`."""

    topic: str
    state: str
    from_at: int
    to_at: int | None
    from_offset: int


@dataclass(slots=True, eq=False)
class Owned:
    """A time in which a member had partitions, or had none: `begin` and `end` are times (ms; None: it lasts).

    Of classic members they are the first and the last generation, by incarnation and number. `settled_from`,
    `settled_to`: from when and until when the member was reconciled; `settled_from` None: never.
    """

    member_id: str
    offset: int
    begin: Any
    end: Any
    is_idle: bool
    settled_from: Any
    settled_to: Any


class Gap(NamedTuple):
    """Partitions or tasks that had no owner from one moment to another.

    `lost`: how many of them were meant for some member, so that it is a loss; `wanted_ms`: the sum of the times in
    which they were.
    """

    lost: int
    wanted_ms: int


_T = TypeVar("_T")


class _Changes(Generic[_T]):
    """Remembers values by key: the last one of each, and the newest of those before, as their `weight` allows."""

    def __init__(self) -> None:
        self.last: dict[str, _T] = {}
        self._done: deque[tuple[str, _T]] = deque()
        self._weight = 0.0

    def add(self, key: str, value: _T) -> None:
        """Add a value behind the last one."""
        before = self.last.get(key)
        if before is not None:
            self._put_off(key, before)
        self.last[key] = value
        if len(self.last) > REMEMBERED:
            first = next(iter(self.last))
            self._put_off(first, self.last.pop(first))

    def values(self) -> Iterable[_T]:
        """Return all values."""
        return (value for _, value in self.items())

    def items(self) -> Iterable[tuple[str, _T]]:
        """Return all values with their keys; those of a key in their order."""
        return [*self._done, *self.last.items()]

    def _put_off(self, key: str, value: _T) -> None:
        self._done.append((key, value))
        self._weight += getattr(value, "weight", 1)
        while self._weight > REMEMBERED:
            self._weight -= getattr(self._done.popleft()[1], "weight", 1)


class ObservedRows:
    """The rows of a group, as far as the patterns read them; each in the order in which the replay emits them."""

    def __init__(self) -> None:
        self.stays: deque[Any] = deque(maxlen=REMEMBERED)
        self.rebalances: deque[Rebalance] = deque(maxlen=REMEMBERED)
        self.generations: deque[Generation] = deque(maxlen=REMEMBERED)
        self.migrations: deque[Any] = deque(maxlen=REMEMBERED)
        self.sizes: deque[tuple[int, int]] = deque(maxlen=REMEMBERED)
        self.task_moves: deque[Any] = deque(maxlen=REMEMBERED)
        self.share_states: deque[ShareState] = deque(maxlen=REMEMBERED)
        self.owned: _Changes[Owned] = _Changes()
        self.resolutions: _Changes[Resolution] = _Changes()
        self.subscriptions: _Changes[Resolution] = _Changes()
        self._shared: dict[frozenset[str], frozenset[str]] = {}
        self.config_reads: _Changes[ConfigRead] = _Changes()
        self.config_backs: deque[ConfigBack] = deque(maxlen=REMEMBERED)
        self._config_offset: int | None = None
        self.urls: dict[str, str] = {}
        """What instances of Schema Registry announce, by member id."""
        self.undecoded: tuple[tuple[int, int], str] | None = None
        """The last generation, by incarnation and number, in which the data of a known assignor did not decode."""
        self.unsettled: list[Any] = []
        """The open states of members, at the end of the log."""
        self.waiting: set[tuple[int, str]] = set()
        """Incarnation and id of members that wait at the end of the log for what other members have."""
        self.left_behind: dict[tuple[int, str], LeftBehind] = {}
        """What workers of a Connect cluster left behind, by incarnation and member id."""
        self.workers = Workers()
        self.gaps: dict[tuple[str, int, int], Gap] = {}
        """By the member that had the partitions or tasks, when it released them, and when they were without an owner
        no more, or the log ended."""
        self.state: Any = None
        """The row of `group_state`."""
        self.lost_until: int | None = None
        """The end of the newest stay that is not remembered."""

    def add(self, row: Row) -> None:
        """Remember what the patterns read of a row."""
        keep = _KEEP.get(type(row))
        if keep is not None:
            keep(self, row)

    def _stay(self, row: Row) -> None:
        if len(self.stays) == REMEMBERED:
            self.lost_until = self.stays[0].left_at or self.lost_until
        self.stays.append(row)

    def _rebalance(self, row: Row) -> None:
        if row.began_at is None:
            return
        revoked = tuple(blocker for blocker in row.blockers or () if blocker.revoke_ms)
        self.rebalances.append(Rebalance._make((*_REBALANCE(row), revoked)))

    def _epoch(self, row: Row) -> None:
        if row.assigned_at is not None and row.target_partitions:
            self._size(row.assigned_at, row.target_partitions)

    def _size(self, at: int, size: int) -> None:
        if not self.sizes or self.sizes[-1][1] != size:
            self.sizes.append((at, size))

    def _generation(self, row: Row) -> None:
        new = Generation._make(_GENERATION(row))
        unapplied = _first_units(row.unapplied or ())
        if self.generations and self.generations[-1].unapplied == unapplied:
            unapplied = self.generations[-1].unapplied  # a loop has the same in each round: it is remembered once
        warm_ups = None if row.warm_ups is None else tuple(row.warm_ups)
        if self.generations and self.generations[-1].warm_ups == warm_ups:
            warm_ups = self.generations[-1].warm_ups
        self.generations.append(new._replace(unapplied=unapplied, warm_ups=warm_ups))
        if not row.members:
            self._config_offset = None  # all workers may come back with another configuration
        if row.completed_at is not None and row.units:
            self._size(row.completed_at, row.units + (row.unassigned or 0))

    def _classic_member(self, row: Row) -> None:
        place = row.incarnation, row.generation
        if row.undecoded is not None:
            self.undecoded = place, row.undecoded
        if row.url is not None:
            self.urls[row.member_id] = row.url
            if len(self.urls) > REMEMBERED:
                del self.urls[next(iter(self.urls))]
        if row.topics is not None:
            topics = frozenset(row.topics)
            before = self.subscriptions.last.get(row.member_id)
            if before is None or before.topics != topics:
                self.subscriptions.add(row.member_id, self._resolved(0, None, place, topics))
        if row.assigned is not None and row.topics is not None:
            is_idle = not row.standby_tasks and not any(partitions for _, partitions in map(_fields, row.assigned))
            place_before = row.incarnation, row.generation - 1
            self._owned(Owned(row.member_id, 0, place, place, is_idle, place, place), place_before)

    def _worker(self, row: Row) -> None:
        self.workers.add(row)
        place = row.incarnation, row.generation
        if row.error == 0 and row.config_offset is not None:
            before = self._config_offset
            if before is not None and row.config_offset < before:
                self.config_backs.append(ConfigBack(place, before, row.config_offset))
            self._config_offset = row.config_offset
        if row.worker_config_offset is None:
            return
        new = ConfigRead(row.worker_url, row.worker_config_offset, row.config_offset, place, place)
        last = self.config_reads.last.get(row.member_id)
        if last is None or last[:3] != new[:3] or last.begin[0] != place[0]:
            self.config_reads.add(row.member_id, new)
        else:
            self.config_reads.last[row.member_id] = last._replace(end=place)

    def _member_state(self, row: Row) -> None:
        if row.to_at is None:
            self.unsettled.append(row)
        has_units, begin, end = bool(row.owned_units), row.from_at, row.to_at
        is_known = begin is not None and row.owned_units is not None and row.group_type != STREAMS
        # Without all records, that a member has something is still known: only that it has nothing is not.
        if is_known and (has_units or row.history in SEEN):
            settled = (begin, end) if row.state == RECONCILED else (None, None)
            self._owned(Owned(row.member_id, row.from_offset, begin, end, not has_units, *settled), begin)

    def _lag(self, row: Row) -> None:
        if row.status == OPEN and not row.superseded and row.blocked_by:
            self.waiting.add((row.incarnation, row.member_id))

    def _owned(self, now: Owned, end_before: Any) -> None:  # noqa: ANN401 - as in `Owned`
        """Remember what a member has; what it had goes on if it ended at `end_before`."""
        before = self.owned.last.get(now.member_id)
        if before is None or before.is_idle != now.is_idle or before.end != end_before:
            self.owned.add(now.member_id, now)
            return
        before.end = now.end
        if now.settled_from is not None:
            before.settled_to = now.settled_to
            if before.settled_from is None:
                before.settled_from = now.settled_from

    def _gap(self, row: Row) -> None:
        if not row.unowned_ms or row.from_member is None or row.released_at is None:
            return
        key = row.from_member, row.released_at, row.released_at + row.unowned_ms
        lost, wanted_ms = self.gaps.get(key, (0, 0))
        lost, wanted_ms = lost + (row.wanted is not False), wanted_ms + (row.wanted_ms or 0)
        if lost or wanted_ms:
            self.gaps[key] = Gap(lost, wanted_ms)
            if len(self.gaps) > REMEMBERED:
                del self.gaps[next(iter(self.gaps))]

    def _resolution(self, row: Row) -> None:
        topics = frozenset(row.topics or ())
        before = self.resolutions.last.get(row.regex)
        if before is None or before.topics != topics:
            self.resolutions.add(row.regex, self._resolved(row.offset, row.resolved_at, None, topics))

    def _resolved(
        self, offset: int, at: int | None, generation: tuple[int, int] | None, topics: frozenset[str]
    ) -> Resolution:
        """Return a change of topics; members that subscribe to the same ones share a set."""
        known = self._shared.get(topics)
        if known is None:
            known = self._shared[topics] = topics
            if len(self._shared) > _SHARED:
                del self._shared[next(iter(self._shared))]
            return Resolution(offset, at, generation, topics, 1 + len(topics) / _TOPICS_OF_A_ROW)
        return Resolution(offset, at, generation, known)

    def _migration(self, row: Row) -> None:
        self.migrations.append(row)

    def _task(self, row: Row) -> None:
        self._gap(row)
        if row.connector is None or row.from_member is None:
            return
        if row.status == OPEN and row.reason == WORKER_LEFT:
            key, at, offset = (row.incarnation, row.from_member), row.released_at, row.released_offset
            before = self.left_behind.get(key, LeftBehind(0, at, offset))
            first = min((each for each in (at, before.released_at) if each is not None), default=None)
            self.left_behind[key] = LeftBehind(before.units + 1, first, min(offset, before.released_offset))
        if row.acquired_at is not None:
            self.task_moves.append((row.acquired_at, row.acquired_offset, row.connector, row.task, row.to_member))

    def _share_state(self, row: Row) -> None:
        if row.from_at is not None and row.history in SEEN:
            name = row.topic or row.topic_id
            self.share_states.append(ShareState(name, row.state, row.from_at, row.to_at, row.from_offset))


def _first_units(unapplied: Any) -> tuple[Any, ...]:  # noqa: ANN401 - the column
    """Return the column `unapplied` with the first units of each member only, for the comparison of rounds."""
    return tuple(
        (member_id, *(tuple((topic, tuple(numbers[:_UNITS])) for topic, numbers in units[:_UNITS]) for units in both))
        for member_id, *both in unapplied
    )


def _fields(assigned: Any) -> tuple[Any, Any]:  # noqa: ANN401
    return (assigned["topic"], assigned["partitions"]) if isinstance(assigned, dict) else assigned


_METHODS: Final[Mapping[str, Callable[[ObservedRows, Row], None]]] = {
    "membership": ObservedRows._stay,  # noqa: SLF001 - of this module
    "rebalance": ObservedRows._rebalance,  # noqa: SLF001
    "epoch_timeline": ObservedRows._epoch,  # noqa: SLF001
    "classic_generation": ObservedRows._generation,  # noqa: SLF001
    "classic_member": ObservedRows._classic_member,  # noqa: SLF001
    "connect_assignment": ObservedRows._worker,  # noqa: SLF001
    "member_state_timeline": ObservedRows._member_state,  # noqa: SLF001
    "rebalance_lag": ObservedRows._lag,  # noqa: SLF001
    "partition_handover": ObservedRows._gap,  # noqa: SLF001
    "task_handover": ObservedRows._task,  # noqa: SLF001
    "regex_resolution": ObservedRows._resolution,  # noqa: SLF001
    "group_migration": ObservedRows._migration,  # noqa: SLF001
    "share_partition_state": ObservedRows._share_state,  # noqa: SLF001
}
_KEEP: Final = {ROW_CLASSES[table]: method for table, method in _METHODS.items()}
