-- When did many groups rebalance at once, as after the restart of a broker or a deployment?
-- For classic groups and Connect clusters, generations are counted.
SELECT date_trunc('MINUTE', bumped_at) AS minute, count(DISTINCT group_id) AS groups, count(*) AS epochs
FROM (
  SELECT group_id, bumped_at FROM epoch_timeline
  UNION ALL SELECT group_id, completed_at FROM classic_generation WHERE cause <> 'created'
) AS epochs
GROUP BY date_trunc('MINUTE', bumped_at) HAVING count(DISTINCT group_id) >= 3
ORDER BY groups DESC, epochs DESC, minute
