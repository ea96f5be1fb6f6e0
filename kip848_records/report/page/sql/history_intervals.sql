WITH found AS (
  SELECT intervals.partition, intervals.group_id, incarnation, member_id, state, member_epoch,
    unix_millis(from_at) AS from_ms, unix_millis(to_at) AS to_ms, from_offset AS at_offset, history
  FROM member_state_timeline AS intervals
  JOIN chosen ON intervals.partition = chosen.partition AND intervals.group_id = chosen.group_id
  WHERE to_at IS NULL OR to_at > from_at
)
SELECT *
FROM (
  SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
    row_number() OVER (
      PARTITION BY partition, group_id ORDER BY CASE WHEN to_ms IS NULL THEN 0 ELSE 1 END, at_offset DESC, member_id,
        incarnation DESC, state
    ) AS nth
  FROM found
) AS numbered
WHERE nth <= :limit
ORDER BY partition, group_id, nth
