-- How many groups there are of each health.
SELECT health, count(*) AS groups
FROM (
  SELECT every.group_id, CASE WHEN states.group_id IS NULL THEN 'deleted' WHEN states.state = 'unknown' THEN 'unknown'
    WHEN states.waits_for_away_only THEN 'away' WHEN states.state IN ('Assigning', 'Reconciling', 'NotReady') THEN 'stuck'
    WHEN states.group_type IN ('classic', 'share') AND ongoing.group_id IS NOT NULL THEN 'stuck'
    ELSE 'healthy' END AS health
  FROM (SELECT DISTINCT partition, group_id FROM group_state_timeline) AS every
  LEFT JOIN group_state AS states ON every.partition = states.partition AND every.group_id = states.group_id
  LEFT JOIN (SELECT DISTINCT partition, group_id FROM rebalance WHERE outcome = 'open') AS ongoing
    ON every.partition = ongoing.partition AND every.group_id = ongoing.group_id
) AS each
GROUP BY health
ORDER BY health
