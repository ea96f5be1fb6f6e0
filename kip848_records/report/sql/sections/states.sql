SELECT states.partition, states.group_id, incarnation, state, unix_millis(from_at) AS from_ms,
  unix_millis(to_at) AS to_ms, from_offset AS at_offset, history
FROM group_state_timeline AS states
JOIN chosen ON states.partition = chosen.partition AND states.group_id = chosen.group_id
