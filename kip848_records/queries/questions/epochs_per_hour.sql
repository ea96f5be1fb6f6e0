-- How often does each group rebalance, by hour?
-- For classic groups and Connect clusters, generations are counted.
SELECT group_id, date_trunc('HOUR', bumped_at) AS hour, count(*) AS epochs, count_if(cause = 'member_left') AS by_leaving
FROM (
  SELECT group_id, bumped_at, cause FROM epoch_timeline
  UNION ALL SELECT group_id, completed_at, cause FROM classic_generation WHERE cause <> 'created'
) AS epochs
GROUP BY group_id, date_trunc('HOUR', bumped_at) ORDER BY epochs DESC, group_id, hour
