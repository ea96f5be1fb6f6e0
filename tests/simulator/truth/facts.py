"""The facts about groups that commit: no tables of an audit, but what the tables are compared with.

Each names `offsets_partition`, `group_id` and `member_id`, and but for `transaction` `topic`, `topic_id`, `partition`.
Offsets are those of the topic. Times are in ms.

- `reading`: a client read a partition in one way, without a seek, `from_at` `to_at`: the messages from `first_position`
  up to before `next_position`. `to_at` is None where it still reads at the end.
- `stall`: a client owned a partition and did not read it: `paused`, `worker_dead`, `transaction_open`, or `hangs`
  (`why`). `waits_since`: when the first message came, or the stall began, if that was later; None: no message waited.
  `waiting`: how many did at the end of the stall, or of the simulation.
- `offset_change`: a committed offset, or a client's position, changed otherwise than by reading, from `before_offset`
  to `after_offset`; None: it was removed. Its `kind`: `seek_back`, `seek_ahead`: of a position, by the member;
  `reset_back`, `reset_ahead`: by a tool. `expired`, `deleted` (by a tool), `topic_deleted`, `group_expired` and
  `group_deleted` removed committed offsets.
- `transaction`: a transaction of `producer_id` and `producer_epoch` that its client left open, with so many `records`
  in `topic_partitions`. `ended_at`: when the coordinator aborted it, None: not yet.
- `end_offset`: how many messages a partition has had at the end of the simulation, by each group that reads it.
"""

FACTS = ("reading", "stall", "offset_change", "transaction", "end_offset")
