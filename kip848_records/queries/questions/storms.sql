-- When did many groups rebalance at once, as after the restart of a broker or a deployment?
SELECT date_trunc('MINUTE', bumped_at) AS minute, count(DISTINCT group_id) AS groups, count(*) AS epochs
FROM epoch_timeline GROUP BY date_trunc('MINUTE', bumped_at) HAVING count(DISTINCT group_id) >= 3
ORDER BY groups DESC, epochs DESC, minute
