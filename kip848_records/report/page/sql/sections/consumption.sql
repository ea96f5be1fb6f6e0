-- How far the commits of what each member owns have come, those that stand still first: partitions of a topic that are alike
-- have one row.
SELECT now.offsets_partition AS partition, now.group_id, incarnation, member_id, topic AS place, state, evidence,
  min(committed) AS least_committed, max(committed) AS most_committed, max(silent_ms) AS silent_ms,
  max(ahead_by) AS ahead_by, max(ahead_group) AS ahead_group, max(producer_id) AS producer_id,
  unix_millis(min(pending_since)) AS pending_ms, min(acquired_offset) AS at_offset,
  count(*) AS partitions, array_join(array_sort(collect_list(now.partition)), ' ') AS numbers
FROM consumption_now AS now
JOIN chosen ON now.offsets_partition = chosen.partition AND now.group_id = chosen.group_id
GROUP BY now.offsets_partition, now.group_id, incarnation, member_id, topic, state, evidence
