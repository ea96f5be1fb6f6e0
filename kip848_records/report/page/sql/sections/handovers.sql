SELECT handovers.offsets_partition AS partition, handovers.group_id, incarnation, topic, from_member, to_member,
  unix_millis(released_at) AS released_at_ms, unix_millis(acquired_at) AS acquired_at_ms,
  coalesce(acquired_offset, released_offset) AS at_offset, max(wanted_ms) AS idle_ms,
  array_join(array_sort(collect_list(handovers.partition)), ' ') AS numbers
FROM partition_handover AS handovers
JOIN chosen ON handovers.offsets_partition = chosen.partition AND handovers.group_id = chosen.group_id
GROUP BY handovers.offsets_partition, handovers.group_id, incarnation, topic, from_member, to_member, released_at,
  acquired_at, coalesce(acquired_offset, released_offset)
