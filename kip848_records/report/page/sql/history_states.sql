WITH found AS (
  SELECT states.partition, states.group_id, incarnation, state, unix_millis(from_at) AS from_ms,
    unix_millis(to_at) AS to_ms, from_offset AS at_offset, history
  FROM group_state_timeline AS states
  JOIN chosen ON states.partition = chosen.partition AND states.group_id = chosen.group_id
)
SELECT *
FROM (
  SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
    row_number() OVER (PARTITION BY partition, group_id ORDER BY at_offset DESC, incarnation DESC, state) AS nth
  FROM found
) AS numbered
WHERE nth <= :limit
ORDER BY partition, group_id, nth
