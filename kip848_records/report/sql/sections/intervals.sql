SELECT intervals.partition, intervals.group_id, incarnation, member_id, state, member_epoch,
  unix_millis(from_at) AS from_ms, unix_millis(to_at) AS to_ms, from_offset AS at_offset, history
FROM member_state_timeline AS intervals
JOIN chosen ON intervals.partition = chosen.partition AND intervals.group_id = chosen.group_id
WHERE to_at IS NULL OR to_at > from_at
