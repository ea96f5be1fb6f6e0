-- Every group that the log has ever had. Sorted by rank, harm (the most first), since, group_id and partition, the worst come
-- first: those stuck for longest, then those that fail over time, then those with the slowest rebalance.
SELECT every.partition, every.group_id, slowest_ms, least(coalesce(intervals, 0), 2000) AS intervals,
  coalesce(now.health, 'deleted') AS health,
  CASE now.health WHEN 'stuck' THEN 0 WHEN 'failing' THEN 1 ELSE 2 END AS rank,
  CASE now.health WHEN 'stuck' THEN 0 WHEN 'failing' THEN failing.harm ELSE coalesce(slowest_ms, -1) END AS harm,
  coalesce(unix_millis(CASE WHEN is_stuck THEN states.stuck_since ELSE failing.first_seen END), 0) AS since
FROM (SELECT DISTINCT partition, group_id FROM group_state_timeline) AS every
LEFT JOIN stuck_now AS states ON every.partition = states.partition AND every.group_id = states.group_id
LEFT JOIN health_now AS now ON every.partition = now.partition AND every.group_id = now.group_id
LEFT JOIN troubles_now AS failing ON every.partition = failing.partition AND every.group_id = failing.group_id
  AND failing.nth = 1
LEFT JOIN (
  SELECT partition, group_id, max(duration_ms) AS slowest_ms FROM rebalance WHERE is_measured GROUP BY partition, group_id
) AS measured ON every.partition = measured.partition AND every.group_id = measured.group_id
LEFT JOIN (
  SELECT partition, group_id, count(*) AS intervals FROM member_state_timeline GROUP BY partition, group_id
) AS drawn ON every.partition = drawn.partition AND every.group_id = drawn.group_id
