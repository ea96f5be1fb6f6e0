"""The records of one consumer group, as its coordinator writes them: keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.protocol.key_types import KeyType
from kip848_records.simulate.broker.member import topic_partitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation

GROUP_EPOCH: Final = KeyType.CONSUMER_GROUP_METADATA
PARTITION_METADATA: Final = KeyType.CONSUMER_GROUP_PARTITION_METADATA
MEMBER: Final = KeyType.CONSUMER_GROUP_MEMBER_METADATA
ASSIGNMENT_EPOCH: Final = KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA
MEMBER_TARGET: Final = KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER
CURRENT_ASSIGNMENT: Final = KeyType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT
_REGULAR_EXPRESSION: Final = KeyType.CONSUMER_GROUP_REGULAR_EXPRESSION


class GroupRecords:
    """Writes the records of a group into operations."""

    def __init__(self, group_id: str) -> None:
        self._key = {"groupId": group_id}

    def of_group(self, operation: Operation, key_type: int, value: dict[str, Any] | None) -> None:
        """Write a record about the group itself; None: its tombstone."""
        operation.write(key_type, self._key, value)

    def member(self, operation: Operation, member: Member) -> None:
        """Write a member's metadata."""
        operation.write(MEMBER, self._of_member(member.member_id), member.metadata())

    def target(self, operation: Operation, member_id: str, target: Iterable[TopicPartition]) -> None:
        """Write a member's target."""
        value = {"topicPartitions": topic_partitions(target)}
        operation.write(MEMBER_TARGET, self._of_member(member_id), value)

    def current(self, operation: Operation, member: Member, *, with_epochs: bool) -> None:
        """Write a member's current assignment."""
        value = member.current_assignment(with_epochs=with_epochs)
        operation.write(CURRENT_ASSIGNMENT, self._of_member(member.member_id), value)

    def delete_of_member(self, operation: Operation, key_type: int, member_id: str) -> None:
        """Write the tombstone of a record about a member."""
        operation.write(key_type, self._of_member(member_id), None)

    def delete_member(self, operation: Operation, member_id: str) -> None:
        """Write the tombstones of all records about a member."""
        for key_type in (CURRENT_ASSIGNMENT, MEMBER_TARGET, MEMBER):
            self.delete_of_member(operation, key_type, member_id)

    def regex(self, operation: Operation, regex: str, topics: Iterable[str], version: int) -> None:
        """Write the matches of a regular expression."""
        value = {"topics": list(topics), "version": version, "timestamp": operation.timestamp}
        operation.write(_REGULAR_EXPRESSION, self._of_regex(regex), value)

    def delete_regex(self, operation: Operation, regex: str) -> None:
        """Write the tombstone of a regular expression."""
        operation.write(_REGULAR_EXPRESSION, self._of_regex(regex), None)

    def _of_member(self, member_id: str) -> dict[str, str]:
        return {**self._key, "memberId": member_id}

    def _of_regex(self, regex: str) -> dict[str, str]:
        return {**self._key, "regularExpression": regex}
