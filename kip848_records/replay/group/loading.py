"""Whether a coordinator can load the records of a group: `refused_record`, and `record_not_loadable` of `anomaly`.

It is the state that `GroupMetadataManager.replay` of Kafka keeps for a group id while it loads its partition, record by
record. It does not depend on operations or epochs, which the tables are about. The rules of one kind of group are a
subclass of `LoadingRules` in its folder.

A release ignores the records of types that it does not know, and so may have another state of the group than others.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.kinds import CLASSIC, KINDS, Role
from kip848_records.replay import refusals
from kip848_records.replay.group.vocabulary import RECORD_NOT_LOADABLE
from kip848_records.replay.numbers import owned
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import ANOMALY, REFUSED_RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import (
        ClassicGroupValue,
        CurrentAssignmentValue,
        GroupEpochValue,
        Record,
        StreamsGroupEpochValue,
    )
    from kip848_records.replay.refusals import Refusal

_write_anomaly: Final = row_writer(ANOMALY)
_write_refused: Final = row_writer(REFUSED_RECORD)

_LOST: Final = Role.LOST
_CLASSIC_GROUP: Final = Role.CLASSIC_GROUP
_SIMPLE: Final = "simple"
_DELETED_EPOCH: Final = -1
_DIALECT: Final = "kafka"
_NOTHING: Final[frozenset[int]] = frozenset()
_EXPECTED: Final = "a record that can be replayed"


class LoadedMember:
    """A member: its epoch, the partitions that it took, and the offset of its last record.

    `is_described`: a record of its metadata was there. `is_overtaken`: another member took one of its partitions.
    """

    __slots__ = ("epoch", "held", "is_described", "is_overtaken", "offset")

    def __init__(self, offset: int) -> None:
        self.epoch = 0
        self.held = _NOTHING
        self.is_described = self.is_overtaken = False
        self.offset = offset


class LoadingRules:
    """What a coordinator refuses to load in a kind of group other than classic: here, of partitions with one owner.

    `on_simple`, `on_classic`: a record on a simple group, which it replaces, and on a classic one. `held_undescribed`:
    another record of a member that has units and no metadata. `held_twice`: a member has a unit, and is to revoke it.
    `may_leave_targets`: the group can be deleted before its members' targets.
    """

    on_simple: Refusal | None = None
    on_classic = refusals.OTHER_KIND
    held_undescribed: Refusal | None = None
    held_twice = refusals.HELD_TWICE
    may_leave_targets = False

    def refused(self, record: Record, *, has_group: bool, has_member: bool) -> Refusal | None:
        """Return why some releases refuse a record because its group or its member is not there; None: they do not."""

    def taken(self, owner: LoadedMember, member: LoadedMember) -> Refusal | None:
        """Return why a member cannot take a unit from its owner, None if it can."""
        return refusals.TWO_OWNERS if owner.epoch >= member.epoch else refusals.TAKEN_EARLY

    def writers(self, value: Any) -> frozenset[str]:  # noqa: ANN401 - of its kind
        """Return the releases that may have written the value of a group epoch."""
        return refusals.FROM_4_1 if value.metadata_hash else refusals.RELEASES


class Refused(NamedTuple):
    """A refused record. `begin`: the first offset on which that depends. `releases`: those that refuse it."""

    record: Record
    begin: int
    incarnation: int
    refusal: Refusal
    releases: frozenset[str]


class Loading:
    """A group id, as the coordinators of all releases have it that load the records in offset order.

    Releases share one state until one of them ignores a record. `rules_of`: the rules of a kind of group. `refused`:
    records of the operation.
    """

    def __init__(self, context: Context, rules_of: Callable[[str], LoadingRules]) -> None:
        self._context = context
        self.refused: list[Refused] = []
        self._states = [LoadedGroup(context, rules_of, self.refused)] if context.dialect == _DIALECT else []
        self._knowers: dict[int, list[LoadedGroup]] = {}  # by record type
        self._loads = frozenset(refusals.LOADERS)  # those that have refused no record yet
        self._may_load = self._loads  # those of which also no unproven record says so

    def replay(self, record: Record) -> None:
        """Replay a record, and note whether a coordinator refuses it. It is applied in any case."""
        if record.role is not _LOST:  # a lost record is unknown
            for state in self._knowers.get(record.key_type) or self._knowing(record.key_type):
                state.replay(record)

    def _knowing(self, key_type: int) -> list[LoadedGroup]:
        """Return the states of the releases that know a type: they get their own, the others keep what they have."""
        found = []
        for state in tuple(self._states):
            if key_type in state.known_types:
                found.append(state)
            elif knowing := state.releases & refusals.knowing(key_type):
                found.append(state.fork(knowing))
                self._states.append(found[-1])
                self._knowers.clear()
        self._knowers[key_type] = found
        return found

    def end_operation(self, *, is_evaluated: bool) -> None:
        """Write the refused records of an operation; nothing is proven before the history is complete."""
        for each in self.refused:
            refused = each.releases & (self._loads if is_evaluated else self._may_load)
            self._may_load -= refused
            if not refused:
                continue
            record, refusal = each.record, each.refusal
            columns: dict[str, Any] = {"incarnation": each.incarnation, "offset": record.offset, "at": record.timestamp}
            columns |= {"member_id": record.member_id, "seen": refusal.seen}
            _write_refused(
                self._context,
                each.begin,
                **columns,
                record_type=record.key_type,
                refused_by=tuple(release for release in refusals.LOADERS if release in refused),
                bug=refusal.known_bug,
                extra=(is_evaluated,),
            )
            if is_evaluated:
                self._loads -= refused
            if is_evaluated and (refused := refused & refusals.RELEASES):
                columns |= {"kind": RECORD_NOT_LOADABLE, "epoch": None, "expected": _EXPECTED}
                extra = tuple(sorted(refused)), refusal.known_bug
                _write_anomaly(self._context, each.begin, **columns, extra=extra)
        self.refused.clear()


class LoadedGroup:
    """A group id, as the coordinators of some releases have it.

    `kind`: None if there is no group; `simple` for a classic group without members and protocol type, which a group of
    another type may replace. An assignment epoch is 0 before the first record of one, and -1 after its tombstone.
    `known_types`: the record types that all of `releases` know. `refused`: where refused records are noted.
    """

    def __init__(self, context: Context, rules_of: Callable[[str], LoadingRules], refused: list[Refused]) -> None:
        self._context = context
        self._rules_of = rules_of
        self._refused = refused
        self._rules = LoadingRules()  # of the kind
        self._kind: str | None = None
        self._offset = -1  # of the last record that made the group what it is
        self._members: dict[str, LoadedMember] = {}
        self._targets: dict[str, int] = {}
        self._owners: dict[int, LoadedMember] = {}
        self._assignment_epoch = 0
        self.releases = frozenset[str]()
        self.known_types = frozenset[int]()
        self._restrict(frozenset(refusals.LOADERS))

    def _restrict(self, releases: frozenset[str]) -> None:
        self.releases = releases
        self.known_types = refusals.known_to_all(releases)

    def fork(self, releases: frozenset[str]) -> LoadedGroup:
        """Return the same group for some of the releases, which are no longer among these here."""
        shared = (self._context, self._rules_of, self._refused, self._rules)
        found = deepcopy(self, {id(each): each for each in shared})
        found._restrict(releases)  # noqa: SLF001 - of this class
        self._restrict(self.releases - releases)
        return found

    def replay(self, record: Record) -> None:
        """Replay a record of a type that the releases know."""
        role, kind = record.role, record.kind
        if role is _CLASSIC_GROUP:
            self._replay_classic(record)
            return
        has_group = self._kind == kind
        if has_group or self._kind is None:
            has_member = record.member_id in self._members
            if not (has_group and has_member):
                refusal = self._rules_of(kind).refused(record, has_group=has_group, has_member=has_member)
                if refusal is not None:
                    self._refuse(record, refusal, self._offset if self._offset >= 0 else record.offset)
        if not has_group and not self._enter(kind, record):
            return
        if record.refusal is not None:
            self._refuse_value(record, record.refusal)
        handler = _HANDLERS[role]
        if handler is not None:
            handler(self, record)

    def _refuse(self, record: Record, refusal: Refusal, *offsets: int) -> None:
        """Note a refused record. `offsets`: of the records on which that depends."""
        if releases := refusal.releases & self.releases:
            begin = min(offsets, default=record.offset)
            self._refused.append(Refused(record, begin, self._context.incarnation, refusal, releases))

    def _refuse_value(self, record: Record, refusal: Refusal) -> None:
        self._refuse(record, refusal)
        if refusal.writers is not None:
            self._context.writers &= refusal.writers

    def _enter(self, kind: str, record: Record) -> bool:
        """Return whether a record of another type than the group's applies to a group of its own type.

        A record replaces a simple group; a tombstone too, which leaves none then. An offset commit makes a simple group
        if there is none.
        """
        commit = record.commit_before
        if self._kind is None and commit is not None and commit > self._offset:
            self._begin(_SIMPLE, commit)
        before, is_tombstone = self._kind, record.value is None
        rules = self._rules_of(kind)
        refusal: Refusal | None = None
        if before == _SIMPLE:
            refusal = rules.on_simple
        elif before is not None:
            refusal = rules.on_classic if before == CLASSIC else refusals.OTHER_KIND
        if refusal is not None:
            self._refuse(record, refusal, self._offset)
        if record.role is not Role.OTHER:
            self._context.writers &= refusals.since(KINDS[kind].first_release)
        if is_tombstone and before != _SIMPLE:
            return False
        self._begin(kind, record.offset)
        self._rules = rules
        return True

    def _begin(self, kind: str | None, offset: int) -> None:
        self._kind, self._offset = kind, offset
        self._members.clear()
        self._targets.clear()
        self._owners.clear()
        self._assignment_epoch = 0

    def _replay_classic(self, record: Record) -> None:
        """Replay a type 2. It replaces the group, or removes it, whatever its type is."""
        value: ClassicGroupValue | None = record.value
        if value is None:
            self._begin(None, record.offset)
            return
        if value.has_duplicate_instance:
            self._refuse(record, refusals.DUPLICATE_INSTANCE)
        elif value.has_duplicate_member:
            self._refuse(record, refusals.DUPLICATE_MEMBER)
        self._begin(CLASSIC if value.member_ids or value.protocol_type else _SIMPLE, record.offset)

    def _replay_group_epoch(self, record: Record) -> None:
        value: GroupEpochValue | StreamsGroupEpochValue | None = record.value
        if value is not None:
            self._context.writers &= self._rules.writers(value)
            return
        if self._members:
            self._refuse(record, refusals.GROUP_WITH_MEMBERS, max(member.offset for member in self._members.values()))
        elif self._targets and not self._rules.may_leave_targets:
            self._refuse(record, refusals.GROUP_WITH_TARGETS, max(self._targets.values()))
        elif self._assignment_epoch != _DELETED_EPOCH:
            self._refuse(record, refusals.GROUP_WITH_ASSIGNMENT, self._offset)
        self._begin(None, record.offset)

    def _replay_target(self, record: Record) -> None:
        if record.value is not None:
            self._targets[record.member_id or ""] = record.offset
        else:
            self._targets.pop(record.member_id or "", None)

    def _replay_assignment_epoch(self, record: Record) -> None:
        if record.value is not None:
            self._assignment_epoch = record.value
            return
        if self._targets:
            self._refuse(record, refusals.ASSIGNMENT_WITH_TARGETS, max(self._targets.values()))
        self._assignment_epoch = _DELETED_EPOCH

    def _replay_member(self, record: Record) -> None:
        member_id = record.member_id or ""
        member = self._members.get(member_id)
        if record.value is not None:
            if member is None:
                member = self._members[member_id] = LoadedMember(record.offset)
            else:
                self._check_undescribed(member, record)
                if member.is_overtaken:
                    self._take(member, member.held, record)
            member.is_described = True
            member.offset = record.offset
        elif member is not None:
            if member.epoch != _DELETED_EPOCH:
                self._refuse(record, refusals.MEMBER_WITH_ASSIGNMENT, member.offset)
            elif member_id in self._targets:
                self._refuse(record, refusals.MEMBER_WITH_TARGET, self._targets[member_id])
            self._check_undescribed(member, record)
            self._release(member, member.held)
            del self._members[member_id]

    def _replay_current_assignment(self, record: Record) -> None:
        member_id = record.member_id or ""
        member = self._members.get(member_id)
        value: CurrentAssignmentValue | None = record.value
        if member is None:
            if value is None:
                return
            member = self._members[member_id] = LoadedMember(record.offset)
        self._check_undescribed(member, record)
        before, held = member.held, _NOTHING
        if value is None:
            member.epoch = _DELETED_EPOCH
        else:
            member.epoch, held = value.member_epoch, value.assigned
            if value.pending:
                held |= value.pending
                if list(owned(KINDS[record.kind], value.assigned & value.pending)):
                    self._refuse(record, self._rules.held_twice)
        member.offset = record.offset
        if held == before and not member.is_overtaken:
            return
        member.held = held
        self._release(member, before - held)
        self._take(member, held if member.is_overtaken else held - before, record)

    def _check_undescribed(self, member: LoadedMember, record: Record) -> None:
        if not member.is_described and member.held and (refusal := self._rules.held_undescribed) is not None:
            self._refuse(record, refusal, member.offset)

    def _release(self, member: LoadedMember, partitions: Iterable[int]) -> None:
        owners = self._owners
        for partition in partitions:
            if owners.get(partition) is member:
                del owners[partition]

    def _take(self, member: LoadedMember, units: Iterable[int], record: Record) -> None:
        """Make a member the owner of units, as far as they have one."""
        owners = self._owners
        member.is_overtaken = False
        for unit in owned(KINDS[record.kind], units):
            owner = owners.get(unit)
            if owner is not None and owner is not member:
                owner.is_overtaken = True
                refusal = self._rules.taken(owner, member)
                if refusal is not None:
                    self._refuse(record, refusal, owner.offset)
            owners[unit] = member


_BY_ROLE: Final = {
    Role.CURRENT_ASSIGNMENT: LoadedGroup._replay_current_assignment,  # noqa: SLF001 - of this module
    Role.MEMBER: LoadedGroup._replay_member,  # noqa: SLF001
    Role.MEMBER_TARGET: LoadedGroup._replay_target,  # noqa: SLF001
    Role.ASSIGNMENT_EPOCH: LoadedGroup._replay_assignment_epoch,  # noqa: SLF001
    Role.GROUP_EPOCH: LoadedGroup._replay_group_epoch,  # noqa: SLF001
}
_HANDLERS: Final = [_BY_ROLE.get(role) for role in Role]
