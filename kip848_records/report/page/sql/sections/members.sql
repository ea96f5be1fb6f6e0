WITH behind AS (
  SELECT partition, group_id, incarnation, member_id, min(behind_since) AS behind_since,
    max(size(awaited)) AS awaited, max(array_join(array_sort(blocked_by), ' ')) AS blocked_by
  FROM rebalance_lag WHERE status = 'open' AND NOT superseded
  GROUP BY partition, group_id, incarnation, member_id
)
SELECT stays.partition, stays.group_id, stays.incarnation, stays.group_type, stays.member_id, instance_id, client_id, client_host,
  rebalance_timeout_ms, unix_millis(joined_at) AS joined_at_ms, unix_millis(left_at) AS left_at_ms, left_how,
  joined_how, returned,
  coalesce(joined_offset, left_offset) AS at_offset, unix_millis(behind_since) AS behind_since_ms,
  ms_between(behind_since, captures.captured_at) AS behind_ms, awaited, blocked_by
FROM membership AS stays
JOIN chosen ON stays.partition = chosen.partition AND stays.group_id = chosen.group_id
LEFT JOIN behind ON stays.partition = behind.partition AND stays.group_id = behind.group_id
  AND stays.incarnation = behind.incarnation AND stays.member_id = behind.member_id AND stays.left_at IS NULL
LEFT JOIN captures ON captures.partition = stays.partition
