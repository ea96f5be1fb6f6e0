-- How often does each group rebalance, by hour?
SELECT group_id, date_trunc('HOUR', bumped_at) AS hour, count(*) AS epochs, count_if(cause = 'member_left') AS by_leaving
FROM epoch_timeline GROUP BY group_id, date_trunc('HOUR', bumped_at) ORDER BY epochs DESC, group_id, hour
