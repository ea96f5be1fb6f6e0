-- Partitions that changed their owner, or have none any more. is_free: no member of a classic group has them since then.
SELECT handovers.offsets_partition AS partition, handovers.group_id, incarnation, topic AS place, from_member, to_member,
  unix_millis(released_at) AS released_at_ms, unix_millis(acquired_at) AS acquired_at_ms,
  coalesce(acquired_offset, released_offset) AS at_offset, max(wanted_ms) AS idle_ms,
  ms_between(released_at, captured_at) AS free_ms,
  group_type = 'classic' AND to_member IS NULL AND history IN ('right_censored', 'censored') AS is_free,
  array_join(array_sort(collect_list(handovers.partition)), ' ') AS numbers
FROM partition_handover AS handovers
JOIN chosen ON handovers.offsets_partition = chosen.partition AND handovers.group_id = chosen.group_id
LEFT JOIN captures ON captures.partition = handovers.offsets_partition
GROUP BY handovers.offsets_partition, handovers.group_id, incarnation, topic, from_member, to_member, released_at,
  acquired_at, coalesce(acquired_offset, released_offset), captured_at,
  group_type = 'classic' AND to_member IS NULL AND history IN ('right_censored', 'censored')
