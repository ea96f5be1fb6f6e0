"""Stays: the rows of `membership`, one for each time that a member was in the group, over conversions of the group."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CLASSIC
from kip848_records.replay.diagnosis.episodes import Subject
from kip848_records.replay.diagnosis.limits import MINUTE, SECOND
from kip848_records.replay.group.known_history import SEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_CONVERTED: Final = frozenset({"upgraded", "downgraded"})
_NO_END: Final = frozenset({None, "group_deleted", "upgraded", "downgraded"})

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_POD: Final = re.compile(r"-[a-z0-9]{6,10}-[b-df-hj-np-tv-z0-9]{5}$")
_POD_OF_SET: Final = re.compile(r"-(?=[a-z0-9]*\d)[a-z0-9]{5}$")
_NUMBER: Final = re.compile(r"(?<=[-_.])\d+$")

_CORPSE: Final = 60 * SECOND
"""The longest session of consumer, share and streams members that brokers allow by default."""
CLASSIC_CORPSE: Final = 15 * SECOND
"""What a classic member's session timeout takes longer to notice."""
_LONGEST_CORPSE: Final = 10 * MINUTE
"""Session timeouts of hours exist; a corpse of hours would explain everything."""


def normalised(client_id: str | None) -> str | None:
    """Return a client id with `*` for UUIDs, a pod's hashes, and a last number behind `-`, `_` or `.`."""
    if client_id is None:
        return None
    name = _UUID.sub("*", client_id)
    for pattern, to in ((_POD, "-*"), (_NUMBER, "*"), (_POD_OF_SET, "-*")):
        found = pattern.sub(to, name)
        if found != name:
            return found
    return name


@dataclass(slots=True, eq=False)
class Stay:
    """One time of a member in the group, from `joined_at` to `left_at` (ms; None: not seen, or it is a member).

    `is_measured`: both ends were seen, and no record is missing between. `corpse`: for how long a killed process stays
    a member, in ms. `name`: by which the operator knows the process. `was_never_alive`: it ended when the session with
    which a classic member joined did, so its process may have been dead when its generation was complete.
    """

    member_id: str
    client_id: str | None
    host: str | None
    instance_id: str | None
    normalised: str | None
    joined_at: int | None
    joined_offset: int | None
    joined_how: str | None
    left_at: int | None
    left_offset: int | None
    left_how: str | None
    is_begin_seen: bool
    is_measured: bool
    corpse: int
    was_never_alive: bool
    away_ms: int
    rebalance_timeout: int | None
    topics: Sequence[str]
    regex: str | None
    server_assignor: str | None
    group_type: str
    incarnation: int
    returned: bool

    @property
    def name(self) -> tuple[str | None, str | None]:
        """The client id and the host, as logged."""
        return self.client_id, self.host

    @property
    def subject(self) -> Subject:
        """Who it is, for a sentence."""
        return Subject(client_id=self.client_id, client_host=self.host, instance_id=self.instance_id)

    @property
    def has_ended(self) -> bool:
        """Whether the member left, expired or was replaced."""
        return self.left_how not in _NO_END and self.left_at is not None

    @property
    def length(self) -> int:
        """The time from join to end, in ms; only of measured stays."""
        assert self.joined_at is not None and self.left_at is not None  # noqa: S101, PT018 - for mypy
        return self.left_at - self.joined_at

    @property
    def is_classic(self) -> bool:
        """Whether it began as the member of a classic group."""
        return self.group_type == CLASSIC


def stays_of(rows: Iterable[Any]) -> list[Stay]:
    """Return the stays of the rows of `membership` by their first offsets. A conversion of the group ends none."""
    stays: list[Stay] = []
    converted: dict[str, Stay] = {}
    for row in sorted(rows, key=_begin):
        before = converted.pop(row.member_id, None) if row.joined_how in _CONVERTED else None
        if before is None:
            before = _stay(row)
            stays.append(before)
        else:
            before.left_at, before.left_offset, before.left_how = row.left_at, row.left_offset, row.left_how
            before.is_measured = before.is_measured and row.history in SEEN
            before.incarnation = row.incarnation
            before.returned = bool(row.returned)  # null: not so far
            before.away_ms = row.away_ms or 0
        if row.left_how in _CONVERTED:
            converted[row.member_id] = before
    for stay in stays:
        is_whole = stay.is_measured and stay.has_ended and stay.joined_at is not None
        stay.is_measured = is_whole and stay.length >= 0  # two clocks may disagree
        session = stay.corpse - CLASSIC_CORPSE
        stay.was_never_alive = stay.is_classic and stay.is_measured and abs(stay.length - session) <= 2 * SECOND
    return stays


def _begin(row: Any) -> int:  # noqa: ANN401 - a row of membership
    begin: int = row.left_offset if row.joined_offset is None else row.joined_offset
    return begin


def _stay(row: Any) -> Stay:  # noqa: ANN401
    session = row.session_timeout_ms
    if row.group_type == CLASSIC:
        corpse = min((45_000 if session is None else session) + CLASSIC_CORPSE, _LONGEST_CORPSE)
    else:
        corpse = _CORPSE
    is_seen = row.history in SEEN and row.joined_offset is not None
    return Stay(
        member_id=row.member_id,
        client_id=row.client_id,
        host=row.client_host,
        instance_id=row.instance_id,
        normalised=normalised(row.client_id),
        joined_at=row.joined_at,
        joined_offset=row.joined_offset,
        joined_how=row.joined_how,
        left_at=row.left_at,
        left_offset=row.left_offset,
        left_how=row.left_how,
        is_begin_seen=is_seen,
        is_measured=is_seen,
        corpse=corpse,
        was_never_alive=False,
        away_ms=row.away_ms or 0,
        rebalance_timeout=row.rebalance_timeout_ms,
        topics=row.topics or (),
        regex=row.regex,
        server_assignor=row.server_assignor,
        group_type=row.group_type,
        incarnation=row.incarnation,
        returned=bool(row.returned),
    )


def begun_at(stay: Stay, since: int) -> int:
    """Return when a stay began; one whose join was not seen lasts since a time, or since before its end."""
    if stay.joined_at is not None:
        return stay.joined_at
    return since if stay.left_at is None else min(since, stay.left_at)


class Members:
    """How many members a group had at a time: of all stays, or of those that last for some time already.

    `since`: from when on the members are there whose joins were not seen.
    """

    def __init__(self, stays: Iterable[Stay], since: int, age: int = 0) -> None:
        steps: dict[int, int] = {}
        for stay in stays:
            begin = begun_at(stay, since) + age
            if stay.left_at is None or stay.left_at > begin:
                steps[begin] = steps.get(begin, 0) + 1
                if stay.left_at is not None:
                    steps[stay.left_at] = steps.get(stay.left_at, 0) - 1
        self.times = sorted(steps)
        self.counts: list[int] = []
        count = 0
        for at in self.times:
            count += steps[at]
            self.counts.append(count)

    def before(self, time: int) -> int:
        """Return the number of members just before a time."""
        place = bisect_left(self.times, time) - 1
        return 0 if place < 0 else self.counts[place]
