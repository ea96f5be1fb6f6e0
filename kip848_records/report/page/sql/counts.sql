-- How many groups there are of each health.
SELECT health, count(*) AS groups
FROM (
  SELECT every.group_id, CASE WHEN states.group_id IS NULL THEN 'deleted' WHEN states.state = 'unknown' THEN 'unknown'
    WHEN is_away THEN 'away' WHEN is_stuck THEN 'stuck' ELSE 'healthy' END AS health
  FROM (SELECT DISTINCT partition, group_id FROM group_state_timeline) AS every
  LEFT JOIN group_state AS states ON every.partition = states.partition AND every.group_id = states.group_id
  LEFT JOIN ({stuck_now}) AS stuck ON every.partition = stuck.partition AND every.group_id = stuck.group_id
) AS each
GROUP BY health
ORDER BY health
