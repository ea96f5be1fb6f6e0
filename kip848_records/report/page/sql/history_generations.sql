WITH {chosen},
found AS (
  SELECT generations.partition, generations.group_id, incarnation, generation, generations.offset AS at_offset, protocol,
    cause, mode, rounds, unix_millis(completed_at) AS completed_at_ms, sync_ms, members,
    CASE WHEN joined IS NOT NULL THEN size(joined) END AS joined,
    CASE WHEN generations.left IS NOT NULL THEN size(generations.left) END AS gone,
    units, moved, unassigned, unix_millis(ended_at) AS ended_at_ms, ended_by, history
  FROM classic_generation AS generations
  JOIN chosen ON generations.partition = chosen.partition AND generations.group_id = chosen.group_id
)
SELECT *
FROM (
  SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
    row_number() OVER (PARTITION BY partition, group_id ORDER BY at_offset DESC, incarnation DESC, generation DESC) AS nth
  FROM found
) AS numbered
WHERE nth <= :limit
ORDER BY partition, group_id, nth
