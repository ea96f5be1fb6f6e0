"""The truth about a share group: what its coordinator has in memory at the end of each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kip848_records.kinds import SHARE
from kip848_records.simulate.walks.share import ShareWalk
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED
from tests.simulator.walks.observed import Observed
from tests.simulator.walks.open_rows import Intervals, OpenEpochs, OpenRebalance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.simulate.walks.share_group import ShareGroup, ShareMember
    from tests.simulator.truth.rows import At, Row


class ShareTruth:
    """Follows one share group id. The rows of epochs and rebalances stay open until the group has converged."""

    def __init__(self, walk: ObservedShareWalk) -> None:
        self._walk = walk
        self._states = Intervals(walk, "group_state_timeline")
        self._owned = Intervals(walk, "ownership")
        self._partitions = Intervals(walk, "share_partition_state")
        self._epochs = OpenEpochs(walk, SHARE)
        self._rebalance = OpenRebalance(walk, SHARE)
        self._stays: dict[str, Row] = {}
        self._left: list[Row] = []
        """The stays that ended in the present incarnation: as long as it lives, their members may return."""
        self._members_before = 0
        self._last_moment = walk.now
        self._without_member = 0
        self._is_assigning = False
        self._share_state: At | None = None
        """The offset of the operation's type 15."""
        self._bumped = 0, frozenset()
        """The metadata hash and the topics at the last bump."""

    def join(self, member: ShareMember) -> None:
        """Note a new member, whose type 10 was just written."""
        walk = self._walk
        row = {"incarnation": walk.incarnation, "group_type": SHARE, "member_id": member.member_id}
        row |= {"joined_offset": walk.offset(), "joined_at": walk.now, "joined_how": "joined", "returned": False}
        self._stays[member.member_id] = row | {
            "client_id": member.client_id,
            "client_host": member.host,
            "joined_epoch": None,
        }

    def leave(self, member: ShareMember) -> None:
        """Note that a member is gone; its tombstone of type 10 was just written."""
        row = self._stays[member.member_id] | {"topics": sorted(member.topics), "history": OBSERVED}
        row |= {"left_at": self._walk.now, "left_offset": self._walk.offset(), "left_how": "left"}
        self._stays[member.member_id] = row

    def bump(self, group: ShareGroup, cause: str, triggers: Iterable[str]) -> None:
        """Note a new epoch, and the rebalance that it begins."""
        self._pass_time(self._walk.now)
        offset, before, self._bumped = self._walk.offset(), self._bumped, (group.metadata_hash, group.subscribed)
        # The same topics have other partitions.
        metadata = self._bumped[0] != before[0] and self._bumped[1] == before[1]
        facts = {"metadata_changed": metadata, "trigger_member_ids": list(triggers), "members": len(group.members)}
        self._epochs.bump(group.epoch, cause, offset, **facts)
        row = self._rebalance.bump(group.epoch, cause, offset, self._members_before)
        for column in ("unowned_ms", "late_ms", "not_ready_ms"):
            row.setdefault(column, 0)

    def assign(self, group: ShareGroup) -> None:
        """Note an assignment."""
        claims = [partition for target in group.targets.values() for partition in target]
        shared = {partition for partition in claims if claims.count(partition) > 1}
        self._epochs.assign(target_partitions=len(set(claims)), target_duplicates=len(shared))

    def write_share_state(self) -> None:
        """Note that a type 15 was just written."""
        self._share_state = self._walk.offset()

    def delete(self, group: ShareGroup) -> None:
        """Note that the group was deleted."""
        self.write_share_state()
        self.end_operation(group, is_deleted=True)
        self._walk.incarnation += 1
        self._bumped = 0, frozenset()

    def end_operation(self, group: ShareGroup, *, is_deleted: bool = False) -> None:
        """Note what is different from the end of the operation before."""
        walk = self._walk
        self._pass_time(walk.now)
        if self._share_state is not None:
            self._follow_partitions(group, self._share_state)
            self._share_state = None
        offset, members = walk.end_of_operation(), group.members
        held = {(member_id, *tp) for member_id, member in members.items() for tp in member.assigned}
        owner = {"group_type": SHARE}
        self._owned.follow(
            {key: owner | dict(zip(("member_id", "topic_id", "partition"), key, strict=True)) for key in held}, offset
        )
        self._end_stays(group)
        if is_deleted:
            for stay in self._left:
                walk.note("membership", stay)
            self._left.clear()
        state = {"group_type": SHARE, "state": "Stable" if members else "Empty", "hides_rebalance": True}
        self._states.follow({} if is_deleted else {state["state"]: state}, offset)
        if not members or group.has_converged:
            self._end_rebalance(group, "converged" if members else "emptied")
        self._without_member = len(group.wanted() - {key[1:] for key in held})
        self._is_assigning = group.epoch > group.assignment_epoch
        self._members_before = len(members)

    def close(self, captured_at: int) -> None:
        """End all open rows."""
        group: ShareGroup | None = self._walk._group
        self._pass_time(captured_at)
        for intervals in (self._states, self._owned, self._partitions):
            intervals.close(captured_at)
        if group is None:
            return
        for stay in self._left:
            self._walk.note("membership", stay | {"returned": None})
        for member_id, stay in self._stays.items():
            topics = sorted(group.members[member_id].topics)
            self._walk.note("membership", stay | {"topics": topics, "returned": None, "history": RIGHT_CENSORED})
        began_at = None if self._rebalance.row is None else self._rebalance.row["began_at"]
        self._end_rebalance(group, "open", captured_at)
        late = sum(member.epoch != group.assignment_epoch for member in group.members.values())
        row: Row = {"incarnation": self._walk.incarnation, "group_type": SHARE}
        row |= {"state": "Stable" if group.members else "Empty", "members": len(group.members)}
        row |= {"group_epoch": group.epoch, "assignment_epoch": group.assignment_epoch}
        row |= {"rebalancing_since": began_at, "rebalancing_history": None if began_at is None else RIGHT_CENSORED}
        self._walk.note("group_state", row | {"converged_members": len(group.members) - late})

    def _pass_time(self, now: int) -> None:
        """Add the time since the last operation, in which nothing changed, to the open rebalance."""
        passed, self._last_moment = now - self._last_moment, now
        row = self._rebalance.row
        if row is not None:
            row["unowned_ms"] += passed * self._without_member
            row["assigning_ms" if self._is_assigning else "late_ms"] += passed

    def _follow_partitions(self, group: ShareGroup, offset: At) -> None:
        now = {}
        for (topic_id, state), (name, partitions) in group.partition_states().items():
            row = {"topic_id": topic_id, "topic": name, "state": state, "partitions": partitions}
            now[topic_id, state, tuple(partitions or ())] = row
        self._partitions.follow(now, offset)

    def _end_stays(self, group: ShareGroup) -> None:
        for member_id, stay in list(self._stays.items()):
            if stay["joined_epoch"] is None:
                stay["joined_epoch"] = group.epoch
            if "left_at" in stay:
                self._left.append(self._stays.pop(member_id) | {"left_epoch": group.epoch})

    def _end_rebalance(self, group: ShareGroup, outcome: str, captured_at: int | None = None) -> None:
        """End the open epochs and their rebalance with the operation, or at the end of the log."""
        history = OBSERVED if captured_at is None else RIGHT_CENSORED
        self._epochs.end(outcome, group.epoch, history)
        members = self._members_before if outcome == "emptied" else len(group.members)
        self._rebalance.end(outcome, members, captured_at)


class ObservedShareWalk(Observed, ShareWalk):
    """A walk of a share group, with the truth."""

    TABLES = (
        *("epoch_timeline", "rebalance", "group_state_timeline", "group_state", "membership"),
        *("ownership", "share_partition_state"),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.truth = ShareTruth(self)

    def step(self) -> None:
        super().step()
        if self._group is not None and self.wrote_now():
            self.truth.end_operation(self._group)
