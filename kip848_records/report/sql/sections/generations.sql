-- The generations of a classic group. is_ongoing: the group has this generation at capture; any other one has ended.
SELECT generations.partition, generations.group_id, generations.incarnation, generations.generation,
  generations.offset AS at_offset, cause, mode, rounds, unix_millis(completed_at) AS completed_at_ms, sync_ms,
  generations.members, CASE WHEN joined IS NOT NULL THEN size(joined) END AS joined,
  CASE WHEN generations.left IS NOT NULL THEN size(generations.left) END AS gone, units, moved, ended_by,
  states.generation IS NOT NULL AND ended_by IS NULL AS is_ongoing,
  ms_between(
    completed_at,
    CASE WHEN states.generation IS NOT NULL AND ended_by IS NULL THEN captures.captured_at ELSE ended_at END
  ) AS lasted_ms
FROM classic_generation AS generations
JOIN chosen ON generations.partition = chosen.partition AND generations.group_id = chosen.group_id
LEFT JOIN group_state AS states ON generations.partition = states.partition AND generations.group_id = states.group_id
  AND generations.incarnation = states.incarnation AND generations.generation = states.generation
LEFT JOIN captures ON captures.partition = generations.partition
