-- The handovers after which the new owner read offsets that the owner before had read: what moved at once, of one topic, from
-- one member to one, is one row.
SELECT offsets_partition AS partition, handovers.group_id, incarnation, topic AS place, from_member, member_id,
  unix_millis(acquired_at) AS acquired_ms, sum(CAST(repeat_at_most AS double)) AS repeat_at_most,
  max(committed_age_ms) AS committed_age_ms, bool_or(coalesce(ended_uncommitted, false)) AS ended_uncommitted,
  array_join(array_sort(collect_list(handovers.partition)), ' ') AS numbers
FROM handover_progress AS handovers
JOIN chosen ON handovers.offsets_partition = chosen.partition AND handovers.group_id = chosen.group_id
WHERE repeat_at_most > 0
GROUP BY offsets_partition, handovers.group_id, incarnation, topic, from_member, member_id, acquired_at
