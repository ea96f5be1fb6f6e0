"""What the patterns know of a group: its finished rows, and what several patterns make of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from kip848_records.kinds import CONNECT, CONSUMER
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.replay.diagnosis.episodes import Test, recognise
from kip848_records.replay.diagnosis.intervals import Interval, bridged
from kip848_records.replay.diagnosis.limits import MINUTE, SECOND
from kip848_records.replay.diagnosis.stays import Members, Stay, begun_at, stays_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kip848_records.replay.diagnosis.episodes import Episode, Event, Span
    from kip848_records.replay.diagnosis.limits import Limit, Limits
    from kip848_records.replay.diagnosis.observed import Generation, ObservedRows, Rebalance

_BRIDGE: Final = 5 * SECOND
"""A run goes on over a pause so short: the last process was replaced."""
_OLD_COPY: Final = 2 * MINUTE
"""A busy log has a record in each partition more often."""


T = TypeVar("T")


class GroupHistory:
    """The finished rows of one group id of one partition, and what several patterns make of them.

    `captured_at`: ms since 1970, up to when the group is known. `known_since`: where history was cut, the time from
    which on it is known; None: the log has the group's creation. `partition_last_at`, `newest_at`: the time of the
    newest record of any group in its partition of `__consumer_offsets`, and in all; None: unknown.
    """

    def __init__(  # noqa: PLR0913 - what is known of the partition
        self,
        rows: ObservedRows,
        captured_at: int,
        limits: Limits,
        *,
        known_since: int | None = None,
        partition: int = 0,
        partition_last_at: int | None = None,
        newest_at: int | None = None,
    ) -> None:
        self.rows = rows
        self.captured_at = captured_at
        self.known_since = known_since
        self.limits = limits
        self.partition = partition
        self.partition_last_at = partition_last_at
        self.newest_at = newest_at
        self.found: list[Episode] = []
        """The episodes of the patterns that were looked for so far."""
        self._at_once: dict[Any, int] = {}
        self._found_by: dict[Callable[[GroupHistory], Any], Any] = {}

    def once(self, find: Callable[[GroupHistory], T]) -> T:
        """Return what a function finds in this history, such as the timetables; it looks once."""
        if find not in self._found_by:
            self._found_by[find] = find(self)
        return cast("T", self._found_by[find])

    @cached_property
    def stays(self) -> list[Stay]:
        """All stays by their begin."""
        return stays_of(self.rows.stays)

    @cached_property
    def begin(self) -> int:
        """The time from which on a member is there whose join was not seen: the begin of what is known."""
        if self.known_since is not None:
            return self.known_since
        times = [at for stay in self.stays for at in (stay.joined_at, stay.left_at) if at is not None]
        return min(times, default=self.captured_at)

    @cached_property
    def ends(self) -> list[Stay]:
        """The stays that members ended and that were seen as a whole, by their ends."""
        return [stay for stay in self.all_ends if stay.is_measured]

    @cached_property
    def all_ends(self) -> list[Stay]:
        """The stays that members ended, by their ends; of some only the end was seen."""
        ended = (stay for stay in self.stays if stay.has_ended and stay.left_offset is not None)
        return sorted(ended, key=lambda stay: (stay.left_at, stay.left_offset))

    @cached_property
    def by_instance(self) -> dict[str, list[Stay]]:
        """The stays of each instance id, by their begin."""
        found: dict[str, list[Stay]] = defaultdict(list)
        for stay in self.stays:
            if stay.instance_id is not None:
                found[stay.instance_id].append(stay)
        return found

    @cached_property
    def host_of(self) -> dict[str, str]:
        """The host of each member id, and of each instance id."""
        found: dict[str, str] = {}
        for stay in self.stays:
            if stay.host is not None:
                found[stay.member_id] = stay.host
                if stay.instance_id is not None:
                    found[stay.instance_id] = stay.host
        return found

    @cached_property
    def by_name(self) -> dict[tuple[str | None, str | None], list[Stay]]:
        """The stays of each client id and host, by their begin."""
        found: dict[tuple[str | None, str | None], list[Stay]] = defaultdict(list)
        for stay in self.stays:
            found[stay.name].append(stay)
        return found

    @cached_property
    def members(self) -> Members:
        """How many members there were."""
        return Members(self.stays, self.begin)

    @cached_property
    def rebalances(self) -> list[Rebalance]:
        """The rebalances that have a beginning, in their order."""
        return sorted(self.rows.rebalances, key=lambda row: row[:2])

    @cached_property
    def generations(self) -> list[Generation]:
        """The generations of a classic group, in their order."""
        return sorted(self.rows.generations)

    @cached_property
    def is_connect(self) -> bool:
        """Whether the members are workers of Kafka Connect."""
        return any(row.protocol_type == CONNECT_PROTOCOL_TYPE for row in self.rows.generations)

    def undecoded_since(self, at: int) -> str | None:
        """Return why the data of a known assignor was not decoded in a generation after a time (ms); None: it was."""
        if self.rows.undecoded is None:
            return None
        place, reason = self.rows.undecoded
        times = (row.completed_at for row in self.generations if (row.incarnation, row.generation) == place)
        last = next(times, None)
        return reason if last is not None and last >= at else None

    def kind_at(self, at: int) -> str:
        """Return the kind of the group at a time (ms), of `kinds.KINDS`; before the first known type, that one."""
        if self.is_connect:
            return CONNECT
        place = bisect_right(self._types, at, key=lambda each: each[0])
        return self._types[max(0, place - 1)][1] if self._types else CONSUMER

    @cached_property
    def _types(self) -> list[tuple[int, str]]:
        """The types of the group, each with the time from which on it is known."""
        joins = ((stay.joined_at, stay.group_type) for stay in self.stays)
        changes = ((row.at, row.to_type) for row in self.rows.migrations)
        known = sorted((at, group_type) for at, group_type in [*joins, *changes] if at is not None)
        return [next(same) for _, same in groupby(known, key=lambda each: each[1])]

    @cached_property
    def runs(self) -> list[Interval]:
        """The times in which the group had members."""
        times = sorted(
            (begun_at(each, self.begin), self.captured_at if each.left_at is None else each.left_at)
            for each in self.stays
        )
        runs = bridged(
            (Interval(joined, max(joined, gone)) for joined, gone in times), _BRIDGE + 1
        )  # two clocks may disagree
        if runs and self.members.counts and self.members.counts[-1] > 0:
            runs[-1] = runs[-1]._replace(end=None)
        return runs

    def empty_ms(self, begin: int, end: int) -> int | None:
        """Return for how long the group was Empty between two times; None if it is not known at the first one."""
        if self.known_since is not None and begin < self.known_since:
            return None
        return (
            end
            - begin
            - sum(
                max(0, min(end, self.captured_at if run.end is None else run.end) - max(begin, run.begin))
                for run in self.runs
            )
        )

    @cached_property
    def gaps_of(self) -> dict[str, list[tuple[int, int]]]:
        """When partitions began to have no owner, and the wanted ms, by the member that had them."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for (member_id, released_at, _), gap in self.rows.gaps.items():
            if gap.wanted_ms:
                found[member_id].append((released_at, gap.wanted_ms))
        return found

    def unowned_ms(self, begin: int, end: int) -> int:
        """Return the time (ms) that partitions were without an owner between two times, of all partitions together."""
        return max(0, self._unowned_until(end) - self._unowned_until(begin))

    def _unowned_until(self, at: int) -> int:
        times, counts, sums = self._unowned
        place = bisect_right(times, at) - 1
        return 0 if place < 0 else sums[place] + counts[place] * (at - times[place])

    @cached_property
    def _unowned(self) -> tuple[list[int], list[int], list[int]]:
        """Return times, how many partitions had no owner from each on, and the time lost up to it."""
        steps: dict[int, int] = defaultdict(int)
        for (_, begin, end), gap in self.rows.gaps.items():
            steps[begin] += gap.lost
            steps[end] -= gap.lost
        times = sorted(steps)
        counts = list(accumulate(steps[at] for at in times))
        spent = (count * (later - at) for (at, later), count in zip(pairwise(times), counts, strict=False))
        return times, counts, list(accumulate(spent, initial=0))

    @cached_property
    def _sizes(self) -> tuple[list[int], list[int]]:
        """Return times, and how many partitions the assignment of that time has."""
        known = sorted(self.rows.sizes)
        return [at for at, _ in known], [size for _, size in known]

    def partitions_at(self, at: int) -> int | None:
        """Return how many partitions the group had assigned at a time, or first; None if that is unknown."""
        times, sizes = self._sizes
        return sizes[max(0, bisect_right(times, at) - 1)] if sizes else None

    def is_copy_old(self, at: int) -> bool:
        """Return whether the partition's copy may end before the capture: nothing in it is later than a time (ms).

        Files of a broker that follows may be days behind; a partition whose groups do nothing looks the same.
        """
        last, newest = self.partition_last_at, self.newest_at
        return last is not None and newest is not None and last <= at and newest - last > _OLD_COPY

    def last_stay(self, member_id: str | None) -> Stay | None:
        """Return the newest stay of a member id."""
        return next((stay for stay in reversed(self.stays) if stay.member_id == member_id), None)

    def spans(
        self, events: Iterable[Event], needed: Limit[int], within: Limit[int], calm: Limit[int] | None = None
    ) -> list[Span]:
        """Return the times in which an event recurs: as often as one limit says, within the time of another."""
        test = Test(self.limits[needed], self.limits[within], None if calm is None else self.limits[calm])
        return recognise(events, [test], self.limits, self.captured_at)

    @property
    def newest_incarnation(self) -> int:
        """The last incarnation of which there are rows."""
        return max((stay.incarnation for stay in self.stays), default=0)

    def at_once(self, name: tuple[str | None, str | None]) -> int:
        """Return how many members have a client id and host at most moments when one of them joins."""
        found = self._at_once.get(name)
        if found is None:
            found = self._at_once[name] = usual_at_once(self.by_name.get(name, ()))
        return found


def usual_at_once(stays: Sequence[Stay]) -> int:
    """Return how many members of one name there are at most moments when one of them joins.

    A stay's corpse does not count: it ends that much earlier, but not before a moment behind its begin. Processes that
    may have died before their classic generation was complete count once.
    """
    times = []
    dead: set[int | None] = set()
    for stay in stays:
        if stay.joined_at is None:
            continue
        if stay.left_at is not None and stay.left_at - stay.corpse <= stay.joined_at:
            if stay.joined_offset in dead:
                continue
            dead.add(stay.joined_offset)
        times.append((stay.joined_at, 1))
        if stay.left_at is not None:
            times.append((max(stay.joined_at + 1, stay.left_at - stay.corpse), -1))
    count, counts = 0, []
    for _, step in sorted(times):
        count += step
        if step > 0:
            counts.append(count)
    return sorted(counts)[len(counts) // 2] if counts else 0
