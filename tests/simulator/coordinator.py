"""A coordinator whose group commits what a test chooses, and whose static classic members may return."""

from dataclasses import replace

from kip848_records.protocol.key_types import KeyType
from kip848_records.simulate.broker import coordinator
from kip848_records.simulate.broker.classic import ClassicGroup


class Coordinator(coordinator.Coordinator):
    """The coordinator of one group id."""

    def replace_classic(self, time, member_id, new_id):
        """Let a static member of a classic group join under another member id: its generation stays."""
        operation = self._operation(time)
        if not isinstance(self.group, ClassicGroup):
            raise TypeError(f"{self.group_id} is not a classic group now")
        # Client id and host stay those of the first one.
        members = [replace(m, member_id=new_id) if m.member_id == member_id else m for m in self.group.members.values()]
        self.group.members = {member.member_id: member for member in members}
        self.group.write(operation)
        self._end(operation)

    def commit(self, time, topic, partition, offset, **fields):
        """Commit an offset; `fields` are further ones of OffsetCommit's value."""
        operation = self._operation(time)
        value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": operation.timestamp}
        tagged = {"topicId": self.cluster.topics[topic].topic_id}
        key = {"group": self.group_id, "topic": topic, "partition": partition}
        operation.write(KeyType.OFFSET_COMMIT, key, {**value, **tagged, **fields})
        self.operations.append(operation)

    def remove_offsets(self, time, committed):
        """Remove committed offsets (topic names and partitions) from a group that stays, or never was."""
        operation = self._operation(time)
        for topic, partition in sorted(committed):
            key = {"group": self.group_id, "topic": topic, "partition": partition}
            operation.write(KeyType.OFFSET_COMMIT, key, None)
        self.operations.append(operation)
