-- How many groups there are of each health.
SELECT health, count(*) AS groups
FROM (
  SELECT every.group_id, coalesce(stuck.health, 'deleted') AS health
  FROM (SELECT DISTINCT partition, group_id FROM group_state_timeline) AS every
  LEFT JOIN stuck_now AS stuck ON every.partition = stuck.partition AND every.group_id = stuck.group_id
) AS each
GROUP BY health
ORDER BY health
