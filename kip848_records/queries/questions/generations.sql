-- Which classic groups and Connect clusters rebalanced most, and why?
-- A time is empty if the clock of the broker went back.
SELECT group_id, cause, mode, count(*) AS generations, sum(moved) AS moved, max(CASE WHEN sync_ms >= 0 THEN sync_ms END) AS slowest_sync_ms
FROM classic_generation
WHERE cause NOT IN ('created', 'emptied')
GROUP BY group_id, cause, mode
ORDER BY generations DESC, group_id, cause, mode LIMIT 20
