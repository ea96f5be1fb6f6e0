"""What each present member has at the end of the log, and what it is to have: `member_assignment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kip848_records.kinds import CLASSIC
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.replay.group.vocabulary import UNKNOWN
from kip848_records.replay.modern.member import GONE, NOTHING
from kip848_records.replay.rows import MemberAssignment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from kip848_records.replay.classic.group import ClassicGroup
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.known_history import KnownHistory
    from kip848_records.replay.group.states import StateTimeline
    from kip848_records.replay.modern.group import ModernGroup
    from kip848_records.replay.rows import Row

    Place = tuple[str | None, str | None, str | None, str | None, str | None]
    """Topic id, topic, subtopology id, connector and role; those that the kind of group does not have are None."""

_CONNECTOR = "connector"
_TASK = "task"


def member_assignments(  # noqa: PLR0913 - the parts of a group
    context: Context,
    states: StateTimeline,
    classic: ClassicGroup,
    modern: ModernGroup | None,
    history: KnownHistory,
    *,
    is_lost: bool,
) -> Iterator[Row]:
    """Yield the rows of a group that was not deleted; `is_lost`: records of it are missing.

    In that case, and in state unknown, a lost record may have changed what earlier records say: that has no row.
    """
    is_known = states.state not in {None, UNKNOWN}
    if states.group_type == CLASSIC:
        if is_known:
            yield from _of_classic(context, classic)
    elif modern is not None and not is_lost and (is_known or not history.has_losses):
        yield from _of_modern(context, modern)


def _of_classic(context: Context, group: ClassicGroup) -> Iterator[Row]:
    value = group.value
    if value is None:
        return
    is_connect = value.protocol_type == CONNECT_PROTOCOL_TYPE
    for member in value.members:
        present: dict[Place, list[int]] = {}
        for name, number in map(context.numbers.of_names.name, member.units or ()):
            role = _CONNECTOR if number < 0 else _TASK
            place: Place = (None, None, None, name, role) if is_connect else (None, name, None, None, None)
            present.setdefault(place, []).append(number)
        yield from _rows(context, CLASSIC, member.member_id, present, None, {})


def _of_modern(context: Context, group: ModernGroup) -> Iterator[Row]:
    for member in group.members.values():
        if member.state == GONE:
            continue
        pending = NOTHING if member.current is None else member.current.pending
        target = _by_place(group, member.target) if member.has_target else None
        present, revoked = (_by_place(group, units) for units in (member.held, pending))
        yield from _rows(context, group.kind, member.member_id, present, target, revoked)


def _by_place(group: ModernGroup, units: Iterable[int]) -> dict[Place, list[int]]:
    places: dict[Place, list[int]] = {}
    for unit in units:
        topic_id, number, subtopology_id, role = group.units.name(unit)
        places.setdefault((topic_id, None, subtopology_id, None, role), []).append(number)
    return places


def _rows(  # noqa: PLR0913, PLR0917 - the columns
    context: Context,
    group_type: str,
    member_id: str,
    present: Mapping[Place, Collection[int]],
    target: Mapping[Place, Collection[int]] | None,
    pending: Mapping[Place, Collection[int]],
) -> Iterator[Row]:
    # A set of texts has another order in each run.
    for place in sorted(present.keys() | (target or {}).keys(), key=str):
        topic_id, topic, subtopology_id, connector, role = place
        has, revokes = present.get(place, ()), pending.get(place, ())
        gets: Any = None if target is None else target.get(place, ())
        yield MemberAssignment(
            group_id=context.group_id,
            incarnation=context.incarnation,
            group_type=group_type,
            partition=context.partition,
            member_id=member_id,
            topic_id=topic_id,
            topic=topic,
            subtopology_id=subtopology_id,
            connector=connector,
            role=role,
            present=tuple(sorted(has)),
            target=None if gets is None else tuple(sorted(gets)),
            pending=tuple(sorted(revokes)),
            present_units=len(has),
            target_units=None if gets is None else len(gets),
            pending_units=len(revokes),
        )
