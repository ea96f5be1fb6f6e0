"""Consumer groups whose members come and go by a plan: the log that a coordinator writes, and the replay's rows."""

from collections.abc import Iterable, Iterator
from itertools import count
from random import Random
from typing import Any, NamedTuple

from tests.replay.logs import Rows, inputs_of, replayed

START = 1_795_000_000_000
SESSION = 45
"""For how long a killed process stays a member, in seconds."""
_PARTITIONS = 12
_TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Stay(NamedTuple):
    """A member from one second to another; None: it stays."""

    client: str
    host: str
    joined: float
    left: float | None = None


def ms(seconds: float) -> int:
    """A time of the log."""
    return START + round(seconds * 1000)


def rows_of(stays: Iterable[Stay], until: float, group: str = "g") -> Rows:
    """The rows of the replay of a group's log, captured at a second."""
    return replayed(_records(stays, group), inputs_of({0: 0}, ms(until)))


def _records(stays: Iterable[Stay], group: str) -> Iterator[dict[str, Any]]:
    steps = []
    for number, stay in enumerate(stays):
        member_id = f"{number:022}"
        steps.append((stay.joined, 1, member_id, stay))
        if stay.left is not None:
            steps.append((stay.left, 0, member_id, stay))
    offsets = count()
    epoch, members = 0, dict[str, list[int]]()
    for at, joins, member_id, stay in sorted(steps, key=lambda step: step[:3]):

        def record(kind: int, value: dict[str, Any] | None, of: str | None = None, at: float = at) -> dict[str, Any]:
            key = {"groupId": group} | ({} if of is None else {"memberId": of})
            place = {"partition": 0, "offset": next(offsets), "timestamp": ms(at)}
            return place | {"type": kind, "key": key, "value": value}

        epoch += 1
        if joins:
            named = {"clientId": stay.client, "clientHost": stay.host, "rebalanceTimeoutMs": 300_000}
            yield record(5, named | {"subscribedTopicNames": ["t"]}, member_id)
            members[member_id] = []
        else:
            yield from (record(kind, None, member_id) for kind in (8, 7, 5))
            del members[member_id]
        yield record(3, {"epoch": epoch})
        if not members:
            continue
        for number, each in enumerate(members):
            found = list(range(number, _PARTITIONS, len(members)))
            if found != members[each]:
                members[each] = found
                yield record(7, {"topicPartitions": _assigned(found)}, each)
        yield record(6, {"assignmentEpoch": epoch})
        for each, found in members.items():
            yield record(8, {"memberEpoch": epoch, "state": 0, "assignedPartitions": _assigned(found)}, each)


def _assigned(numbers: list[int]) -> list[dict[str, Any]]:
    return [{"topicId": _TOPIC, "partitions": numbers}]


class Names:
    """Names of processes that are new each time, in one form of three, and their addresses."""

    def __init__(self, rng: Random, name: str) -> None:
        self._rng, self._name = rng, name
        self._form = rng.randrange(3)
        self._numbers = count(rng.randrange(1000))

    def new(self) -> tuple[str, str]:
        """A client id and a host."""
        rng = self._rng
        host = f"/10.{rng.randrange(200)}.{rng.randrange(250)}.{rng.randrange(250)}"
        if self._form == 0:
            return f"{self._name}-7d9f8b6c5d-{''.join(rng.choices(_LETTERS, k=5))}", host
        if self._form == 1:
            parts = (rng.getrandbits(4 * digits) for digits in (8, 4, 4, 4, 12))
            return f"{self._name}-" + "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}".format(*parts), host
        return f"{self._name}-{next(self._numbers)}", host


def job(rng: Random, runs: int = 16, name: str = "job") -> list[Stay]:
    """A job whose processes have new names in each run, which they begin together and end one after another.

    The starts of runs are as exact as those of a timetable; some are late.
    """
    period = 60 * rng.choice([2, 3, 5, 5, 5, 10, 15, 20, 30, 60, 120])
    names, processes = Names(rng, name), rng.choice([1, 1, 2, 4])
    usual = rng.uniform(0.1, 0.85) * period
    late = rng.choice([0, 0.8 * min(30, 0.1 * period)])
    stays = []
    for number in range(runs):
        begin = number * period + rng.uniform(0, late)
        if number % 8 == 7:
            begin += rng.uniform(0, 0.05) * period
        length = usual * rng.uniform(0.9, 1.05)
        lengths = [length, *(length * rng.uniform(0.2, 1) for _ in range(processes - 1))]
        stays += [Stay(*names.new(), begin + rng.uniform(0, 3), begin + max(5, each)) for each in lengths]
    return stays


def others(rng: Random, most: int = 4) -> list[Stay]:
    """Members that stay."""
    return [Stay(f"worker-{number}", f"/10.250.0.{number}", -7200 + number) for number in range(rng.randint(1, most))]


def crashes(rng: Random, begin: float, until: float, name: str = "crash", most: float = 300) -> list[Stay]:
    """Processes with new names that do not stay: the next one starts behind a back-off, constant or growing."""
    names, stays = Names(rng, name), []
    back_off = first = rng.uniform(10, most)
    is_growing, is_killed = rng.random() < 0.5, rng.random() < 0.5
    if is_growing:
        back_off = first = 10
    length, at = rng.uniform(3, 120), begin
    while at < until:
        died = at + length * rng.uniform(0.8, 1.2)
        stays.append(Stay(*names.new(), at, died + (SESSION if is_killed else 0)))
        at = died + back_off * rng.uniform(0.95, 1.05)
        back_off = min(2 * back_off, most) if is_growing else first
    return stays
