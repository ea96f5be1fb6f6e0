WITH behind AS (
  SELECT partition, group_id, incarnation, member_id, min(behind_since) AS behind_since,
    max(size(awaited)) AS awaited, max(array_join(array_sort(blocked_by), ' ')) AS blocked_by
  FROM rebalance_lag WHERE status = 'open' AND NOT superseded
  GROUP BY partition, group_id, incarnation, member_id
),
found AS (
  SELECT stays.partition, stays.group_id, stays.incarnation, stays.group_type, stays.member_id, instance_id, client_id, client_host,
    rebalance_timeout_ms, unix_millis(joined_at) AS joined_at_ms, unix_millis(left_at) AS left_at_ms, left_how,
    coalesce(joined_offset, left_offset) AS at_offset, unix_millis(behind_since) AS behind_since_ms, awaited, blocked_by
  FROM membership AS stays
  JOIN chosen ON stays.partition = chosen.partition AND stays.group_id = chosen.group_id
  LEFT JOIN behind ON stays.partition = behind.partition AND stays.group_id = behind.group_id
    AND stays.incarnation = behind.incarnation AND stays.member_id = behind.member_id AND stays.left_at IS NULL
)
SELECT *
FROM (
  SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
    row_number() OVER (
      PARTITION BY partition, group_id ORDER BY behind_since_ms DESC, CASE WHEN left_at_ms IS NULL THEN 0 ELSE 1 END,
        at_offset DESC, member_id, incarnation DESC
    ) AS nth
  FROM found
) AS numbered
WHERE nth <= :limit
ORDER BY partition, group_id, nth
